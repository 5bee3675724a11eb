/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/transcript.h"

#include "tests/kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

#define GET   "GET /a HTTP/1.1\r\nHost: h\r\n"
#define POST  "POST /a HTTP/1.1\r\nHost: h\r\n"
#define OK200 "HTTP/1.1 200 OK\r\n"

/* A stream given whole, its transcript left in script. */
static void whole(struct transcript *script, bool is_response, struct str text)
{
    transcript_start(script, is_response, false);
    transcript_feed(script, text.p, text.len);
    transcript_end(script);
}

static void
expect_refused(const char *name, bool is_response, struct str text, enum http_parse_error expected)
{
    struct transcript script;
    whole(&script, is_response, text);
    if (script.error != expected || script.message_count != 0) {
        fail_msg("%s: error %d instead of %d, %u messages:\n%s", name, (int)script.error,
                 (int)expected, script.message_count, script.text.p);
    }
    transcript_fini(&script);
}

struct shape {
    const char *name;
    struct str text;
};
#define SHAPE(name, text)          \
    {                              \
        name,                      \
        {                          \
            text, sizeof(text) - 1 \
        }                          \
    }

/* Each of these, let through, is read as another message by someone else. */
static void requests__smuggling_shapes__are_refused(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        SHAPE("length and coding",
              POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("coding and length",
              POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        SHAPE("two lengths", POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        SHAPE("the same length twice", POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
        SHAPE("list of lengths", POST "Content-Length: 5, 5\r\n\r\nhello"),
        SHAPE("signed length", POST "Content-Length: +5\r\n\r\nhello"),
        SHAPE("negative length", POST "Content-Length: -5\r\n\r\nhello"),
        SHAPE("hexadecimal length", POST "Content-Length: 0x5\r\n\r\nhello"),
        SHAPE("two words in the length", POST "Content-Length: 5 5\r\n\r\nhello"),
        SHAPE("empty length", POST "Content-Length: \r\n\r\nhello"),
        SHAPE("length over 64 bits", POST "Content-Length: 18446744073709551616\r\n\r\nhello"),
        SHAPE("coding twice",
              POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("coding in two fields",
              POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("coding on HTTP/1.0",
              "POST /a HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("bare LF behind the request line", "GET /a HTTP/1.1\nHost: h\r\n\r\n"),
        SHAPE("bare LF behind a field", "GET /a HTTP/1.1\r\nHost: h\nX: y\r\n\r\n"),
        SHAPE("bare LF at the end of the head", GET "\n"),
        SHAPE("bare CR in a value", GET "X: a\rb\r\n\r\n"),
        SHAPE("bare CR between fields", GET "X: a\rContent-Length: 5\r\n\r\n"),
        SHAPE("folded field", GET "X: a\r\n b\r\n\r\n"),
        SHAPE("field folded with a tab", GET "X: a\r\n\tb\r\n\r\n"),
        SHAPE("folded first field", "GET /a HTTP/1.1\r\n Host: h\r\n\r\n"),
        SHAPE("folded coding", POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("space before the colon", POST "Content-Length : 5\r\n\r\nhello"),
        SHAPE("tab before the colon", POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("no name", GET ": x\r\n\r\n"),
        SHAPE("no colon", GET "X\r\n\r\n"),
        SHAPE("NUL in a name", GET "X\0Y: a\r\n\r\n"),
        SHAPE("NUL in a value", GET "X: a\0b\r\n\r\n"),
        SHAPE("NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n"),
        SHAPE("control character in a value", GET "X: a\001b\r\n\r\n"),
        SHAPE("DEL in a value", GET "X: a\177b\r\n\r\n"),
        SHAPE("no Host", "GET /a HTTP/1.1\r\nX: y\r\n\r\n"),
        SHAPE("two Hosts", GET "Host: other\r\n\r\n"),
        SHAPE("two Hosts on HTTP/1.0", "GET /a HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
        SHAPE("no target", "GET HTTP/1.1\r\nHost: h\r\n\r\n"),
        SHAPE("words behind the version", "GET /a HTTP/1.1 x\r\nHost: h\r\n\r\n"),
        SHAPE("HTTP/0.9", "GET /a\r\n\r\n"),
        SHAPE("HTTP/1.2", "GET /a HTTP/1.2\r\nHost: h\r\n\r\n"),
        SHAPE("HTTP/2.0", "GET /a HTTP/2.0\r\nHost: h\r\n\r\n"),
        SHAPE("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        SHAPE("lower-case protocol", "GET /a http/1.1\r\nHost: h\r\n\r\n"),
        SHAPE("unknown method", "FROB /a HTTP/1.1\r\nHost: h\r\n\r\n"),
        SHAPE("lower-case method", "get /a HTTP/1.1\r\nHost: h\r\n\r\n"),
        SHAPE("TLS hello", "\026\003\001\002\000\001\000\001\374\003\003"),
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        expect_refused(shapes[i].name, false, shapes[i].text, HTTP_PARSE_MALFORMED);
    }
}

#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static void requests__bad_chunks__are_refused(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        SHAPE("no size", CHUNKED "\r\nhello\r\n0\r\n\r\n"),
        SHAPE("hexadecimal prefix", CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"),
        SHAPE("signed size", CHUNKED "+5\r\nhello\r\n0\r\n\r\n"),
        SHAPE("negative size", CHUNKED "-5\r\nhello\r\n0\r\n\r\n"),
        SHAPE("space before the size", CHUNKED " 5\r\nhello\r\n0\r\n\r\n"),
        SHAPE("space behind the size", CHUNKED "5 \r\nhello\r\n0\r\n\r\n"),
        SHAPE("no digit", CHUNKED "g\r\nhello\r\n0\r\n\r\n"),
        SHAPE("size over 64 bits", CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        SHAPE("bare LF behind the size", CHUNKED "5\nhello\r\n0\r\n\r\n"),
        SHAPE("bare CR behind the size", CHUNKED "5\rhello\r\n0\r\n\r\n"),
        SHAPE("bare LF behind the data", CHUNKED "5\r\nhello\n0\r\n\r\n"),
        SHAPE("data too long", CHUNKED "5\r\nhello!\r\n0\r\n\r\n"),
        SHAPE("bare LF in an extension", CHUNKED "5;a\nhello\r\n0\r\n\r\n"),
        SHAPE("NUL in an extension", CHUNKED "5;a\0b\r\nhello\r\n0\r\n\r\n"),
        SHAPE("bare LF at the end", CHUNKED "0\n\n"),
        SHAPE("bare LF behind a trailer", CHUNKED "0\r\nX: y\n\r\n"),
        SHAPE("cut", CHUNKED "5\r\nhel"),
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        expect_refused(shapes[i].name, false, shapes[i].text, HTTP_PARSE_MALFORMED);
    }
}

/* Codings that name chunked in a way some readers take for chunked and others do not. */
static void requests__other_transfer_codings__are_refused(void **state)
{
    (void)state;
    static const char *const codings[] = {
        "gzip",          "identity",    "xchunked",    "chunkedx",        "chunked, gzip",
        "gzip, chunked", "chunked;q=1", "\"chunked\"", "chunked chunked", "",
        ",chunked",      "chunked,"};
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        char text[256];
        struct transcript script;
        int len =
            snprintf(text, sizeof(text), POST "Transfer-Encoding: %s\r\n\r\n0\r\n\r\n", codings[i]);
        whole(&script, false, (struct str){text, (size_t)len});
        if (script.head_count != 0 ||
            (script.error != HTTP_PARSE_MALFORMED && script.error != HTTP_PARSE_CODING)) {
            fail_msg("\"%s\": error %d\n%s", codings[i], (int)script.error, script.text.p);
        }
        transcript_fini(&script);
    }
}

static void request__coding_we_do_not_speak__is_told_apart(void **state)
{
    (void)state;
    expect_refused("gzip, chunked", false,
                   STR(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
                   HTTP_PARSE_CODING);
}

static void responses__bad_framing__is_refused(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        SHAPE("length and coding",
              OK200 "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("two lengths", OK200 "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        SHAPE("coding twice",
              OK200 "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("coding on HTTP/1.0",
              "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("folded field", OK200 "X: a\r\n b\r\n\r\n"),
        SHAPE("bare LF", "HTTP/1.1 200 OK\nX: a\r\n\r\n"),
        SHAPE("no status", "HTTP/1.1 OK\r\n\r\n"),
        SHAPE("another protocol", "SSH-2.0-x\r\n"),
        SHAPE("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n"),
        SHAPE("length cut", OK200 "Content-Length: 5\r\n\r\nhell"),
        SHAPE("chunks cut", OK200 "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        expect_refused(shapes[i].name, true, shapes[i].text, HTTP_PARSE_MALFORMED);
    }
    expect_refused("gzip", true, STR(OK200 "Transfer-Encoding: gzip\r\n\r\nabc"),
                   HTTP_PARSE_CODING);
}

static void
expect_script(bool is_response, bool is_head_request, const char *text, const char *expected)
{
    struct transcript script;
    transcript_start(&script, is_response, is_head_request);
    transcript_feed(&script, text, strlen(text));
    transcript_end(&script);
    assert_string_equal(script.text.p, expected);
    transcript_fini(&script);
}

static void request__plain__is_understood(void **state)
{
    (void)state;
    expect_script(false, false,
                  "GET /v1?x=1 HTTP/1.1\r\nHost: h\r\nX:  a b \t\r\nEmpty:\r\nx: c\r\n\r\n",
                  "head method=1 status=0 minor=1 length=0 target=/v1?x=1\n"
                  "  Host=h\n  X=a b\n  Empty=\n  x=c\nbody=\nend keep=1\n");
}

static void request__chunked_with_extensions_and_trailers__gives_the_data_only(void **state)
{
    (void)state;
    expect_script(false, false,
                  CHUNKED
                  "3;a=b;c=\"d\"\r\nhel\r\n2\r\nlo\r\n0;x\r\nX-Trailer: y\r\nHost: z\r\n\r\n",
                  "head method=3 status=0 minor=1 length=-1 target=/a\n"
                  "  Host=h\n  Transfer-Encoding=chunked\nbody=hello\nend keep=1\n");
}

static void request__coding_in_capitals__is_chunked(void **state)
{
    (void)state;
    struct transcript script;
    whole(&script, false, STR(POST "tRANSFER-eNCODING: CHUNKED\r\n\r\n0\r\n\r\n"));
    assert_int_equal(script.error, HTTP_PARSE_OK);
    assert_int_equal(script.message_count, 1);
    transcript_fini(&script);
}

static void requests__pipelined__come_one_by_one(void **state)
{
    (void)state;
    expect_script(false, false,
                  POST
                  "Content-Length: 2\r\n\r\nhiGET /b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
                  "head method=3 status=0 minor=1 length=2 target=/a\n"
                  "  Host=h\n  Content-Length=2\nbody=hi\nend keep=1\n"
                  "head method=1 status=0 minor=0 length=0 target=/b\n"
                  "  Connection=keep-alive\nbody=\nend keep=1\n");
}

static void request__upgrade_asked__is_served_as_it_stands(void **state)
{
    (void)state;
    expect_script(
        false, false,
        POST "Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi" GET "\r\n",
        "head method=3 status=0 minor=1 length=2 target=/a\n"
        "  Host=h\n  Connection=upgrade\n  Upgrade=h2c\n  Content-Length=2\nbody=hi\nend keep=1\n"
        "head method=1 status=0 minor=1 length=0 target=/a\n"
        "  Host=h\nbody=\nend keep=1\n");
}

static void request__connect__bytes_behind_it_are_a_request(void **state)
{
    (void)state;
    struct transcript script;
    whole(&script, false, STR("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n" GET "\r\n"));
    assert_int_equal(script.message_count, 2);
    transcript_fini(&script);
}

static void request__length_near_64_bits__is_not_taken_for_unknown(void **state)
{
    (void)state;
    struct transcript script;
    transcript_start(&script, false, false);
    struct str text = STR(POST "Content-Length: 18446744073709551615\r\n\r\nx");
    transcript_feed(&script, text.p, text.len);
    assert_int_equal(script.head_count, 1);
    assert_true(http_parser_content_length(&script.parser) > INT64_MAX - 8);
    transcript_fini(&script);
}

static void response__until_close__is_complete_at_the_end(void **state)
{
    (void)state;
    expect_script(
        true, false, OK200 "X: y\r\n\r\nhello",
        "head method=0 status=200 minor=1 length=-1 target=\n  X=y\nbody=hello\nend keep=0\n");
}

static void responses__interim_before_the_answer__are_heads_of_their_own(void **state)
{
    (void)state;
    expect_script(true, false,
                  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK200
                  "Content-Length: 2\r\n\r\nhi",
                  "head method=0 status=100 minor=1 length=0 target=\nbody=\nend keep=1\n"
                  "head method=0 status=103 minor=1 length=0 target=\n  Link=x\nbody=\nend keep=1\n"
                  "head method=0 status=200 minor=1 length=2 target=\n  "
                  "Content-Length=2\nbody=hi\nend keep=1\n");
}

static void response__to_head__has_no_body(void **state)
{
    (void)state;
    expect_script(true, true, OK200 "Content-Length: 5\r\n\r\n",
                  "head method=0 status=200 minor=1 length=5 target=\n  "
                  "Content-Length=5\nbody=\nend keep=1\n");
}

static void responses__204_and_304__have_no_body(void **state)
{
    (void)state;
    expect_script(
        true, false,
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "head method=0 status=204 minor=1 length=0 target=\nbody=\nend keep=1\n"
        "head method=0 status=304 minor=1 length=9 target=\n  Content-Length=9\nbody=\nend "
        "keep=1\n");
}

/* The stream cut in two at every offset, and into single bytes, reads the same as whole. */
static void expect_same_when_cut(const char *name, bool is_response, struct str text)
{
    struct transcript one;
    whole(&one, is_response, text);
    for (size_t cut = 0; cut <= text.len; cut++) {
        struct transcript two;
        transcript_start(&two, is_response, false);
        transcript_feed(&two, text.p, cut);
        transcript_feed(&two, text.p + cut, text.len - cut);
        transcript_end(&two);
        if (strcmp(one.text.p, two.text.p) != 0 || one.error != two.error) {
            fail_msg("%s cut at %zu:\n%s\ninstead of\n%s", name, cut, two.text.p, one.text.p);
        }
        transcript_fini(&two);
    }
    struct transcript bytes;
    transcript_start(&bytes, is_response, false);
    for (size_t i = 0; i < text.len; i++) {
        transcript_feed(&bytes, text.p + i, 1);
    }
    transcript_end(&bytes);
    assert_string_equal(one.text.p, bytes.text.p);
    transcript_fini(&bytes);
    transcript_fini(&one);
}

static void streams__cut_anywhere__read_the_same(void **state)
{
    (void)state;
    static const struct shape requests[] = {
        SHAPE("fields", "GET /long/target?q HTTP/1.1\r\nHost: h\r\nEmpty:\r\nX:\t a  b \t\r\n\r\n"),
        SHAPE("length", POST "Content-Length: 11\r\n\r\nhello\r\nworl" GET "\r\n"),
        SHAPE("chunks",
              CHUNKED "b;x=\"y\"\r\nhello world\r\n00a\r\n0123456789\r\n0\r\nT: u\r\nV:\r\n\r\n" GET
                      "\r\n"),
        SHAPE("blank lines before", "\r\n\r\n" GET "\r\n"),
        SHAPE("refused",
              POST "Content-Length: 5\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SHAPE("refused chunk", CHUNKED "5\r\nhello\r\nzz\r\n"),
    };
    static const struct shape answers[] = {
        SHAPE("interim and length",
              "HTTP/1.1 100 \r\n\r\nHTTP/1.1 200 All Right\r\nContent-Length: 3\r\n\r\nabc"),
        SHAPE("chunks", OK200 "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        SHAPE("until close", "HTTP/1.0 200 OK\r\n\r\nabc"),
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        expect_same_when_cut(requests[i].name, false, requests[i].text);
    }
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        expect_same_when_cut(answers[i].name, true, answers[i].text);
    }
}

/* What parse_with_limits returns when the stream is fed in pieces of `step` bytes. */
static enum http_parse_error
with_limits(const char *text, size_t step, size_t header_bytes, uint32_t header_count)
{
    struct transcript script;
    transcript_start(&script, strncmp(text, "HTTP/", 5) == 0, false);
    http_parser_set_limits(&script.parser, header_bytes, header_count);
    size_t len = strlen(text);
    for (size_t at = 0; at < len; at += step) {
        transcript_feed(&script, text + at, step < len - at ? step : len - at);
    }
    enum http_parse_error error = script.error;
    transcript_fini(&script);
    return error;
}

static void limits__header_bytes__are_counted_the_same_in_any_pieces(void **state)
{
    (void)state;
    /* target 2 + (Host 4 + h 1 + 4) + (X 1 + abc 3 + 4) = 19 */
    const char *text = "GET /a HTTP/1.1\r\nHost: h\r\nX: abc\r\n\r\n";
    assert_int_equal(with_limits(text, 1000, 19, 8), HTTP_PARSE_OK);
    assert_int_equal(with_limits(text, 1, 19, 8), HTTP_PARSE_OK);
    assert_int_equal(with_limits(text, 1000, 18, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
    assert_int_equal(with_limits(text, 1, 18, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
}

static void limits__header_count__one_more_is_refused(void **state)
{
    (void)state;
    const char *text = GET "A: 1\r\nB: 2\r\n\r\n";
    assert_int_equal(with_limits(text, 1000, 8192, 3), HTTP_PARSE_OK);
    assert_int_equal(with_limits(text, 1000, 8192, 2), HTTP_PARSE_TOO_MANY_HEADERS);
}

static char *repeat(const char *head, const char *piece, size_t times, const char *tail)
{
    size_t piece_len = strlen(piece);
    size_t at = strlen(head);
    char *text = malloc(at + piece_len * times + strlen(tail) + 1);
    assert_non_null(text);
    memcpy(text, head, at);
    for (size_t i = 0; i < times; i++) {
        memcpy(text + at, piece, piece_len);
        at += piece_len;
    }
    memcpy(text + at, tail, strlen(tail) + 1);
    return text;
}

static void limits__trailers__are_counted_the_same_in_any_pieces(void **state)
{
    (void)state;
    char *text =
        repeat(CHUNKED "1\r\nx\r\n0\r\n", "Ab: cd\r\n", 100, "\r\n"); /* 800 bytes of trailers */
    assert_int_equal(with_limits(text, 100000, 800, 8), HTTP_PARSE_OK);
    assert_int_equal(with_limits(text, 1, 800, 8), HTTP_PARSE_OK);
    assert_int_equal(with_limits(text, 100000, 700, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
    assert_int_equal(with_limits(text, 1, 700, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
    free(text);
}

static void limits__extension_of_one_chunk__is_bounded(void **state)
{
    (void)state;
    char *name = repeat(CHUNKED "1;", "a", 1000, "\r\nx\r\n0\r\n\r\n");
    char *value = repeat(CHUNKED "1;a=", "b", 1000, "\r\nx\r\n0\r\n\r\n");
    char *quoted = repeat(CHUNKED "1;a=\"", "b", 1000, "\"\r\nx\r\n0\r\n\r\n");
    assert_int_equal(with_limits(name, 1, 500, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
    assert_int_equal(with_limits(value, 1, 500, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
    assert_int_equal(with_limits(quoted, 1, 500, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
    free(name);
    free(value);
    free(quoted);
}

static void limits__short_extensions_on_many_chunks__are_fine(void **state)
{
    (void)state;
    char *text =
        repeat(OK200 "Transfer-Encoding: chunked\r\n\r\n", "1;ab=cd\r\nx\r\n", 1000, "0\r\n\r\n");
    assert_int_equal(with_limits(text, 100000, 500, 8), HTTP_PARSE_OK);
    free(text);
}

static void limits__endless_reason__is_bounded(void **state)
{
    (void)state;
    char *text = repeat("HTTP/1.1 200 ", "a", 1000, "");
    assert_int_equal(with_limits(text, 1, 500, 8), HTTP_PARSE_HEADERS_TOO_LARGE);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests__smuggling_shapes__are_refused),
        cmocka_unit_test(requests__bad_chunks__are_refused),
        cmocka_unit_test(requests__other_transfer_codings__are_refused),
        cmocka_unit_test(request__coding_we_do_not_speak__is_told_apart),
        cmocka_unit_test(responses__bad_framing__is_refused),
        cmocka_unit_test(request__plain__is_understood),
        cmocka_unit_test(request__chunked_with_extensions_and_trailers__gives_the_data_only),
        cmocka_unit_test(request__coding_in_capitals__is_chunked),
        cmocka_unit_test(requests__pipelined__come_one_by_one),
        cmocka_unit_test(request__upgrade_asked__is_served_as_it_stands),
        cmocka_unit_test(request__connect__bytes_behind_it_are_a_request),
        cmocka_unit_test(request__length_near_64_bits__is_not_taken_for_unknown),
        cmocka_unit_test(response__until_close__is_complete_at_the_end),
        cmocka_unit_test(responses__interim_before_the_answer__are_heads_of_their_own),
        cmocka_unit_test(response__to_head__has_no_body),
        cmocka_unit_test(responses__204_and_304__have_no_body),
        cmocka_unit_test(streams__cut_anywhere__read_the_same),
        cmocka_unit_test(limits__header_bytes__are_counted_the_same_in_any_pieces),
        cmocka_unit_test(limits__header_count__one_more_is_refused),
        cmocka_unit_test(limits__trailers__are_counted_the_same_in_any_pieces),
        cmocka_unit_test(limits__extension_of_one_chunk__is_bounded),
        cmocka_unit_test(limits__short_extensions_on_many_chunks__are_fine),
        cmocka_unit_test(limits__endless_reason__is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
