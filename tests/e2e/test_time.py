# SPDX-License-Identifier: Apache-2.0
"""Timeouts (class time): the configured one holds, no other one cuts first."""
import time

from kit import (Blackhole, T, chat, chat_events, check_error, hang, is_error_event, json_reply, parse_sse,
                 poll, sse, stream_head)

ALL_OTHERS_SHORT = {
    "limits.header_timeout_ms": 200, "limits.body_idle_ms": 200, "limits.keepalive_idle_ms": 200,
    "limits.slow_client_ms": 200, "upstream.connect_timeout_ms": 200, "upstream.keepalive_idle_ms": 200,
    "upstream.idle_timeout_ms": 5000, "upstream.first_byte_timeout_ms": 20000, "health.timeout_ms": 200,
    "health.interval_ms": 200, "routing.queue_timeout_ms": 200, "stream_keepalive_ms": 200}


def test_B075_slow_first_byte_is_not_cut_by_another_timer(gw, mu):
    g = gw(mu(json_reply({"ok": True}, delay=1.0)), sets=ALL_OTHERS_SHORT)
    assert g.post(chat()).status == 200


def test_B075_slow_stream_is_not_cut_by_another_timer(gw, mu):
    events = chat_events()
    reply = gw(mu(sse(events, delay=0.6, gap=0.3)), sets=ALL_OTHERS_SHORT).post(chat(stream=True))
    assert reply.body == b"".join(events) and reply.end == "complete"


def test_B076_first_byte_timeout_is_504_and_not_retried(gw, mu):
    engines = [mu(hang()), mu(hang())]
    g = gw(*engines, sets={"upstream.first_byte_timeout_ms": 400})
    for n, stream in enumerate((False, True), 1):
        at = time.monotonic()
        check_error(g.post(chat(f"p{n}", stream=stream)), 504)
        assert 0.35 < time.monotonic() - at < T(1.5)
        assert sum(m.executions for m in engines) == n
    for m in engines:
        for i in range(m.executions):
            m.wait_closed(i)


def test_B076_stream_falls_silent(gw, mu):
    m = mu(hang(stream_head() + b"9\r\ndata: 1\n\n\r\n"))
    g = gw(m, sets={"upstream.idle_timeout_ms": 300})
    reply = g.post(chat(stream=True))
    assert reply.end == "complete" and is_error_event(parse_sse(reply.body)[-1])
    assert b"[DONE]" not in reply.body
    m.wait_closed()


def test_B076_json_body_falls_silent(gw, mu):
    m = mu(hang(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"))
    reply = gw(m, sets={"upstream.idle_timeout_ms": 300}).post(chat())
    assert reply is None or reply.end != "complete" or reply.status == 504
    m.wait_closed()


def test_B077_one_of_three_engines_is_a_black_hole(gw, mu):
    hole, others = mu(backlog=0), [mu(), mu()]
    g = gw(hole, *others, sets={"upstream.connect_timeout_ms": 200, "health.open_ms": 600000,
                                "health.interval_ms": 600000})
    with Blackhole(hole):
        for i in range(60):
            assert g.post(chat(f"p{i}")).status == 200
        poll(lambda: g.engine(hole)["state"] != "up", 3, "hole out of rotation")
        at = time.monotonic()
        for i in range(20):
            assert g.post(chat(f"q{i}")).status == 200
        assert time.monotonic() - at < T(2)
    assert sum(m.executions for m in others) == 80


def test_header_timeout_of_a_slow_client(gw, mu):
    g = gw(mu(), sets={"limits.header_timeout_ms": 200})
    c = g.conn()
    c.send(b"POST /v1/chat/completions HT")
    reply = c.read_reply()
    assert reply is None or reply.status == 408


def test_trickled_headers_do_not_extend_the_timeout(gw, mu):
    g = gw(mu(), sets={"limits.header_timeout_ms": 300})
    c = g.conn()
    at = time.monotonic()
    try:
        c.send(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        while time.monotonic() - at < T(8):
            c.send(b"x")
            time.sleep(0.02)
    except OSError:
        pass
    assert time.monotonic() - at < T(6)  # 0.3 s, then some seconds in which the answer can still be read


def test_idle_kept_connection_is_closed(gw, mu):
    g = gw(mu(), sets={"limits.keepalive_idle_ms": 200})
    c = g.conn()
    assert c.request(body=chat()).read_reply().status == 200
    at = time.monotonic()
    assert c.closed_by_peer()
    assert 0.1 < time.monotonic() - at < T(2)
