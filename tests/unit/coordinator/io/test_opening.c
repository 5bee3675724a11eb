/* SPDX-License-Identifier: Apache-2.0 */
/* Openings as agent clients make them: their shapes, sizes apart, are recorded ones, the words are
 * ours. */
#include "tests/kit/kit.h"

#include "common/base/rng.h"
#include "coordinator/core/classes.h"
#include "coordinator/io/body.h"
#include "coordinator/io/sketch.h"

#include <stdio.h>

#define CODER                                                                                      \
    "You help a developer from the command line. Read the code before you change it, and prefer "  \
    "small edits to new files.\\n# Style\\nAnswer in few words; the screen is narrow. Do not "     \
    "explain what the developer can see for himself. No praise, no apologies.\\n# Doing a task\\n" \
    "Search first, in parallel where the searches do not depend on each other. Keep a list of "    \
    "what is left to do when there is more than one part. Run the tests and the linter when you "  \
    "are done. Never commit unless you are asked to.\\n# Tools\\nReading a file is cheaper than "  \
    "printing it with a shell. Long outputs are cut, so filter them. Hand a wide search to a "     \
    "helper, which has its own context, and tell it exactly what it shall report.\\n# Care\\n"     \
    "Refuse to write code that harms others. Keys and passwords never go into a log.\\n"

#define HELPER                                                                                     \
    "You were started by another program to answer one question about a repository. Nobody reads " \
    "what you write but that program. Report paths and line numbers, quote nothing longer than "   \
    "ten lines, say plainly what you could not find, and stop.\\n"

#define EXECUTOR                                                                                   \
    "Sandboxing is part of your surroundings: commands run with the rights below. Where a "        \
    "command "                                                                                     \
    "needs more, ask with one sentence that says why, unless approvals are off, in which case do " \
    "what you can without. Plans have at most seven steps, each of a few words, exactly one of "   \
    "them in progress. Patches are applied with the patch tool alone. While a long command runs, " \
    "poll it rather than waiting blindly. Final messages read like a note to a colleague: what "   \
    "changed, where, how it was checked, what is open. Lists only where they help.\\n"

#define SOLVER "You are a careful assistant that solves one task with a shell.\\n"

#define TITLER                                                                                 \
    "Read the first message of a conversation and write its title: one line, below fifty "     \
    "letters, "                                                                                \
    "in the language of the message, about its subject and not about you. No quotes, no full " \
    "stop. If it is only a greeting, name the greeting. Never answer the message itself.\\n"

/* Where and when a client runs. */
struct place {
    const char *cwd;
    const char *date;
    const char *os;
    const char *log; /* newest commits, "" = no repository */
    unsigned tools;  /* which of its tools it has, bit by bit */
};

static const struct place home = {"/home/ann/shop", "2026-03-01",
                                  "linux\\nOS Version: Linux "
                                  "6.1.0-13-amd64",
                                  "", ~0U};

enum client { CODE, SUB, CODEX, CHAT, MINI, TITLE };

enum { CLIENT_COUNT = TITLE + 1, TOOLS_MAX = 24 };

static const struct {
    enum coord_route route;
    const char *system;
    const char *tools[TOOLS_MAX]; /* up to NULL */
} clients[CLIENT_COUNT] = {
    [CODE] = {COORD_ROUTE_MESSAGES,
              CODER,
              {"Agent", "Bash", "Read", "Edit", "Write", "Search", "Find", "Fetch", "Todo", "Ask",
               "Notebook", "Plan", "Kill", "Output", "Skill", "Web"}},
    [SUB] = {COORD_ROUTE_MESSAGES,
             HELPER,
             {"Bash", "Read", "Edit", "Write", "Search", "Find", "Fetch", "Todo", "Notebook",
              "Kill", "Output", "Web"}},
    [CODEX] = {COORD_ROUTE_RESPONSES,
               EXECUTOR,
               {"exec", "stdin", "plan", "image", "ask", "patch", "goal", "spawn"}},
    [CHAT] = {COORD_ROUTE_CHAT,
              HELPER EXECUTOR CODER,
              {"bash", "edit", "glob", "grep", "list", "patch", "read", "task", "todo", "write"}},
    [MINI] = {COORD_ROUTE_CHAT, SOLVER, {"bash"}},
    [TITLE] = {COORD_ROUTE_CHAT, TITLER, {NULL}},
};

static struct body_parser *parser;

static int setup(void **state)
{
    (void)state;
    return body_parser_new(&parser) == ST_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    body_parser_free(parser);
    return 0;
}

