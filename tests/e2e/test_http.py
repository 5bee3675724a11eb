# SPDX-License-Identifier: Apache-2.0
"""HTTP between client, gateway and engine (class http): kept connections, retries, headers, load."""
import threading
import time

import pytest

from kit import (T, auto, chat, chat_json, check_busy, check_error, cut, dumps, hang, json_reply, poll,
                 raw_reply, request_bytes, rst_now, sse, stream_head)
from kit import names

OFF = {"retry_executed": False}


def fresh(m):
    """Probes leave no kept connection behind, so that the next request opens one."""
    m.probe_close = True
    return m


def test_B046_engine_closes_idle_connections_at_the_same_moment(gw, mu, rng):
    engines = [mu(models=(f"m{i}",)) for i in range(4)]
    for m in engines:
        m.idle_close = 0.05
    g, bad = gw(*engines), []

    def client(i):
        with g.conn() as c:
            for n in range(60):
                reply = c.request(body=chat(f"{n}", model=f"m{i}")).read_reply()
                if reply is None or reply.status != 200:
                    bad.append((i, n, reply and reply.status))
                    return
                time.sleep(rng.uniform(0.045, 0.055))
    threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


@pytest.mark.parametrize("sets", [{}, OFF], ids=["retry_on", "retry_off"])
def test_B047_stale_pooled_connection_is_replayed(gw, mu, sets):
    m = fresh(mu())
    m.close_on_reuse = True
    g = gw(m, sets=sets)
    for i in range(4):
        assert g.post(chat(f"p{i}")).status == 200
    assert m.executions == 4 and m.unread_closed >= 3
    assert g.metric(names.STALE) == m.unread_closed


def test_B048_executed_then_reset_is_not_repeated_when_off(gw, mu):
    engines = [fresh(mu(rst_now())), fresh(mu(rst_now()))]
    g = gw(*engines, sets=OFF)
    check_error(g.post(chat()), 502)
    assert sum(m.executions for m in engines) == 1


def test_B048_head_then_reset_when_off(gw, mu):
    async def script(x):
        await x.send(stream_head())
        await x.pause(0.02)
        x.rst()
    engines = [fresh(mu(script)), fresh(mu(script))]
    g = gw(*engines, sets=OFF)
    reply = g.post(chat(stream=True))
    assert reply.status == 502 or b"error" in reply.body or reply.end != "complete"
    assert b"[DONE]" not in reply.body
    assert sum(m.executions for m in engines) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_B048_run_elsewhere_once_when_on(gw, mu, stream):
    engines = [fresh(mu()), fresh(mu())]
    for m in engines:
        m.script = rst_now()
    g = gw(*engines, sets={"health.fail_count": 1000})
    check_error(g.post(chat("both die", stream=stream)), 502)
    assert sorted(m.executions for m in engines) == [1, 1]
    for m in engines:
        m.script = auto()
    for m in engines:  # whichever is asked first: it dies once, the other one answers
        before = sum(x.executions for x in engines)
        m.then(rst_now())
        reply = g.post(chat(f"one dies {m.port}", stream=stream))
        died = not m.next_scripts
        m.next_scripts.clear()
        assert reply.status == 200 and reply.end == "complete"
        assert sum(x.executions for x in engines) == before + 1 + died


def test_B049_500_and_its_body_reach_the_client(gw, mu):
    body = b'{"error":  {"message":"boom"}}'
    engines = [mu(json_reply(body, 500)), mu(json_reply(body, 500))]
    g = gw(*engines, sets=OFF)
    reply = g.post(chat())
    assert reply.status == 500 and reply.body == body


def test_B050_redirect_is_not_followed(gw, mu):
    other = mu()
    for target in (other.url + "/v1/chat/completions", "http://169.254.169.254/latest"):
        m = mu(json_reply(b"{}", 307, b"Location: %s\r\n" % target.encode()))
        reply = gw(m).post(chat(), headers=[("Authorization", "Bearer client-key")])
        assert reply.status in (307, 502)
        assert m.executions == 1
    assert other.executions == 0 and other.accepted == 0


