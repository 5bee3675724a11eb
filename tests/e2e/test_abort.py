# SPDX-License-Identifier: Apache-2.0
"""Clients that leave: the engine learns it at once, in every phase (class abort)."""
import threading
import time

import pytest

from kit import (Blackhole, T, build_kind, chat, chat_events, cut, hang, json_reply, poll, sse, stays,
                 stream_head)
from kit import names

SEEN_IN = 0.25  # s; 50 ms is the promise, the rest is for a busy machine


def leave_and_time(m, c, i=0, how="close"):
    at = time.monotonic()
    getattr(c, how)()
    took = m.wait_closed(i) - at
    assert took < T(SEEN_IN), f"engine learned after {took * 1000:.0f} ms"


@pytest.mark.parametrize("how", ["close", "rst"])
def test_B022_stream_client_leaves_during_prefill(gw, mu, how):
    engines = [mu(hang()), mu(hang())]
    g = gw(*engines)
    c = g.conn().request(body=chat(stream=True))
    m = poll(lambda: next((x for x in engines if x.reqs), None), 3, "request at an engine")
    leave_and_time(m, c, how=how)
    g.wait_idle(1)
    stays(lambda: sum(x.executions for x in engines) == 1, 0.1, "not sent again")
    poll(lambda: g.outcomes() == {names.CLIENT_CANCEL: 1}, 3, "counted")


def test_B022_after_head_before_first_event(gw, mu):
    m = mu(hang(stream_head()))
    g = gw(m)
    c, reply = g.open_stream(chat(stream=True))
    assert reply.status == 200
    leave_and_time(m, c)
    g.wait_idle(1)


def test_B022_in_the_middle_of_a_stream(gw, mu):
    m = mu(sse(chat_events(["x"] * 3000), gap=0.01))
    g = gw(m)
    c, reply = g.open_stream(chat(stream=True))
    assert c.read_until(reply, b'"x"')
    leave_and_time(m, c)
    g.wait_idle(1)


@pytest.mark.parametrize("how", ["close", "rst"])
def test_B023_waiting_for_a_json_answer(gw, mu, how):
    m = mu(hang())
    g = gw(m)
    c = g.conn().request(body=chat())
    m.wait_reqs(1)
    leave_and_time(m, c, how=how)
    g.wait_idle(1)


def test_B023_in_our_queue(gw, mu):
    go = threading.Event()

    async def script(x):
        await x.wait_for(go)
        await json_reply({"ok": True})(x)
    m = mu(script)
    g = gw(m, sets={"routing.engine_slots": 1})
    first = g.conn().request(body=chat("first"))
    m.wait_reqs(1)
    second = g.conn().request(body=chat("second"))
    poll(lambda: g.engine(m)["queued"] == 1, 3, "second is queued")
    second.close()
    poll(lambda: g.engine(m)["queued"] == 0 and g.in_flight() == 1, 1, "queue entry gone")
    go.set()
    assert first.read_reply().status == 200
    g.wait_idle()
    stays(lambda: m.executions == 1, 0.1, "second never sent")


def test_B023_while_connecting(gw, mu):
    m = mu(backlog=0)
    g = gw(m, sets={"upstream.connect_timeout_ms": 20000, "health.interval_ms": 600000})
    with Blackhole(m):
        c = g.conn().request(body=chat())
        poll(lambda: g.in_flight() == 1, 3, "connecting")
        stays(lambda: g.in_flight() == 1, 0.2, "still connecting")
        c.close()
        poll(lambda: g.in_flight() == 0, 1, "given up")
    assert m.executions == 0


def test_B023_while_sending_the_body(gw, mu):
    m = mu()
    g = gw(m)
    c = g.conn()
    c.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{\"model\"")
    time.sleep(0.02)
    c.close()
    poll(lambda: g.in_flight() == 0 and g.status()["connections"] == 0, 2, "forgotten")
    assert m.executions == 0


def test_B026_gauge_never_negative_and_ends_at_zero(gw, mu):
    m = mu(sse(chat_events(["x"] * 40)))
    other = mu(sse(chat_events(["x"] * 40)))
    g = gw(m, other)
    low = []
    done = threading.Event()

    def watch():
        while not done.is_set():
            low.append(min([g.in_flight()] + [e["in_flight"] for e in g.engines()]))
            time.sleep(0.002)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for i in range(30):
            if i % 3 == 0:  # dies before the first chunk: run elsewhere
                (m if i % 2 else other).then(cut([], "rst"))
            c, reply = g.open_stream(chat(f"p{i}", stream=True))
            if i % 2:
                c.read_until(reply, b"data:")
                c.rst()
            else:
                for _ in c.body_pieces(reply):
                    pass
                c.close()
        g.wait_idle()
    finally:
        done.set()
        watcher.join()
    assert min(low) >= 0
    assert sum(g.outcomes().values()) == 30
    assert all(e["in_flight"] == 0 for e in g.engines())


