# SPDX-License-Identifier: Apache-2.0
"""Request bodies of any size, cut anyhow (class body)."""
import hashlib
import time

import pytest

from kit import chat, check_error, dumps, poll, request_bytes, turn
from kit import names

LIMIT = 1 << 20


def body_of(size):
    """A chat body of exactly this many bytes."""
    base = chat("", pad="")
    return chat("", pad="x" * (size - len(base)))


def sha(data):
    return hashlib.sha256(data).hexdigest()


def test_B031_ten_megabytes_identical(gw, mu):
    m = mu()
    g, body = gw(m), body_of(10 << 20)
    assert g.post(body).status == 200
    assert g.post(body, chunked=[65536, 1, 4000]).status == 200
    assert [sha(r.body) for r in m.reqs] == [sha(body)] * 2


@pytest.mark.parametrize("chunked", [None, [50000]], ids=["length", "chunked"])
def test_B031_around_the_limit(gw, mu, chunked):
    m = mu()
    g = gw(m, sets={"limits.body_bytes": LIMIT})
    for size in (LIMIT - 1, LIMIT):
        assert g.post(body_of(size), chunked=chunked).status == 200
        assert len(m.reqs[-1].body) == size
    check_error(g.post(body_of(LIMIT + 1), chunked=chunked), 413)
    assert m.executions == 2


def test_B031_too_large_refused_before_it_is_read(gw, mu):
    m = mu()
    g = gw(m, sets={"limits.body_bytes": LIMIT})
    c = g.conn()
    c.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n{")
    check_error(c.read_reply(), 413)
    c = g.conn()
    c.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3b9aca00\r\n{")
    check_error(c.read_reply(), 413)
    assert m.executions == 0


def test_B032_answer_reaches_a_client_that_sends_all_first(gw, mu):
    g = gw(mu(), sets={"limits.body_bytes": LIMIT})
    for _ in range(10):
        c = g.conn()
        c.send(request_bytes(body=body_of(LIMIT + 20000)))
        check_error(c.read_reply(), 413)


def test_B032_anthropic_route(gw, mu):
    g = gw(mu(), sets={"limits.body_bytes": 4096})
    check_error(g.post(body_of(5000), "/v1/messages"), 413, anthropic=True)


def test_B033_rejections_are_counted_and_logged(gw, mu):
    g = gw(mu(), sets={"limits.body_bytes": LIMIT, "log.level": "debug"})
    for _ in range(5):
        g.post(body_of(LIMIT + 1))
    assert g.metric(names.REFUSED, **{names.REASON: names.BODY_TOO_LARGE}) == 5
    poll(lambda: "413" in g.stderr or "body_too_large" in g.stderr, 2, "rejection in the log")


@pytest.mark.parametrize("size", [64 << 10, LIMIT - 1, LIMIT, LIMIT + 1, 5 << 20])
def test_B034_random_pieces_one_dispatch(gw, mu, rng, size):
    m = mu()
    g, body = gw(m), body_of(size)
    c = g.conn()
    for chunked in (None, [rng.randint(1, 1 << 18) for _ in range(50)]):
        data = request_bytes(body=body, chunked=chunked)
        pieces = [rng.choice((1, 2, 100, rng.randint(1, 1 << 18))) for _ in range(200)] + [1 << 18]
        c.send(data, pieces=pieces)
        assert c.read_reply().status == 200
    assert [sha(r.body) for r in m.reqs] == [sha(body)] * 2


def test_B034_bytes_after_the_body_are_the_next_request(gw, mu):
    m = mu()
    g = gw(m)
    c = g.conn()
    c.send(request_bytes(body=chat("one")) + request_bytes(body=chat("two")))
    assert c.read_reply().status == 200
    second = c.read_reply()
    assert second is None or second.status == 200
    bodies = [r.body for r in m.reqs]
    assert bodies in ([chat("one")], [chat("one"), chat("two")])
    assert second is None or len(bodies) == 2


def test_B035_segments_with_gaps(gw, mu):
    m = mu()
    g, body = gw(m), dumps({"model": "m", "messages": turn("y" * 3000)})
    c = g.conn()
    c.send(request_bytes(body=body), pieces=1440, gap=0.05)
    assert c.read_reply().status == 200
    assert [r.body for r in m.reqs] == [body]


def test_B035_one_byte_at_a_time(gw, mu):
    m = mu()
    g, body = gw(m), chat("slow")
    c = g.conn()
    c.send(request_bytes(body=body), pieces=1, gap=0.0005)
    assert c.read_reply().status == 200 and m.reqs[0].body == body


def test_B037_expect_100_continue(gw, mu):
    m = mu()
    g, body = gw(m), chat("later")
    c = g.conn()
    data = request_bytes(body=body, headers=[("Expect", "100-continue")])
    c.send(data[:-len(body)])
    assert c.read_head(interim=True).status == 100
    c.send(body)
    assert c.read_reply().status == 200
    assert m.reqs[0].body == body and m.reqs[0].header("expect") is None


def test_B037_expect_with_a_length_over_the_limit(gw, mu):
    g = gw(mu(), sets={"limits.body_bytes": 4096})
    c = g.conn()
    c.send(request_bytes(body=body_of(5000), headers=[("Expect", "100-continue")])[:-5000])
    reply = c.read_head(interim=True)
    assert reply.status == 413


def test_body_idle_timeout(gw, mu):
    m = mu()
    g = gw(m, sets={"limits.body_idle_ms": 200})
    c = g.conn()
    at = time.monotonic()
    c.send(request_bytes(body=chat("never whole"))[:-5])
    reply = c.read_reply()
    assert reply is None or reply.status == 408
    assert time.monotonic() - at > 0.15
    assert m.executions == 0


def test_empty_and_broken_json(gw, mu):
    m = mu()
    g = gw(m)
    for body in (b"", b"{", b"[]", b"null", b'{"model":"m"} x', b'{"model":7,"messages":[]}'):
        check_error(g.post(body), 400)
    assert m.executions == 0