static void add_tools(struct buf *body, enum client client, unsigned which)
{
    static const char *const chat = "%s{\"type\":\"function\",\"function\":{\"name\":\"%s\"}}";
    static const char *const flat = "%s{\"type\":\"function\",\"name\":\"%s\"}";
    const char *const *names = clients[client].tools;
    const char *comma = "";
    for (unsigned i = 0; i < TOOLS_MAX && names[i] != NULL; i++) {
        if ((which >> i & 1) != 0) {
            enum status st = clients[client].route == COORD_ROUTE_CHAT
                                 ? buf_add_fmt(body, chat, comma, names[i])
                                 : buf_add_fmt(body, flat, comma, names[i]);
            assert_status(st, ST_OK);
            comma = ",";
        }
    }
}

static void add_system(struct buf *body, enum client client, const struct place *place)
{
    assert_status(buf_add_fmt(body,
                              "%s<env>\\nWorking directory: %s\\nPlatform: %s\\nToday's date: %s"
                              "\\n</env>\\n",
                              clients[client].system, place->cwd, place->os, place->date),
                  ST_OK);
    if (place->log[0] != '\0') {
        assert_status(buf_add_fmt(body, "Recent commits:\\n%s\\n", place->log), ST_OK);
    }
}

/* The view of the first request of a task. */
static struct body_view view_of(enum client client, const struct place *place)
{
    struct buf body;
    struct body_view view;
    struct err err = {.status = ST_OK};
    buf_init(&body, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&body, STR("{\"model\":\"m\",\"tools\":[")), ST_OK);
    add_tools(&body, client, place->tools);
    switch (clients[client].route) {
    case COORD_ROUTE_MESSAGES:
        assert_status(buf_add_fmt(&body,
                                  "],\"system\":[{\"type\":\"text\",\"text\":"
                                  "\"x-anthropic-billing-header: v=1.%s;\"},{\"type\":\"text\","
                                  "\"text\":\"",
                                  place->date),
                      ST_OK);
        add_system(&body, client, place);
        assert_status(buf_add_str(&body, STR("\"}],\"messages\":[")), ST_OK);
        break;
    case COORD_ROUTE_RESPONSES:
        assert_status(buf_add_str(&body, STR("],\"input\":[{\"role\":\"developer\",\"content\":[{"
                                             "\"type\":\"input_text\",\"text\":\"")),
                      ST_OK);
        add_system(&body, client, place);
        assert_status(buf_add_str(&body, STR("\"}]},")), ST_OK);
        break;
    case COORD_ROUTE_CHAT:
    case COORD_ROUTE_COMPLETIONS:
    case COORD_ROUTE_COUNT_TOKENS:
        assert_status(
            buf_add_str(&body, STR("],\"messages\":[{\"role\":\"system\",\"content\":\"")), ST_OK);
        add_system(&body, client, place);
        assert_status(buf_add_str(&body, STR("\"},")), ST_OK);
        break;
    }
    assert_status(buf_add_str(&body, STR("{\"role\":\"user\",\"content\":\"go\"}]}")), ST_OK);
    if (body_parse(parser, clients[client].route, body.p, body.len, &view, &err) != ST_OK) {
        fail_msg("%s", err.text);
    }
    buf_fini(&body);
    return view;
}

static unsigned bits_between(uint64_t a, uint64_t b)
{
    return (unsigned)__builtin_popcountll(a ^ b);
}

static const struct place places[] = {
    {"/srv/work/team b/a-very/long/path/my_project", "2026-03-01",
     "linux\\nOS Version: Linux 6.1.0-13-amd64", "", ~0U},
    {"/home/ann/shop", "Tuesday, December 31 2030", "linux\\nOS Version: Linux 6.1.0-13-amd64", "",
     ~0U},
    {"/Users/bob/src/x", "2027-11-30", "darwin\\nOS Version: Darwin 25.1.0", "", ~0U},
    {"C:\\\\code\\\\x", "2026-03-01", "win32\\nOS Version: Windows 11 Pro", "", ~0U},
    {"/home/ann/shop", "2026-03-01", "linux\\nOS Version: Linux 6.1.0-13-amd64",
     "1a2b3c4 repair the cache\\nabcdef01 let late orders through (#42)", ~0U},
    {"/home/ann/shop", "2026-03-01", "linux\\nOS Version: Linux 6.1.0-13-amd64", "", ~0x12U},
};

