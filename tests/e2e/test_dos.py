# SPDX-License-Identifier: Apache-2.0
"""Attempts to make the gateway hold or burn too much (class dos)."""
import gzip
import os
import pathlib
import time
import zlib

import pytest

from kit import (PeerGone, T, build_kind, chat, check_error, hang, json_reply, poll, raw_reply, sse, stream_head)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "zstd", "br", "deflate", "gzip, gzip", "made-up"])
def test_B176_encoded_requests_are_415(gw, mu, coding):
    m = mu()
    g = gw(m)
    bomb = gzip.compress(b"0" * (8 << 20)) if "gzip" in coding else zlib.compress(b"0" * (8 << 20))
    before = g.rss_kb()
    for chunked in (None, [1000]):
        check_error(g.post(bomb, headers=[("Content-Encoding", coding)], chunked=chunked), 415)
    assert m.executions == 0
    if build_kind() == "release":
        assert g.rss_kb() - before < 2048


def endless(head, piece):
    async def script(x):
        await x.send(head)
        for _ in range((64 << 20) // len(piece)):
            await x.send(piece)
            if x.rec.sent_bytes % 50 == 0:
                await x.pause(0)
        raise PeerGone
    return script


@pytest.mark.parametrize("script", [
    endless(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a" * 4096), endless(b"HTTP/1.1 200 OK\r\n", b"X-Many: 1\r\n" * 100),
    endless(b"HTTP/1.1 200 ", b"r" * 4096), endless(b"", b"garbage " * 100),
    endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 100)],
    ids=["one-header", "many-headers", "reason", "no-status", "interim"])
def test_B179_endless_response_head(gw, mu, script):
    m = mu(script)
    g = gw(m, sets={"health.fail_count": 1000})
    before = g.rss_kb()
    check_error(g.post(chat()), 502)
    m.wait_closed()
    assert m.reqs[0].sent_bytes < 16 << 20
    if build_kind() == "release":
        assert g.rss_kb() - before < 2048
    assert g.engine(m)["state"] == "up"


@pytest.mark.parametrize("data", [
    b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"\x16\x03\x01\x02\x00\x01\x00",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX\x00Y: 1\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nBad Name: 1\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"])
def test_B179_malformed_answers_are_502(gw, mu, data):
    m = mu(raw_reply(data, "fin"))
    m.probe_close = True
    g = gw(m)
    check_error(g.post(chat()), 502)


def test_B179_broken_chunks_are_visible(gw, mu):
    m = mu(raw_reply(stream_head() + b"9\r\ndata: 1\n\n\r\nzz\r\n", "fin"))
    reply = gw(m).post(chat(stream=True))
    assert reply.end != "complete" or b"error" in reply.body
    assert b"[DONE]" not in reply.body


def test_interim_answers_are_not_the_answer(gw, mu):
    m = mu(raw_reply(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                     b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
    reply = gw(m).post(chat())
    assert reply.status == 200 and reply.body == b"{}"


def test_bytes_after_an_answer_do_not_reach_the_next_client(gw, mu):
    m = mu(raw_reply(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
                     b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\"poison\""))
    g = gw(m)
    for i in range(6):
        reply = g.post(chat(f"p{i}"))
        assert reply.status == 200 and reply.body == b"{}"


def test_B181_threads_stay_bounded(gw, mu):
    g = gw(mu())
    conns = [g.conn() for _ in range(1000)]
    poll(lambda: g.status()["connections"] >= 1000, 5, "all accepted")
    assert len(os.listdir(f"/proc/{g.pid}/task")) < 20
    assert conns[500].request(body=chat()).read_reply().status == 200


def test_B181_connection_limit_waits_and_recovers(gw, mu):
    g = gw(mu(), sets={"limits.connections": 50})
    held = [g.conn() for _ in range(50)]
    poll(lambda: g.status()["connections"] == 50, 3, "limit reached")
    waiting = g.conn().request(body=chat())
    assert held[0].request(body=chat()).read_reply().status == 200
    for c in held[1:10]:
        c.close()
    assert waiting.read_reply().status == 200


def test_B182_out_of_descriptors(gw, mu):
    m = mu(sse([b"data: {}\n\n"] * 120 + [b"data: [DONE]\n\n"], gap=0.02))
    g = gw(m, nofile=256)
    stream = g.conn().request(body=chat("running", stream=True))
    m.wait_reqs(1)
    held = [g.conn(timeout=5) for _ in range(400)]
    time.sleep(0.2)  # let it settle; what follows is measured over time
    cpu, at = g.cpu_s(), time.monotonic()
    time.sleep(0.8)
    assert (g.cpu_s() - cpu) / (time.monotonic() - at) < 0.5, "spins while it cannot accept"
    assert stream.read_reply().end == "complete"
    for c in held:
        c.close()
    m.script = json_reply({"ok": True})
    assert g.post(chat("after")).status == 200
    fds = len(list(pathlib.Path(f"/proc/{g.pid}/fd").iterdir()))
    assert fds < 256


def test_B182_soft_limit_is_raised(gw, mu):
    g = gw(mu())
    line = next(x for x in pathlib.Path(f"/proc/{g.pid}/limits").read_text().splitlines() if "open files" in x)
    soft, hard = line.split()[3:5]
    assert soft == hard


def test_many_silent_connections_cost_nothing(gw, mu):
    m = mu(hang())
    g = gw(m, sets={"routing.engine_slots": 1000})
    for i in range(200):
        g.conn().request(body=chat(f"s{i}", stream=True))
    m.wait_reqs(200, 10)
    cpu = g.cpu_s()
    time.sleep(0.5)
    assert g.cpu_s() - cpu < T(0.1)
