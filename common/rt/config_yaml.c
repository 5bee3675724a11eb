/* SPDX-License-Identifier: Apache-2.0 */
/* The file, read as a stream of libyaml events against the tables of config_schema; no tree is
 * built. Happy path: 1. stream and document start; 2. a mapping, its keys looked up as paths; 3.
 * values stored. Failures: a complaint with file:line each, the value skipped, reading goes on to
 * find the next one; what breaks the YAML itself, or hides its size (anchors, aliases, depth), ends
 * it. */
#define _GNU_SOURCE /* strerror_r, fopen "e" */
#include "common/rt/config_schema.h"

#include <errno.h>
#include <stdio.h>
#include <yaml.h>

enum { SEEN_MAX = 128, PATH_BYTES = 128, ITEMS_MAX = 64 };

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the one in hand */
    bool is_event;      /* event must be deleted */
    bool is_broken;     /* stop: no sense can be made of the rest */
    const char *name;   /* file, for complaints */
    struct config *cfg;
    struct config_errors *errors;
    enum status st; /* ST_NOMEM ends the reading */
};

/* One mapping being read. */
struct level {
    const struct config_table *table;
    void *obj;             /* struct the fields are in */
    char path[PATH_BYTES]; /* "", or "tls." */
    bool is_main;          /* `engines` is a key here */
    bool *is_key_seen;     /* [table->count], shared by the levels of one obj */
};

/* What one mapping has had beside plain keys. */
struct seen {
    bool is_section[SEEN_MAX]; /* by the section's first key */
    bool is_engines;
};

static unsigned line_of(const struct reader *r)
{
    return (unsigned)(r->event.start_mark.line + 1);
}

static struct str scalar_of(const struct reader *r)
{
    return (struct str){(const char *)r->event.data.scalar.value, r->event.data.scalar.length};
}

/* Ends the reading with one last complaint. */
static void broken(struct reader *r, unsigned line, const char *what)
{
    if (!r->is_broken) {
        config_complain(r->errors, "%s:%u: %s", r->name, line, what);
        r->is_broken = true;
    }
}

static bool has_props(const yaml_event_t *ev)
{
    switch (ev->type) {
    case YAML_ALIAS_EVENT:
        return true;
    case YAML_SCALAR_EVENT:
        return ev->data.scalar.anchor != NULL || ev->data.scalar.tag != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return ev->data.sequence_start.anchor != NULL || ev->data.sequence_start.tag != NULL;
    case YAML_MAPPING_START_EVENT:
        return ev->data.mapping_start.anchor != NULL || ev->data.mapping_start.tag != NULL;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return false;
    }
    return false;
}

/* Next event into r->event; false when reading is over. */
static bool next(struct reader *r)
{
    if (r->is_event) {
        yaml_event_delete(&r->event);
        r->is_event = false;
    }
    if (r->is_broken || r->st != ST_OK) {
        return false;
    }
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        if (r->parser.error == YAML_MEMORY_ERROR) {
            r->st = ST_NOMEM;
            return false;
        }
        char what[200];
        (void)snprintf(what, sizeof(what), "not valid YAML: %s",
                       r->parser.problem == NULL ? "unreadable" : r->parser.problem);
        broken(r, (unsigned)(r->parser.problem_mark.line + 1), what);
        return false;
    }
    r->is_event = true;
    if (has_props(&r->event)) {
        broken(r, line_of(r), "anchors, aliases and tags are not allowed");
        return false;
    }
    return true;
}

/* Passes over the value whose first event is in hand, whatever it is. */
static void skip_value(struct reader *r, unsigned depth)
{
    unsigned open = 0;
    do {
        yaml_event_type_t type = r->event.type;
        if (type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT) {
            open++;
            if (depth + open > CONFIG_DEPTH_MAX) {
                broken(r, line_of(r), "nested too deeply");
                return;
            }
        } else if (type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT) {
            open--;
        }
    } while (open > 0 && next(r));
}

static const char *event_word(const struct reader *r)
{
    switch (r->event.type) {
    case YAML_MAPPING_START_EVENT:
        return "a mapping";
    case YAML_SEQUENCE_START_EVENT:
        return "a list";
    case YAML_SCALAR_EVENT:
        return "a single value";
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_ALIAS_EVENT:
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return "something else";
    }
    return "something else";
}