def test_B051_hop_by_hop_headers_stay_on_their_hop(gw, mu):
    m = mu(raw_reply(
        b"HTTP/1.1 200 OK\r\nConnection: close, X-Foo\r\nKeep-Alive: timeout=5\r\nX-Foo: 1\r\nTrailer: X-T\r\n"
        b"Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nX-Kept: yes\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n", "fin"))
    g = gw(m)
    c = g.conn()
    for _ in range(2):  # the client's connection is not ended by the engine's Connection: close
        reply = c.request(body=chat(), headers=[
            ("Connection", "keep-alive, X-Bar"), ("X-Bar", "1"), ("Keep-Alive", "3"), ("TE", "trailers"),
            ("Proxy-Authorization", "Basic abc"), ("Proxy-Connection", "keep-alive"), ("X-Ok", "1")]).read_reply()
        assert reply.status == 200 and reply.end == "complete" and reply.body == b"{}"
        for name in ("keep-alive", "x-foo", "trailer", "proxy-authenticate", "upgrade"):
            assert reply.header(name) is None, name
        assert "x-foo" not in (reply.header("connection") or "").lower()
        assert reply.header("x-kept") == "yes"
    for name in ("x-bar", "keep-alive", "te", "proxy-authorization", "proxy-connection", "upgrade"):
        assert m.reqs[0].header(name) is None, name
    assert "x-bar" not in (m.reqs[0].header("connection") or "").lower()
    assert m.reqs[0].header("x-ok") == "1"


def test_B052_json_answer_is_not_touched(gw, mu):
    body = b'{ "a" : "\\u00e9\\/" ,\n "n": 1.0e2, "choices":[ ] }\n'
    reply = gw(mu(json_reply(body))).post(chat())
    assert reply.body == body and reply.header("content-length") == str(len(body))


def test_B053_header_names_in_any_case(gw, mu):
    engines = [mu() for _ in range(3)]
    g = gw(*engines)
    for i, name in enumerate(["X-SESSION-ID", "x-session-id", "X-Session-Id", "x-SESSION-id"]):
        reply = g.post(chat(f"unrelated {i}"), headers=[(name, "one")])
        assert reply.header("x-saga-session") and reply.status == 200
    assert sorted(m.executions for m in engines) == [0, 0, 4]


def test_B053_duplicates_keep_their_order(gw, mu):
    m = mu()
    gw(m).post(chat(), headers=[("X-Custom", "b"), ("x-custom", "a, c"), ("X-CUSTOM", "z")])
    assert m.reqs[0].all("x-custom") == ["b", "a, c", "z"]


def test_B053_two_session_ids_first_or_400(gw, mu):
    engines = [mu() for _ in range(4)]
    g = gw(*engines)
    reply = g.post(chat("x"), headers=[("x-session-id", "one"), ("X-Session-Id", "two")])
    if reply.status != 400:
        home = next(m for m in engines if m.executions)
        for i in range(3):
            assert g.post(chat(f"y{i}"), headers=[("x-session-id", "one")]).status == 200
        assert home.executions == 4


def test_B054_internal_headers_and_credentials_do_not_cross(gw, mu, tmp_path):
    m = mu()
    key = tmp_path / "key"
    key.write_text("engine-key\n")
    config = tmp_path / "c.yaml"
    config.write_text(f"engines:\n  - url: {m.url}\n    api_key_file: {key}\n")
    g = gw(args=["--config", str(config)], wait=1)
    reply = g.post(chat(), headers=[
        ("Authorization", "Bearer client-key"), ("x-api-key", "client-key-2"), ("X-Saga-Tenant", "root"),
        ("x-saga-plan", "pin"), ("x-saga-engine", "e0"), ("Cookie", "a=b")])
    assert reply.status == 200
    got = m.reqs[0]
    assert got.all("authorization") == ["Bearer engine-key"]
    assert not [n for n, _ in got.headers if n.lower().startswith("x-saga-")]
    assert b"client-key" not in got.head
    assert {p.header("authorization") for p in m.probes} == {"Bearer engine-key"}


def test_B054_no_engine_key_no_authorization(gw, mu):
    m = mu()
    gw(m).post(chat(), headers=[("Authorization", "Bearer client-key")])
    assert b"client-key" not in m.reqs[0].head


def test_B055_many_streams_at_once(gw, mu):
    m = mu(sse([b"data: {}\n\n"] * 20 + [b"data: [DONE]\n\n"], gap=0.05))
    g = gw(m, mu(m.script), sets={"routing.engine_slots": 1000})
    conns = [g.conn().request(body=chat(f"s{i}", stream=True)) for i in range(300)]
    poll(lambda: g.in_flight() > 250, 5, "all running at once")
    for c in conns:
        reply = c.read_reply()
        assert reply.status == 200 and reply.end == "complete"