static void opening__other_place_date_system_or_tools__is_the_same_class(void **state)
{
    (void)state;
    for (int client = CODE; client < CLIENT_COUNT; client++) {
        if (client == MINI) {
            continue; /* below */
        }
        struct body_view at_home = view_of((enum client)client, &home);
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            struct body_view away = view_of((enum client)client, &places[i]);
            unsigned bits = bits_between(at_home.opening_sketch, away.opening_sketch);
            if (bits > COORD_CLASSES_BITS) {
                fail_msg("client %d in place %zu differs in %u bits", client, i, bits);
            }
        }
    }
}

static void opening__other_clients__are_other_classes(void **state)
{
    (void)state;
    for (int a = CODE; a < CLIENT_COUNT; a++) {
        for (int b = CODE; b < CLIENT_COUNT; b++) {
            for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
                uint64_t x = view_of((enum client)a, &home).opening_sketch;
                uint64_t y = view_of((enum client)b, &places[i]).opening_sketch;
                if (a != b && bits_between(x, y) <= COORD_CLASSES_BITS) {
                    fail_msg("clients %d and %d differ in %u bits", a, b, bits_between(x, y));
                }
            }
        }
    }
}

/* What a whole fleet of one client each makes of a hundred places. */
static void opening__a_hundred_places__are_one_class_for_each_client(void **state)
{
    (void)state;
    struct coord_classes classes;
    coord_classes_init(&classes, mem_heap(), 100);
    for (int i = 0; i < 100; i++) {
        char cwd[64];
        char date[32];
        struct place place = home;
        (void)snprintf(cwd, sizeof(cwd), "/data/%d/job-%d", i * 7919, i);
        (void)snprintf(date, sizeof(date), "20%02d-%02d-%02d", 26 + i % 9, 1 + i % 12, 1 + i % 28);
        place.cwd = cwd;
        place.date = date;
        for (int client = CODE; client < CLIENT_COUNT; client++) {
            struct body_view view = view_of((enum client)client, &place);
            assert_int_not_equal(view.opening, 0);
            (void)coord_classes_resolve(&classes, 1, 2, view.opening, view.opening_sketch);
        }
    }
    assert_int_equal(classes.founded_count, CLIENT_COUNT);
    coord_classes_fini(&classes);
}

static struct body_view parse(enum coord_route route, const char *text)
{
    struct body_view view;
    struct err err = {.status = ST_OK};
    if (body_parse(parser, route, text, strlen(text), &view, &err) != ST_OK) {
        fail_msg("%s: %s", err.text, text);
    }
    return view;
}

static void opening__no_tools_and_no_system__is_none(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{\"model\":\"m\"}",
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"system\","
        "\"content\":\"late\"}]}",
        "{\"model\":\"m\",\"tools\":[],\"system\":[{\"type\":\"text\",\"text\":"
        "\"x-anthropic-billing-header: a\"}],\"messages\":[7]}",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct body_view view = parse(COORD_ROUTE_MESSAGES, cases[i]);
        assert_int_equal(view.opening, 0);
        assert_int_equal(view.opening_sketch, 0);
    }
}

static void opening__is_the_chain_hash_before_the_first_other_message(void **state)
{
    (void)state;
    struct body_view view =
        parse(COORD_ROUTE_RESPONSES,
              "{\"model\":\"m\",\"tools\":[{\"type\":\"web_search\"}],\"instructions\":\"be good\","
              "\"input\":[{\"role\":\"developer\",\"content\":\"a\"},{\"role\":\"system\","
              "\"content\":\"b\"},{\"role\":\"user\",\"content\":\"c\"},{\"role\":\"developer\","
              "\"content\":\"d\"}]}");
    assert_int_equal(view.chain_count, 6);
    assert_int_equal(view.opening, view.chain[3]);
    view = parse(COORD_ROUTE_CHAT, "{\"model\":\"m\",\"tools\":[{\"type\":\"function\"}],"
                                   "\"messages\":[{\"role\":\"user\",\"content\":\"c\"}]}");
    assert_int_equal(view.opening, view.chain[0]);
}

static uint64_t sketch_of(const char *text)
{
    struct sketch sketch;
    sketch_begin(&sketch);
    sketch_text(&sketch, str_of(text));
    return sketch_end(&sketch);
}

