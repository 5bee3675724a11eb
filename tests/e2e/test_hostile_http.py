# SPDX-License-Identifier: Apache-2.0
"""Requests that smuggle, overflow or confuse: refused with 400 or 431 and close, never forwarded."""
import pytest

from kit import Conn, chat, check_error, request_bytes

BODY = chat("hostile")
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
LINE = b"POST /v1/chat/completions HTTP/1.1\r\n"
HOST = b"Host: gw\r\n"
JSON = b"Content-Type: application/json\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)

SMUGGLING = {
    "length_and_chunked": LINE + HOST + LENGTH + CHUNKED + b"\r\n" + CHUNKS,
    "chunked_and_length": LINE + HOST + CHUNKED + LENGTH + b"\r\n" + CHUNKS,
    "two_lengths_differing": LINE + HOST + LENGTH + b"Content-Length: 4\r\n\r\n" + BODY,
    "two_lengths_equal": LINE + HOST + LENGTH + LENGTH + b"\r\n" + BODY,
    "length_list": LINE + HOST + b"Content-Length: %d, %d\r\n\r\n" % (len(BODY), len(BODY)) + BODY,
    "length_plus": LINE + HOST + b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY,
    "length_negative": LINE + HOST + b"Content-Length: -1\r\n\r\n" + BODY,
    "length_hex": LINE + HOST + b"Content-Length: 0x10\r\n\r\n" + BODY,
    "length_huge": LINE + HOST + b"Content-Length: 99999999999999999999999\r\n\r\n" + BODY,
    "length_empty": LINE + HOST + b"Content-Length: \r\n\r\n" + BODY,
    "length_inner_space": LINE + HOST + b"Content-Length: 1 0\r\n\r\n" + BODY,
    "bare_lf_line": LINE.replace(b"\r\n", b"\n") + HOST + LENGTH + b"\r\n" + BODY,
    "bare_lf_header": LINE + b"Host: gw\n" + LENGTH + b"\r\n" + BODY,
    "bare_lf_all": (LINE + HOST + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + BODY,
    "bare_cr": LINE + b"Host: gw\rX: 1\r\n" + LENGTH + b"\r\n" + BODY,
    "obs_fold": LINE + HOST + b"X-A: 1\r\n folded\r\n" + LENGTH + b"\r\n" + BODY,
    "obs_fold_tab": LINE + HOST + b"X-A: 1\r\n\tfolded\r\n" + LENGTH + b"\r\n" + BODY,
    "fold_before_first": LINE + b" Host: gw\r\n" + LENGTH + b"\r\n" + BODY,
    "nul_in_value": LINE + HOST + b"X-A: a\x00b\r\n" + LENGTH + b"\r\n" + BODY,
    "nul_in_name": LINE + HOST + b"X\x00A: ab\r\n" + LENGTH + b"\r\n" + BODY,
    "nul_in_target": b"POST /v1/chat\x00/completions HTTP/1.1\r\n" + HOST + LENGTH + b"\r\n" + BODY,
    "space_before_colon": LINE + HOST + b"Content-Length : %d\r\n\r\n" % len(BODY) + BODY,
    "tab_before_colon": LINE + HOST + b"X-A\t: 1\r\n" + LENGTH + b"\r\n" + BODY,
    "space_in_name": LINE + HOST + b"X A: 1\r\n" + LENGTH + b"\r\n" + BODY,
    "no_colon": LINE + HOST + b"justtext\r\n" + LENGTH + b"\r\n" + BODY,
    "empty_name": LINE + HOST + b": 1\r\n" + LENGTH + b"\r\n" + BODY,
    "no_host": LINE + LENGTH + b"\r\n" + BODY,
    "two_hosts": LINE + HOST + b"Host: other\r\n" + LENGTH + b"\r\n" + BODY,
    "te_chunked_identity": LINE + HOST + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS,
    "te_identity_chunked": LINE + HOST + b"Transfer-Encoding: identity, chunked\r\n\r\n" + CHUNKS,
    "te_gzip_chunked": LINE + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS,
    "te_twice": LINE + HOST + CHUNKED + CHUNKED + b"\r\n" + CHUNKS,
    "te_xchunked": LINE + HOST + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "te_vtab": LINE + HOST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKS,
    "te_http_1_0": LINE.replace(b"1.1", b"1.0") + HOST + CHUNKED + b"\r\n" + CHUNKS,
    "chunk_size_overflow": LINE + HOST + CHUNKED + b"\r\n" + b"fffffffffffffffff\r\n" + BODY,
    "chunk_size_negative": LINE + HOST + CHUNKED + b"\r\n" + b"-5\r\n" + BODY,
    "chunk_size_0x": LINE + HOST + CHUNKED + b"\r\n" + b"0x5\r\nhello\r\n0\r\n\r\n",
    "chunk_size_text": LINE + HOST + CHUNKED + b"\r\n" + b"zz\r\n" + BODY,
    "chunk_size_empty": LINE + HOST + CHUNKED + b"\r\n" + b"\r\n" + BODY,
    "chunk_bare_lf": LINE + HOST + CHUNKED + b"\r\n" + CHUNKS.replace(b"\r\n", b"\n"),
    "chunk_too_long": LINE + HOST + CHUNKED + b"\r\n" + b"2\r\n{}}}\r\n0\r\n\r\n",
    "chunk_long_extension": LINE + HOST + CHUNKED + b"\r\n" + b"5;" + b"e" * 2_000_000,
    "version_2": LINE.replace(b"1.1", b"2.0") + HOST + LENGTH + b"\r\n" + BODY,
    "version_1_2": LINE.replace(b"1.1", b"1.2") + HOST + LENGTH + b"\r\n" + BODY,
    "version_text": LINE.replace(b"HTTP", b"HTPP") + HOST + LENGTH + b"\r\n" + BODY,
    "no_version": b"POST /v1/chat/completions\r\n" + HOST + LENGTH + b"\r\n" + BODY,
    "two_spaces": LINE.replace(b"POST ", b"POST  ") + HOST + LENGTH + b"\r\n" + BODY,
    "h2_preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tls_hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
    "garbage": b"\x00\xff" * 500,
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    from kit import MockUpstream, Saga
    m = MockUpstream()
    g = Saga(tmp_path_factory.mktemp("hostile"), [m])
    yield g, m
    try:
        g.finish()
    finally:
        m.close()


def send_hostile(g, data):
    """What came back and whether the connection was closed; a refusal may be a plain close."""
    with Conn(g.addr, timeout=5) as c:
        try:
            c.send(data)
        except OSError:  # refused while it was still sent
            pass
        try:
            reply = c.read_reply()
            closed = c.closed_by_peer()
        except (ConnectionResetError, BrokenPipeError):
            return None, True
    return reply, closed


@pytest.mark.parametrize("case", SMUGGLING)
def test_W7(shared, case):
    g, m = shared
    before = m.executions
    reply, closed = send_hostile(g, SMUGGLING[case] + request_bytes(body=chat("smuggled")))
    assert reply is not None, "no answer"
    allowed = (400, 413, 431) if case in ("length_huge", "chunk_size_overflow", "chunk_long_extension") else (
        (400, 501) if case.startswith("te_") else (400, 505) if "version" in case or case == "h2_preface" else (400,))
    assert reply.status in allowed, f"{case}: {reply.status}"
    assert closed, f"{case}: connection stays open"
    assert m.executions == before, f"{case}: reached an engine"


def test_W7_one_header_of_1_mb(shared):
    g, m = shared
    before = m.executions
    reply, closed = send_hostile(g, LINE + HOST + b"X-A: " + b"a" * (1 << 20) + b"\r\n" + LENGTH + b"\r\n" + BODY)
    assert closed and (reply is None or reply.status in (400, 431))
    assert m.executions == before


def test_W7_10k_headers(shared):
    g, m = shared
    before = m.executions
    many = b"".join(b"X-%d: 1\r\n" % i for i in range(10_000))
    reply, closed = send_hostile(g, LINE + HOST + many + LENGTH + b"\r\n" + BODY)
    assert closed and (reply is None or reply.status in (400, 431))
    assert m.executions == before


def test_W7_header_limits_are_431_with_a_body(shared):
    g, _ = shared
    many = [(f"X-{i}", "1") for i in range(200)]
    check_error(g.post(BODY, headers=many), 431)
    check_error(g.post(BODY, headers=[("X-A", "a" * 70_000)]), 431)
    long_target = "/v1/chat/completions?" + "q" * 70_000
    assert g.post(BODY, long_target).status in (414, 431)


def test_B178_24_kb_of_headers_work(shared):
    g, _ = shared
    assert g.post(BODY, headers=[("Authorization", "Bearer " + "k" * 24_000), ("Cookie", "c" * 8000)]).status == 200


ODD_TARGETS = [
    "/public/%2e%2e/admin/workers", "//v1/models", "/v1/./chat/completions", "/v1/chat/completions/", "/V1/chat/completions",
    "/v1%2fchat%2fcompletions", "/v1\\chat\\completions", "/v1/%5cmodels", "/v1/chat/completions;x=1", "/v1/../v1/models",
    "/%761/models", "/v1/chat/completions%00", "/v1/chat//completions", "*", "v1/models", "", "/v1/models#frag",
    "http://gw/v1/../admin", "http://other.example/v1/unknown", "/v1/models%20", "/v1/chat/completions/../../health"]


@pytest.mark.parametrize("target", ODD_TARGETS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_B169_odd_targets_are_not_forwarded(shared, target, method):
    g, m = shared
    before = m.executions + len([p for p in m.probes if p.method == "POST"])
    with Conn(g.addr, timeout=5) as c:
        body = BODY if method == "POST" else b""
        reply = c.request(method, target, body).read_reply()
    assert reply.status in (400, 404), f"{reply.status}"
    assert m.executions == before


@pytest.mark.parametrize("target", [
    "/invocations", "/tokenize", "/detokenize", "/pooling", "/reset_prefix_cache", "/flush_cache", "/v1/load_lora_adapter",
    "/sleep", "/wake_up", "/metrics", "/server_info", "/docs", "/openapi.json", "/saga/v1/status", "/saga/v1/engines",
    "/v1/embeddings", "/abort_requests", "/pause", "/slots", "/props", "/version", "/load", "/admin", "/debug/fleet"])
def test_B170_other_paths_of_engines_are_404(shared, target):
    g, m = shared
    before = m.executions
    for method, body in (("GET", b""), ("POST", BODY)):
        check_error(g.get(target) if method == "GET" else g.post(body, target), 404)
    assert m.executions == before


def test_absolute_form_of_a_known_route(shared):
    g, m = shared
    before = m.executions
    reply = g.post(BODY, f"{g.base}/v1/chat/completions")
    assert reply.status in (200, 400, 404)
    if reply.status == 200:
        assert m.executions == before + 1 and m.reqs[-1].target == "/v1/chat/completions"
    else:
        assert m.executions == before


def test_head_of_the_root(shared):
    g, _ = shared
    with Conn(g.addr) as c:
        for _ in range(2):  # no body, and the connection goes on
            reply = c.request("HEAD", "/").read_reply()
            assert reply.status == 200 and not reply.body
        assert c.request(body=BODY).read_reply().status == 200


def test_options_is_sane(shared):
    g, m = shared
    before = m.executions
    for target in ("/v1/chat/completions", "*"):
        with Conn(g.addr, timeout=5) as c:
            reply = c.request("OPTIONS", target).read_reply()
            assert reply.status in (200, 204, 400, 404, 405)
    assert m.executions == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "FOO"])
def test_other_methods(shared, method):
    g, m = shared
    before = m.executions
    with Conn(g.addr, timeout=5) as c:
        reply = c.request(method, "/v1/chat/completions").read_reply()
    assert reply.status in (400, 404, 405, 501)
    assert m.executions == before


def test_get_on_a_post_route_and_back(shared):
    g, _ = shared
    assert g.get("/v1/chat/completions").status in (404, 405)
    assert g.post(BODY, "/v1/models").status in (404, 405)


def test_empty_lines_before_a_request(shared):
    g, _ = shared
    with Conn(g.addr) as c:
        c.send(b"\r\n\r\n" + request_bytes(body=BODY))
        assert c.read_reply().status in (200, 400)


def test_half_a_head_then_gone(shared):
    g, _ = shared
    for cut_at in range(1, 120, 7):
        c = Conn(g.addr)
        c.send(request_bytes(body=BODY)[:cut_at])
        c.rst() if cut_at % 2 else c.close()
    assert g.post(BODY).status == 200
