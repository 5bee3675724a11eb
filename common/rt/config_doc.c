/* SPDX-License-Identifier: Apache-2.0 */
/* The .def files as an example file and as a page of the manual. */
#include "common/rt/config_schema.h"

#include <stdio.h>

enum { SECTION_BYTES = 64 };

/* Splits "tls.cert_file" into its section (with the last dot, "" for none) and the last name. */
static struct str section_of(const struct config_key *key)
{
    const char *dot = strrchr(key->key, '.');
    return (struct str){key->key, dot == NULL ? 0 : (size_t)(dot - key->key) + 1};
}

static const char *name_of(const struct config_key *key)
{
    return key->key + section_of(key).len;
}

static enum status add_value(struct buf *out, const struct config_key *key)
{
    if (key->kind == CONFIG_KIND_TEXT) {
        enum status st = buf_add_str(out, STR("\""));
        st = st == ST_OK ? buf_add_json(out, str_of(key->def)) : st;
        return st == ST_OK ? buf_add_str(out, STR("\"")) : st;
    }
    if (key->kind != CONFIG_KIND_LIST) {
        return buf_add_str(out, str_of(key->def));
    }
    struct str rest = key->def[0] == '\0' ? (struct str){NULL, 0} : str_of(key->def);
    struct str part;
    enum status st = buf_add_str(out, STR("["));
    for (bool is_first = true; st == ST_OK && str_split(&rest, ',', &part); is_first = false) {
        st = buf_add_str(out, is_first ? STR("\"") : STR(", \""));
        st = st == ST_OK ? buf_add_json(out, part) : st;
        st = st == ST_OK ? buf_add_str(out, STR("\"")) : st;
    }
    return st == ST_OK ? buf_add_str(out, STR("]")) : st;
}

/* One key with its comment, each line behind lead. */
static enum status example_key(struct buf *out, const struct config_key *key, const char *lead)
{
    enum status st =
        buf_add_fmt(out, "%s# %s\n%s# Allowed: %s. Default: %s.%s\n%s%s: ", lead, key->text, lead,
                    config_allowed(key).text, key->def[0] == '\0' ? "none" : key->def,
                    key->is_reloadable ? "" : " Needs a restart.", lead, name_of(key));
    st = st == ST_OK ? add_value(out, key) : st;
    return st == ST_OK ? buf_add_str(out, STR("\n")) : st;
}

static enum status example_engines(struct buf *out)
{
    const struct config_table *table = config_engine_table();
    enum status st = buf_add_str(out, STR("\n# The engines, a list of mappings with these keys:\n"
                                          "#\n"));
    for (size_t i = 0; i < table->count && st == ST_OK; i++) {
        const struct config_key *key = &table->keys[i];
        st = buf_add_fmt(out, "#   %s: %s\n#     Allowed: %s. Default: %s.\n", key->key, key->text,
                         config_allowed(key).text, key->def[0] == '\0' ? "none" : key->def);
    }
    return st == ST_OK ? buf_add_str(out, STR("#\n"
                                              "# engines:\n"
                                              "#   - url: http://127.0.0.1:8000\n"
                                              "#     name: gpu0\n"
                                              "#   - url: http://127.0.0.1:8001\n"
                                              "engines: []\n"))
                       : st;
}

enum status config_example(struct buf *out)
{
    const struct config_table *table = config_main_table();
    struct str section = {NULL, 0};
    enum status st = buf_add_str(
        out, STR("# A complete configuration; every value is the default, so any line may go.\n"
                 "# `saga config check FILE` says what is wrong with a file.\n"));
    for (size_t i = 0; i < table->count && st == ST_OK; i++) {
        const struct config_key *key = &table->keys[i];
        struct str own = section_of(key);
        st = buf_add_str(out, STR("\n"));
        if (st == ST_OK && own.len > 0 && !str_eq(own, section)) {
            st = buf_add_fmt(out, "%.*s:\n", (int)own.len - 1, own.p);
        }
        section = own;
        st = st == ST_OK ? example_key(out, key, own.len > 0 ? "  " : "") : st;
    }
    return st == ST_OK ? example_engines(out) : st;
}

/* Text in a table cell: a bar would end it. */
static enum status add_cell(struct buf *out, const char *text)
{
    enum status st = ST_OK;
    for (const char *c = text; *c != '\0' && st == ST_OK; c++) {
        st = *c == '|' ? buf_add_str(out, STR("\\|")) : buf_add(out, c, 1);
    }
    return st;
}

static enum status docs_table(struct buf *out, const struct config_table *table)
{
    enum status st = buf_add_str(out, STR("| key | allowed | default | reload | what it does |\n"
                                          "|---|---|---|---|---|\n"));
    for (size_t i = 0; i < table->count && st == ST_OK; i++) {
        const struct config_key *key = &table->keys[i];
        st = buf_add_fmt(out, "| `%s` | ", key->key);
        st = st == ST_OK ? add_cell(out, config_allowed(key).text) : st;
        st = st == ST_OK
                 ? buf_add_fmt(out, key->def[0] == '\0' ? " | none%s | %s | " : " | `%s` | %s | ",
                               key->def, key->is_reloadable ? "yes" : "restart")
                 : st;
        st = st == ST_OK ? add_cell(out, key->text) : st;
        st = st == ST_OK ? buf_add_str(out, STR(" |\n")) : st;
    }
    return st;
}

enum status config_docs(struct buf *out)
{
    enum status st = buf_add_str(
        out, STR("<!-- Made by `saga config docs` from common/base/config.def; do not edit. -->\n"
                 "# Configuration\n\n"
                 "One YAML file, `saga serve --config FILE`. Key `a.b` is `b` in the mapping `a`. "
                 "Whatever is unknown, doubled, of the wrong\n"
                 "type or out of range is refused with file and line. Flags override the file; "
                 "`--set KEY=VALUE` sets any key below (lists:\n"
                 "separated by commas). Environment variables change nothing. SIGHUP reads the "
                 "file again and applies the keys marked *yes*;\n"
                 "for others that changed it says that a restart is needed. `saga config example` "
                 "prints a complete file, `saga config check FILE`\n"
                 "checks one.\n\n"));
    st = st == ST_OK ? docs_table(out, config_main_table()) : st;
    st = st == ST_OK
             ? buf_add_str(out,
                           STR("\n## engines\n\n"
                               "A list of mappings with these keys. `--engine URL` adds one.\n\n"))
             : st;
    return st == ST_OK ? docs_table(out, config_engine_table()) : st;
}