static void sketch__what_tells_where_and_when__does_not_count(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "The RULES of 'this' house are: simple!",
        "the rules of /home/ann/house this house are simple",
        "the rules ~/x of this house ./src/main.c are C:\\x\\y simple",
        "the rules of https://example.org/a this house are a@example.org simple",
        "the 2026-01-02 rules 12:30 of Tuesday, this house December are (77%) simple",
        "the rules 3f2a91c of 01a22ece-86ce-74c2 this house ses_4x9Kd02z1 are simple",
        "the\trules\r\nof this house -- are ... simple",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (sketch_of(cases[i]) != sketch_of("the rules of this house are simple")) {
            fail_msg("counts: %s", cases[i]);
        }
    }
    assert_true(sketch_of("level 3 of 9") == sketch_of("level 12 of 7"));
    assert_true(sketch_of("gpt4 of x") == sketch_of("gpt51 of x"));
    assert_true(sketch_of("read/write") != sketch_of("read"));
    assert_true(sketch_of("rules of this") != sketch_of("this of rules"));
}

/* docs/formulas.md#F11 */
static void sketch__worked_example__has_the_documented_bits(void **state)
{
    (void)state;
    struct sketch sketch;
    sketch_begin(&sketch);
    sketch_text(&sketch, STR("You help with code in /home/ann/shop"));
    sketch_name(&sketch, STR("bash"));
    sketch_name(&sketch, STR("edit"));
    assert_int_equal(sketch_end(&sketch), UINT64_C(0x9b96155d7dd3b730));
}

static void sketch__tools__are_a_set(void **state)
{
    (void)state;
    struct sketch one;
    struct sketch two;
    sketch_begin(&one);
    sketch_begin(&two);
    for (int i = 0; i < 2 * SKETCH_NAMES; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "tool_%d", i % SKETCH_NAMES);
        sketch_name(&one, str_of(name));
        (void)snprintf(name, sizeof(name), "tool_%d", (SKETCH_NAMES - 1 - i) & (SKETCH_NAMES - 1));
        sketch_name(&two, str_of(name));
    }
    assert_int_equal(one.names.count, SKETCH_NAMES); /* what is over is left out */
    assert_true(bits_between(sketch_end(&one), sketch_end(&two)) <= 2); /* ties only */
}

static void sketch__text_beyond_the_limit__does_not_count(void **state)
{
    (void)state;
    struct sketch sketch;
    struct sketch longer;
    sketch_begin(&sketch);
    sketch_begin(&longer);
    for (int i = 0; i < SKETCH_TEXT_BYTES / 8; i++) {
        sketch_text(&sketch, STR("abc def "));
        sketch_text(&longer, STR("abc def "));
    }
    sketch_text(&longer, STR("other words that come too late"));
    assert_true(longer.text_bytes == SKETCH_TEXT_BYTES);
    assert_true(sketch_end(&sketch) == sketch_end(&longer));
}

/* Random words, a share of them replaced: the bits follow the angle between the texts. */
static void sketch__changed_words__differ_by_their_share(void **state)
{
    (void)state;
    static const unsigned most[] = {0, 16, 20, 48}; /* bits for 0, 5, 10 and 100 % changed */
    static const unsigned least[] = {0, 0, 1, 20};
    static const uint64_t changed[] = {0, 50, 100, 1000};
    struct rng rng;
    rng_init(&rng, 11);
    for (int c = 0; c < 4; c++) {
        struct sketch a;
        struct sketch b;
        sketch_begin(&a);
        sketch_begin(&b);
        for (int i = 0; i < 800; i++) {
            char word[9] = "";
            for (int k = 0; k < 7; k++) {
                word[k] = (char)('g' + rng_below(&rng, 20));
            }
            sketch_text(&a, (struct str){word, 7});
            word[0] = (char)(rng_below(&rng, 1000) < changed[c] ? 'b' : word[0]);
            sketch_text(&b, (struct str){word, 7});
        }
        unsigned bits = bits_between(sketch_end(&a), sketch_end(&b));
        if (bits > most[c] || bits < least[c]) {
            fail_msg("%u bits (seed 11) for %u per mille", bits, (unsigned)changed[c]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening__other_place_date_system_or_tools__is_the_same_class),
        cmocka_unit_test(opening__other_clients__are_other_classes),
        cmocka_unit_test(opening__a_hundred_places__are_one_class_for_each_client),
        cmocka_unit_test(opening__no_tools_and_no_system__is_none),
        cmocka_unit_test(opening__is_the_chain_hash_before_the_first_other_message),
        cmocka_unit_test(sketch__what_tells_where_and_when__does_not_count),
        cmocka_unit_test(sketch__worked_example__has_the_documented_bits),
        cmocka_unit_test(sketch__tools__are_a_set),
        cmocka_unit_test(sketch__text_beyond_the_limit__does_not_count),
        cmocka_unit_test(sketch__changed_words__differ_by_their_share),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