def test_B055_over_the_request_limit_503(gw, mu):
    m = mu(hang())
    g = gw(m, sets={"limits.requests": 20})
    held = [g.conn().request(body=chat(f"h{i}")) for i in range(20)]
    m.wait_reqs(20)
    check_busy(g.post(chat("one more")))
    held[0].close()
    poll(lambda: g.in_flight() == 19, 2, "one left")
    c = g.conn().request(body=chat("fits"))
    m.wait_reqs(21)
    c.close()


def test_B055_full_queue_503(gw, mu):
    m = mu(hang())
    g = gw(m, sets={"routing.engine_slots": 2, "routing.queue_max": 3})
    for i in range(5):
        g.conn().request(body=chat(f"h{i}"))
    poll(lambda: g.engine(m)["queued"] == 3, 3, "queue is full")
    check_busy(g.post(chat("one more")))
    poll(lambda: m.executions == 2, 3, "two of them run")


def test_queue_timeout_503(gw, mu):
    m = mu(hang())
    g = gw(m, sets={"routing.engine_slots": 1, "routing.queue_timeout_ms": 300})
    g.conn().request(body=chat("holds"))
    m.wait_reqs(1)
    at = time.monotonic()
    check_busy(g.post(chat("waits")))
    assert 0.25 < time.monotonic() - at < T(1.5)


def test_connection_reuse_both_sides(gw, mu):
    m = mu()
    g = gw(m)
    with g.conn() as c:
        for i in range(20):
            assert c.request(body=chat(f"{i}")).read_reply().end == "complete"
    assert len({r.conn_id for r in m.reqs}) == 1


def test_client_connection_close_and_http_1_0(gw, mu):
    g = gw(mu())
    c = g.conn()
    assert c.request(body=chat(), headers=[("Connection", "close")]).read_reply().status == 200
    assert c.closed_by_peer()
    c = g.conn()
    body = chat("old")
    c.send(b"POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    reply = c.read_reply()
    assert reply.status == 200 and reply.end == "complete"
    assert "transfer-encoding" not in dict(reply.headers)
    assert c.closed_by_peer()


def test_http_1_0_stream_has_no_chunks(gw, mu):
    m = mu(sse([b"data: {}\n\n", b"data: [DONE]\n\n"]))
    g, body = gw(m), chat(stream=True)
    c = g.conn()
    c.send(b"POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    reply = c.read_reply()
    assert reply.header("transfer-encoding") is None and reply.end == "complete"
    assert reply.body == b"data: {}\n\ndata: [DONE]\n\n"


def test_pipelined_requests_in_order_or_refused(gw, mu):
    async def script(x):
        tag = x.rec.json()["tag"]
        await json_reply(dumps({"tag": tag}), delay=0.05 if tag == 0 else 0)(x)
    g = gw(mu(script), mu(script))
    c = g.conn()
    c.send(b"".join(request_bytes(body=chat(f"t{i}", tag=i)) for i in range(5)))
    got = []
    while len(got) < 5:
        reply = c.read_reply()
        if reply is None or reply.status != 200:
            break
        got.append(reply.json()["tag"])
    assert got == list(range(len(got))) and got


def test_chat_json_relayed_with_its_length(gw, mu):
    want = dumps(chat_json())
    reply = gw(mu(json_reply(want))).post(chat())
    assert reply.body == want and reply.header("content-type") == "application/json"


def test_early_answer_before_the_body_is_sent_on(gw, mu):
    """An engine that refuses while a large body is still on its way: its answer is delivered."""
    m = mu(json_reply({"error": {"message": "no"}}, 401))
    reply = gw(m).post(chat("x" * 2_000_000))
    assert reply.status == 401


def test_cut_stream_leaves_other_streams_alone(gw, mu):
    m = mu(sse([b"data: {}\n\n"] * 30 + [b"data: [DONE]\n\n"], gap=0.02))
    g = gw(m)
    long = g.conn().request(body=chat("long", stream=True))
    m.wait_reqs(1)
    m.then(cut([b"data: {}\n\n"], "rst"))
    g.post(chat("cut", stream=True))
    assert long.read_reply().end == "complete"
