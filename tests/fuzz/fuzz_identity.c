/* SPDX-License-Identifier: Apache-2.0 */
/* Who is calling: lines "name: value" are header fields, what follows the first empty line is the
 * body. Whatever comes: refused with words, or an identity whose ids are whole, clean and bounded;
 * ignoring what is invalid never fails; an engine's address or nothing is no session. */
#include "coordinator/io/body.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct body_parser *parser;

static void must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

static void check_id(struct str id)
{
    must(id.len <= COORD_SESSION_MAX && str_is_utf8(id, NULL));
    for (size_t i = 0; i < id.len; i++) {
        must((unsigned char)id.p[i] >= 0x20 && id.p[i] != 0x7f);
    }
}

static void check(const struct coord_identity *identity)
{
    must((identity->schema[0] == '\0') == (identity->session.len == 0));
    check_id(identity->session);
    check_id(identity->parent);
    check_id(identity->branch);
    check_id(identity->hints.class_hint);
    check_id(identity->hints.step_hint);
    must(identity->parent.len == 0 || !str_eq(identity->parent, identity->session));
    must(identity->branch.len == 0 || identity->parent.len > 0);
    must(identity->hints.deadline_us <= 100000000000000 &&
         identity->hints.retention_us <= 100000000000000);
}

static void read_heads(struct identity_read *reader, struct str heads)
{
    static const char *const extra[] = {"x-team-task"};
    struct str line = {NULL, 0};
    while (str_split(&heads, '\n', &line)) {
        const char *colon = line.len == 0 ? NULL : memchr(line.p, ':', line.len);
        if (colon != NULL) {
            struct str name = {line.p, (size_t)(colon - line.p)};
            struct str value = str_trim((struct str){colon + 1, line.len - name.len - 1});
            identity_read_header(reader, extra, 1, name, value);
            must(!coord_identity_keeps_out(name) || name.len > 3);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct coord_identity strict;
    static struct coord_identity lax;
    struct body_view view;
    struct err err = {.status = ST_OK};
    struct str heads = {(const char *)data, len};
    struct str body = STR("{\"model\":\"m\"}");
    if (parser == NULL) {
        must(body_parser_new(&parser) == ST_OK);
    }
    for (size_t i = 0; i + 1 < len; i++) {
        if (data[i] == '\n' && data[i + 1] == '\n') {
            heads.len = i;
            body = (struct str){heads.p + i + 2, len - i - 2};
            break;
        }
    }
    if (body_parse(parser, COORD_ROUTE_MESSAGES, body.p, body.len, &view, &err) != ST_OK) {
        return 0;
    }
    must(view.billing_at + view.billing_cut <= body.len);
    read_heads(view.identity, heads);
    enum status st = coord_identity_resolve(&view.identity->input, false, &strict, &err);
    must(coord_identity_resolve(&view.identity->input, true, &lax, &err) == ST_OK);
    check(&lax);
    if (st == ST_OK) {
        check(&strict);
        must(strict.schema == lax.schema && str_eq(strict.session, lax.session) &&
             str_eq(strict.parent, lax.parent));
    } else {
        must(st == ST_INVAL && err.text[0] != '\0');
    }
    return 0;
}