static bool is_plain(const struct reader *r)
{
    return r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* An empty or null value, as YAML writes "nothing". */
static bool is_null(const struct reader *r)
{
    struct str s = scalar_of(r);
    return r->event.type == YAML_SCALAR_EVENT && is_plain(r) &&
           (s.len == 0 || str_eq(s, STR("~")) || str_ieq(s, STR("null")));
}

static void refuse_value(struct reader *r, const char *path, const struct config_key *key)
{
    struct str s = r->event.type == YAML_SCALAR_EVENT ? scalar_of(r) : (struct str){NULL, 0};
    if (r->event.type != YAML_SCALAR_EVENT) {
        config_complain(r->errors, "%s:%u: %s: %s, must be %s", r->name, line_of(r), path,
                        event_word(r), config_allowed(key).text);
    } else if (is_null(r)) {
        config_complain(r->errors, "%s:%u: %s: no value, must be %s%s", r->name, line_of(r), path,
                        config_allowed(key).text,
                        key->kind == CONFIG_KIND_TEXT ? " (\"\" for none)" : "");
    } else {
        config_complain(r->errors, "%s:%u: %s: '%.*s' must be %s%s", r->name, line_of(r), path,
                        (int)(s.len < 60 ? s.len : 60), s.p, config_allowed(key).text,
                        is_plain(r) ? "" : ", without quotes if it is no text");
    }
}

/* A scalar of the right kind is in hand? Quoted ones are text, never a number or a truth. */
static bool is_fitting(const struct reader *r, const struct config_key *key)
{
    if (r->event.type != YAML_SCALAR_EVENT || is_null(r)) {
        return false;
    }
    bool is_text = key->kind == CONFIG_KIND_TEXT || key->kind == CONFIG_KIND_ENUM;
    return is_text || is_plain(r);
}

/* Items point into the file's text as libyaml copied it, so they are copied to the arena one by
 * one. */
static void
read_list(struct reader *r, const struct level *lv, const char *path, const struct config_key *key)
{
    struct str items[ITEMS_MAX];
    size_t count = 0;
    bool is_good = true;
    unsigned line = line_of(r);
    while (next(r) && r->event.type != YAML_SEQUENCE_END_EVENT) {
        if (r->event.type != YAML_SCALAR_EVENT || is_null(r)) {
            refuse_value(r, path, key);
            is_good = false;
            skip_value(r, 2);
            continue;
        }
        if (count == ITEMS_MAX) {
            is_good = false;
            continue;
        }
        struct str s = scalar_of(r);
        char *copy = arena_copy(&r->cfg->arena, s.p, s.len);
        if (copy == NULL) {
            r->st = ST_NOMEM;
            return;
        }
        items[count++] = (struct str){copy, s.len};
    }
    if (r->is_broken || r->st != ST_OK) {
        return;
    }
    enum status st = is_good ? config_store_list(r->cfg, lv->obj, key, items, count) : ST_INVAL;
    if (st == ST_INVAL) {
        config_complain(r->errors, "%s:%u: %s: must be %s", r->name, line, path,
                        config_allowed(key).text);
    } else {
        r->st = st;
    }
}

/* The value of a known key is in hand. */
static void
read_value(struct reader *r, const struct level *lv, const char *path, const struct config_key *key)
{
    if (key->kind == CONFIG_KIND_LIST && r->event.type == YAML_SEQUENCE_START_EVENT) {
        read_list(r, lv, path, key);
        return;
    }
    if (key->kind == CONFIG_KIND_LIST || !is_fitting(r, key)) {
        refuse_value(r, path, key);
        skip_value(r, 1);
        return;
    }
    enum status st = config_store(r->cfg, lv->obj, key, scalar_of(r));
    if (st == ST_INVAL) {
        refuse_value(r, path, key);
    } else {
        r->st = st;
    }
}

static void read_mapping(struct reader *r, const struct level *lv, unsigned depth);

/* The value of `engines` is in hand. */
static void read_engines(struct reader *r, unsigned depth)
{
    if (is_null(r)) {
        return;
    }
    if (r->event.type != YAML_SEQUENCE_START_EVENT) {
        config_complain(r->errors, "%s:%u: engines: %s, must be a list of mappings", r->name,
                        line_of(r), event_word(r));
        skip_value(r, depth);
        return;
    }
    while (next(r) && r->event.type != YAML_SEQUENCE_END_EVENT) {
        unsigned line = line_of(r);
        if (r->event.type != YAML_MAPPING_START_EVENT) {
            config_complain(r->errors,
                            "%s:%u: engines: %s, must be a mapping such as {url: http://HOST:PORT}",
                            r->name, line, event_word(r));
            skip_value(r, depth + 1);
            continue;
        }
        struct config_engine *engine = NULL;
        enum status st = config_new_engine(r->cfg, &engine);
        if (st == ST_FULL) {
            broken(r, line, "engines: too many");
        } else {
            r->st = st;
        }
        if (st != ST_OK) {
            return;
        }
        bool is_key_seen[SEEN_MAX] = {false};
        struct level lv = {
            .table = config_engine_table(), .obj = engine, .is_key_seen = is_key_seen};
        read_mapping(r, &lv, depth + 2);
        if (!r->is_broken && r->st == ST_OK && engine->url[0] == '\0') {
            config_complain(r->errors, "%s:%u: engines: an entry without a url", r->name, line);
        }
    }
}

/* The value of a section ("tls") is in hand. */
static void read_section(struct reader *r, const struct level *lv, const char *path, unsigned depth)
{
    if (is_null(r)) {
        return; /* all its keys are commented out */
    }
    if (r->event.type != YAML_MAPPING_START_EVENT) {
        config_complain(r->errors, "%s:%u: %s: %s, must be a mapping", r->name, line_of(r), path,
                        event_word(r));
        skip_value(r, depth);
        return;
    }
    struct level below = *lv;
    int len = snprintf(below.path, sizeof(below.path), "%s.", path);
    ASSERT(len > 0 &&
           (size_t)len < sizeof(below.path)); /* path is the start of a key of the table */
    below.is_main = false;
    read_mapping(r, &below, depth + 1);
}

/* Marks this key; false, with a complaint, when it had been there. */
static bool mark_seen(struct reader *r, bool *is_seen, const char *path, unsigned line)
{
    if (*is_seen) {
        config_complain(r->errors, "%s:%u: %s: is there twice", r->name, line, path);
        return false;
    }
    *is_seen = true;
    return true;
}

static void refuse_key(struct reader *r, const struct level *lv, const char *path, unsigned line)
{
    const char *near = config_nearest(lv->table, str_of(path));
    config_complain(r->errors, "%s:%u: %s: unknown key%s%s%s", r->name, line, path,
                    near == NULL ? "; `saga config docs` lists all" : "; did you mean ",
                    near == NULL ? "" : near, near == NULL ? "" : "?");
}

/* A key is in hand; its value comes next. */
static void read_pair(struct reader *r, const struct level *lv, unsigned depth, struct seen *seen)
{
    char path[PATH_BYTES];
    unsigned line = line_of(r);
    struct str name = scalar_of(r);
    int len = snprintf(path, sizeof(path), "%s%.*s", lv->path,
                       (int)(name.len < 100 ? name.len : 100), name.p);
    /* A dot inside one key would be a second spelling; a NUL or a cut would hide the end of it. */
    bool is_sane = len > 0 && (size_t)len < sizeof(path) &&
                   (size_t)len == strlen(lv->path) + name.len &&
                   memchr(name.p, '.', name.len) == NULL;
    const struct config_key *key = is_sane ? config_find(lv->table, str_of(path)) : NULL;
    size_t section = is_sane ? config_find_section(lv->table, str_of(path)) : lv->table->count;
    if (!next(r)) {
        return;
    }
    if (key != NULL) {
        if (mark_seen(r, &lv->is_key_seen[key - lv->table->keys], path, line)) {
            read_value(r, lv, path, key);
            return;
        }
    } else if (section < lv->table->count) {
        if (mark_seen(r, &seen->is_section[section], path, line)) {
            read_section(r, lv, path, depth);
            return;
        }
    } else if (lv->is_main && is_sane && strcmp(path, "engines") == 0) {
        if (mark_seen(r, &seen->is_engines, path, line)) {
            read_engines(r, depth);
            return;
        }
    } else {
        refuse_key(r, lv, path, line);
    }
    skip_value(r, depth);
}

/* A mapping start is in hand; returns with its end in hand. depth: of the mapping, 1 = the
 * document's. */
static void read_mapping(struct reader *r, const struct level *lv, unsigned depth)
{
    struct seen seen = {0};
    ASSERT(lv->table->count <= SEEN_MAX);
    if (depth > CONFIG_DEPTH_MAX) {
        broken(r, line_of(r), "nested too deeply");
        return;
    }
    while (next(r) && r->event.type != YAML_MAPPING_END_EVENT) {
        if (r->event.type != YAML_SCALAR_EVENT) {
            config_complain(r->errors, "%s:%u: %s where a key must be", r->name, line_of(r),
                            event_word(r));
            skip_value(r, depth);
            if (next(r)) {
                skip_value(r, depth);
            }
            continue;
        }
        read_pair(r, lv, depth, &seen);
    }
}

static void read_stream(struct reader *r)
{
    bool is_document_seen = false;
    while (next(r) && r->event.type != YAML_STREAM_END_EVENT) {
        if (r->event.type != YAML_DOCUMENT_START_EVENT) {
            continue; /* stream start, document end */
        }
        if (is_document_seen) {
            broken(r, line_of(r), "more than one YAML document");
            return;
        }
        is_document_seen = true;
        if (!next(r) || is_null(r)) {
            continue;
        }
        if (r->event.type != YAML_MAPPING_START_EVENT) {
            broken(r, line_of(r), "the file must be a mapping of keys to values");
            return;
        }
        bool is_key_seen[SEEN_MAX] = {false};
        struct level lv = {.table = config_main_table(),
                           .obj = r->cfg,
                           .is_main = true,
                           .is_key_seen = is_key_seen};
        read_mapping(r, &lv, 1);
    }
}

enum status config_read_text(struct config *cfg,
                             const char *name,
                             struct str text,
                             struct config_errors *errors)
{
    size_t complaints_before = errors->total_count;
    if (text.len > CONFIG_FILE_BYTES) {
        config_complain(errors, "%s:1: larger than %d bytes", name, CONFIG_FILE_BYTES);
        return ST_INVAL;
    }
    struct reader r = {.name = name, .cfg = cfg, .errors = errors, .st = ST_OK};
    if (!yaml_parser_initialize(&r.parser)) {
        return ST_NOMEM;
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.len == 0 ? "" : text.p),
                                 text.len);
    read_stream(&r);
    if (r.is_event) {
        yaml_event_delete(&r.event);
    }
    yaml_parser_delete(&r.parser);
    if (r.st != ST_OK) {
        return r.st;
    }
    return errors->total_count > complaints_before ? ST_INVAL : ST_OK;
}

enum status config_read_file(struct config *cfg, const char *path, struct config_errors *errors)
{
    FILE *f = fopen(path, "rbe");
    if (f == NULL) {
        int why = errno;
        char reason[128];
        config_complain(errors, "%s: cannot be opened: %s", path,
                        strerror_r(why, reason, sizeof(reason)));
        return why == ENOENT ? ST_NOTFOUND : ST_IO;
    }
    enum status st;
    char *text = mem_alloc(cfg->arena.mem, CONFIG_FILE_BYTES + 1);
    size_t len = text == NULL ? 0 : fread(text, 1, CONFIG_FILE_BYTES + 1, f);
    if (text == NULL) {
        st = ST_NOMEM;
    } else if (ferror(f)) {
        config_complain(errors, "%s: cannot be read", path);
        st = ST_IO;
    } else {
        st = config_read_text(cfg, path, (struct str){text, len}, errors);
    }
    mem_free(cfg->arena.mem, text, CONFIG_FILE_BYTES + 1);
    (void)fclose(f);
    return st;
}
