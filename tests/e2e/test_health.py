# SPDX-License-Identifier: Apache-2.0
"""Engines that come, die, hang and go; and the gateway's own start and stop (class health)."""
import signal
import socket
import time

import pytest

from kit import (T, auto, chat, chat_events, check_busy, cut, hang, is_error_event, messages,
                 messages_events, parse_sse, poll, responses, responses_events, rst_now, sse, stays)
from kit import names


def add_engine(g, url, name=None):
    import json
    body = {"url": url, **({"name": name} if name else {})}
    return g.admin_call("POST", names.ENGINES, json.dumps(body), {"Content-Type": "application/json"})


def remove_engine(g, name):
    return g.admin_call("DELETE", f"{names.ENGINES}/{name}")


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_engine_dies_before_a_byte__run_elsewhere(gw, mu, stream):
    engines = [mu(), mu()]
    g = gw(*engines)
    for i in range(6):
        for m in engines:
            m.next_scripts.clear()
        first = engines[i % 2]
        first.then(rst_now())
        reply = g.post(chat(f"p{i}", stream=stream))
        assert reply.status == 200 and reply.end == "complete"


def test_engine_dies_after_the_head__run_elsewhere(gw, mu):
    """The head was relayed at once; no byte of the body was: another engine's events follow."""
    events = chat_events()
    engines = [mu(sse(events)), mu(sse(events))]
    g = gw(*engines)
    runs = 0
    for i in range(8):  # new sessions spread over both, so some meet the engine that dies
        for m in engines:
            m.next_scripts.clear()
        engines[0].then(cut([], "rst", gap=0.03))
        reply = g.post(chat(f"p{i}", stream=True))
        assert reply.body == b"".join(events) and reply.end == "complete"
        runs += 1 + (not engines[0].next_scripts)
    assert sum(m.executions for m in engines) == runs > 8


@pytest.mark.parametrize("target, build, events", [
    ("/v1/chat/completions", chat, chat_events()), ("/v1/messages", messages, messages_events()),
    ("/v1/responses", responses, responses_events())])
def test_engine_dies_mid_stream__error_event(gw, mu, target, build, events):
    engines = [mu(cut(events[:2], "rst")), mu(cut(events[:2], "rst"))]
    reply = gw(*engines).post(build(stream=True), target)
    assert reply.body.startswith(b"".join(events[:2])) and reply.end == "complete"
    assert is_error_event(parse_sse(reply.body)[-1]) and b"[DONE]" not in reply.body
    assert sum(m.executions for m in engines) == 1


def test_dead_engine_is_taken_out_and_comes_back(gw, mu):
    engines = [mu(), mu()]
    g = gw(*engines, sets={"health.interval_ms": 100, "health.open_ms": 100, "health.fail_count": 2})
    engines[0].close()
    poll(lambda: g.engine(engines[0])["state"] != "up", 5, "seen dead")
    for i in range(10):
        assert g.post(chat(f"p{i}")).status == 200
    engines[0].open()
    poll(lambda: g.engine(engines[0])["state"] == "up", 5, "seen alive")


def test_unhealthy_by_status__out_and_back(gw, mu):
    m, other = mu(), mu()
    g = gw(m, other, sets={"health.interval_ms": 100, "health.open_ms": 100, "health.fail_count": 2})
    m.health_status = 503
    poll(lambda: g.engine(m)["state"] != "up", 5, "seen ill")
    had = m.executions
    for i in range(10):
        assert g.post(chat(f"p{i}")).status == 200
    assert m.executions == had
    m.health_status = 200
    poll(lambda: g.engine(m)["state"] == "up", 5, "seen well")


def test_B124_engine_that_is_healthy_but_never_answers(gw, mu):
    m, other = mu(hang()), mu()
    g = gw(m, other, sets={"upstream.first_byte_timeout_ms": 200, "health.fail_count": 2, "health.open_ms": 60000,
                           "health.interval_ms": 60000})
    statuses = [g.post(chat(f"p{i}")).status for i in range(12)]
    assert set(statuses) <= {200, 504} and statuses[-3:] == [200] * 3
    assert g.engine(m)["state"] != "up"


def test_B120_remove_an_engine_that_serves_and_add_it_again(gw, mu):
    events = chat_events(["x"] * 30)
    m = mu(sse(events, gap=0.02))
    g = gw(m)
    conns = [g.conn().request(body=chat(f"s{i}", stream=True)) for i in range(10)]
    m.wait_reqs(10)
    old = g.engine(m)["name"]
    assert remove_engine(g, old)[0] in (200, 202, 204)
    assert add_engine(g, m.url, "again")[0] in (200, 201, 202)
    poll(lambda: [e for e in g.up() if e["name"] == "again"], 3, "there again")
    assert g.engine("again")["in_flight"] == 0
    for c in conns:
        reply = c.read_reply()
        assert reply.status == 200 and reply.end == "complete" and reply.body == b"".join(events)
    assert all(e["in_flight"] == 0 for e in g.engines())
    assert g.post(chat("after", stream=True)).status == 200


def test_engine_added_at_run_time_serves(gw, mu):
    g = gw()
    check_busy(g.post(chat()))
    m = mu()
    assert add_engine(g, m.url, "late")[0] in (200, 201, 202)
    poll(lambda: g.get("/ready").status == 200, 5, "ready")
    reply = g.post(chat())
    assert reply.status == 200 and reply.header("x-saga-engine") == "late"
    assert remove_engine(g, "late")[0] in (200, 202, 204)
    poll(lambda: not g.engines(), 3, "gone")
    assert g.post(chat()).status in (404, 503)


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "ftp://x", "http://", "http://127.0.0.1:99999", "nonsense",
                                 "http://user:pass@127.0.0.1:1", "http://a b"])