def flood(megabytes):
    """A stream of this size as fast as it is taken."""
    piece = b"data: {\"pad\":\"" + b"x" * 16000 + b"\"}\n\n"
    block = b"%x\r\n%s\r\n" % (len(piece), piece)

    async def script(x):
        await x.send(stream_head())
        for _ in range(megabytes * (1 << 20) // len(piece)):
            await x.send(block)
        await x.end()
    return script


def test_B028_client_that_never_reads(gw, mu):
    m = mu(flood(200))
    g = gw(m, sets={"limits.slow_client_ms": 600000})
    before = g.rss_kb()
    c = g.conn(rcvbuf=65536).request(body=chat(stream=True))
    rec = m.wait_reqs(1)[0]

    def paused():
        had = rec.sent_bytes
        time.sleep(0.1)
        return had > 0 and had == rec.sent_bytes
    poll(paused, 5, "engine's writes stop")
    assert rec.sent_bytes < 24 << 20  # what two kernels' socket buffers take
    if build_kind() == "release":
        assert g.rss_kb() - before < 2048
    c.close()
    g.wait_idle()


def test_B028_slow_client_deadline(gw, mu):
    m = mu(flood(64))
    g = gw(m, sets={"limits.slow_client_ms": 400})
    g.conn(rcvbuf=65536).request(body=chat(stream=True))
    m.wait_closed(timeout=5)
    g.wait_idle(1)


def test_B028_many_such_clients_do_not_disturb(gw, mu):
    m, quick = mu(flood(64)), mu(models=("quick",))
    g = gw(m, quick, sets={"limits.slow_client_ms": 600000})
    before = g.rss_kb()
    for i in range(30):
        g.conn(rcvbuf=65536).request(body=chat(f"slow {i}", stream=True))
    m.wait_reqs(30)
    for i in range(20):
        at = time.monotonic()
        assert g.post(chat(f"quick {i}", model="quick")).status == 200
        assert time.monotonic() - at < T(1.0)
    if build_kind() == "release":
        assert g.rss_kb() - before < 30 * 1024


def test_B028_paused_stream_goes_on_when_the_client_reads(gw, mu):
    m = mu(flood(24))
    g = gw(m)
    c, reply = g.open_stream(chat(stream=True), rcvbuf=65536)
    time.sleep(0.3)
    size = sum(len(p) for p in drain(c, reply))
    assert reply.end == "complete" and size > 23 << 20


def drain(c, reply):
    for piece in c.body_pieces(reply):
        reply.body = b""
        yield piece


def test_B029_half_close_is_gone(gw, mu):
    """Design 11 decides: a client that shuts down its writing side has left."""
    m = mu(hang())
    g = gw(m)
    c = g.conn().request(body=chat())
    m.wait_reqs(1)
    leave_and_time(m, c, how="half_close")
    g.wait_idle(1)


def test_B030_next_turn_right_after_an_abort(gw, mu):
    engines = [mu(sse(chat_events(["x"] * 1000), gap=0.01)) for _ in range(3)]
    g = gw(*engines)
    for i in range(8):
        sid = [("x-session-id", f"s{i}")]
        counts = [m.executions for m in engines]
        c, reply = g.open_stream(chat(f"s{i}", stream=True), headers=sid)
        assert c.read_until(reply, b'"x"')
        home = next(m for m, n in zip(engines, counts) if m.executions > n)
        first = home.reqs[-1]
        home.then(json_reply({"ok": True}))
        c.close()
        time.sleep(0.002)
        again = g.post(chat(f"s{i}", n=1), headers=sid)
        assert again.status == 200 and home.reqs[-1] is not first, "moved to another engine"
        closed = poll(lambda: first.closed_at, 2, "first turn closed")
        assert closed <= home.reqs[-1].at + 0.05


def test_session_stays_with_its_engine_after_a_cancelled_turn(gw, mu):
    engines = [mu(hang()) for _ in range(2)]
    g = gw(*engines)
    for n in range(4):
        c = g.conn().request(body=chat("same", n=n, stream=True), headers=[("x-session-id", "a")])
        poll(lambda: sum(m.executions for m in engines) == n + 1, 3, "sent")
        c.close()
        g.wait_idle()
    assert sorted(m.executions for m in engines) == [0, 4]