def test_bad_engine_urls_are_refused(gw, url):
    g = gw()
    assert add_engine(g, url)[0] == 400
    assert g.engines() == []


def test_remove_unknown_engine_is_404(gw):
    assert remove_engine(gw(), "nobody")[0] == 404


def test_B129_stream_finishes_after_sigterm(gw, mu):
    events = chat_events(["x"] * 60)
    m = mu(sse(events, gap=0.02))
    g = gw(m, sets={"drain_timeout_ms": 20000})
    c = g.conn().request(body=chat(stream=True))
    m.wait_reqs(1)
    g.signal(signal.SIGTERM)

    def refused():
        try:
            reply = g.post(chat("new"))
        except OSError:
            return True
        return reply is None or reply.status == 503
    poll(refused, 3, "new requests are refused")
    reply = c.read_reply()
    assert reply.end == "complete" and reply.body == b"".join(events)
    at = time.monotonic()
    g.expect_exit(0)
    assert time.monotonic() - at < T(2), "exits right after the last stream"


def test_B129_readiness_goes_away_while_draining(gw, mu):
    m = mu(hang())
    g = gw(m, sets={"drain_timeout_ms": 20000})
    c = g.conn().request(body=chat())
    idle = g.conn()
    assert idle.request("GET", "/ready").read_reply().status == 200
    m.wait_reqs(1)
    g.signal()
    poll(lambda: g.admin_call("GET", "/ready")[0] != 200, 3, "not ready on the admin port")
    c.close()
    g.expect_exit(0)


def test_B129_drain_has_a_deadline(gw, mu):
    m = mu(hang())
    g = gw(m, sets={"drain_timeout_ms": 300})
    c = g.conn().request(body=chat())
    m.wait_reqs(1)
    at = time.monotonic()
    g.signal()
    g.expect_exit(0)
    assert 0.25 < time.monotonic() - at < T(3)
    c.read_to_end()
    m.wait_closed()


def test_B129_idle_kept_connections_do_not_hold_the_exit(gw, mu):
    g = gw(mu(), sets={"drain_timeout_ms": 60000})
    c = g.conn()
    assert c.request(body=chat()).read_reply().status == 200
    g.conn()
    g.signal()
    g.expect_exit(0, timeout=3)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_B131_second_signal_ends_at_once(gw, mu, second):
    m = mu(hang())
    g = gw(m, sets={"drain_timeout_ms": 600000})
    g.conn().request(body=chat())
    m.wait_reqs(1)
    g.signal()
    stays(lambda: g.proc.poll() is None, 0.2, "draining")
    g.signal(second)
    g.checked = True
    assert g.wait_exit(3) is not None
    g.check_output()


def test_B132_no_engine_at_all(gw):
    g = gw()
    assert g.get("/health").status == 200
    assert g.get("/ready").status == 503
    check_busy(g.post(chat()))
    reply = g.post(messages(), "/v1/messages")
    assert reply.status == 503 and reply.json()["type"] == "error" and reply.header("retry-after")
    models = g.get("/v1/models")
    assert models.status in (200, 503)


def test_B132_engine_starts_after_the_gateway(gw, mu):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    g = gw(f"http://127.0.0.1:{port}", wait=0, sets={"health.interval_ms": 100, "health.open_ms": 100})
    for i in range(3):
        assert g.post(chat(f"p{i}")).status == 503
    m = mu()
    m.close()
    m.port = port
    m.open()
    poll(lambda: g.get("/ready").status == 200, 5, "ready")
    assert g.post(chat()).status == 200


def test_sigpipe_and_resets_do_not_end_the_process(gw, mu):
    m = mu(sse(chat_events(["x"] * 200)))
    g = gw(m)
    for i in range(30):
        c = g.conn().request(body=chat(f"p{i}", stream=True))
        c.rst()
    g.wait_idle()
    assert g.post(chat("alive", stream=True)).status == 200


def test_models_is_the_union(gw, mu):
    g = gw(mu(models=("a", "b")), mu(models=("b", "c")))
    reply = g.get("/v1/models")
    got = reply.json()
    assert got["object"] == "list" and sorted(x["id"] for x in got["data"]) == ["a", "b", "c"]
    assert all(x["object"] == "model" for x in got["data"])


def test_models_of_a_dead_engine_vanish_or_answer_503(gw, mu):
    a, b = mu(models=("a",)), mu(models=("b",))
    g = gw(a, b, sets={"health.interval_ms": 100, "health.fail_count": 1, "health.open_ms": 60000})
    b.close()
    poll(lambda: g.engine(b)["state"] != "up", 5, "seen dead")
    assert g.post(chat(model="a")).status == 200
    assert g.post(chat(model="b")).status == 503


def test_slow_probe_does_not_block_requests(gw, mu):
    m = mu(auto())
    g = gw(m, sets={"health.interval_ms": 100, "health.timeout_ms": 5000})
    m.health_delay = 1.0
    at = time.monotonic()
    for i in range(10):
        assert g.post(chat(f"p{i}")).status == 200
    assert time.monotonic() - at < T(1)
    m.health_delay = 0
