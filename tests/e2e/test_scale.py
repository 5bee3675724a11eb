# SPDX-License-Identifier: Apache-2.0
"""Many at once: silent streams, clients that vanish, long runs. The slow ones need about 10,000 descriptors
in each process and run under the label slow."""
import random
import resource
import threading
import time

import pytest

from kit import (T, build_kind, chat, chat_events, hang, json_reply, poll, request_bytes, sse, stream_head)
from kit.raw import Conn


def want_descriptors(n):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < n:
        assert hard >= n, f"needs {n} descriptors, the hard limit is {hard}"
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * n), hard))


def silent_streams(gw, mu, n):
    want_descriptors(3 * n)
    first = stream_head() + b"9\r\ndata: 1\n\n\r\n"
    m = mu(hang(first))
    g = gw(m, sets={"routing.engine_slots": 100000})
    before = g.rss_kb()
    for i in range(n):
        g.conn(timeout=60).send(request_bytes(body=chat(f"s{i}", stream=True)))
    poll(lambda: m.running == n and g.in_flight() == n, 60, "all open")
    for c in g.conns:
        assert c.read_head().status == 200
    grown = (g.rss_kb() - before) / n
    cpu, at = g.cpu_s(), time.monotonic()
    time.sleep(1.0)
    used = (g.cpu_s() - cpu) / (time.monotonic() - at)
    assert used < 0.1 * T(1), f"{used:.3f} cores while all are silent"
    if build_kind() == "release":
        assert grown < 40, f"{grown:.1f} KiB per stream"
    print(f"{n} silent streams: {grown:.1f} KiB each, {used:.4f} cores")
    for c in g.conns:
        c.close()
    g.wait_idle(30)
    poll(lambda: m.running == 0, 30, "all closed at the engine")


def vanishing_clients(gw, mu, n, seed):
    """Clients that leave at random points of random requests."""
    streams = sse(chat_events(["word"] * 30), gap=0.003)

    async def script(x):
        if x.rec.json().get("stream"):
            return await streams(x)
        return await json_reply({"ok": True}, delay=0.05)(x)
    engines = [mu(script) for _ in range(2)]
    g = gw(*engines, sets={"routing.engine_slots": 32})

    def client(k):
        r = random.Random(seed * 1000 + k)
        for i in range(n // 20):
            data = request_bytes(body=chat(f"{k} {i} " + "x" * r.randint(0, 20000), n=i % 3, stream=r.random() < 0.7),
                                 headers=[("x-session-id", f"s{r.randint(0, 50)}")])
            try:
                with Conn(g.addr) as c:
                    c.send(data[:r.choice((r.randint(0, len(data)), len(data), len(data)))])
                    if r.random() < 0.3:
                        time.sleep(r.random() * 0.05)
                    if r.random() < 0.4:
                        c.sock.settimeout(r.random() * 0.1)
                        try:
                            c.read_head()
                        except TimeoutError:
                            pass
                    if r.random() < 0.5:
                        c.rst()
            except OSError:
                pass
    threads = [threading.Thread(target=client, args=(k,)) for k in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    g.wait_idle(20)
    poll(lambda: all(m.running == 0 for m in engines), 10, "nothing left at the engines")
    assert all(e["in_flight"] == 0 and e["queued"] == 0 for e in g.engines())
    poll(lambda: g.status()["connections"] == 0, 10, "no client connection left")
    assert g.post(chat("alive")).status == 200


def test_silent_streams(gw, mu):
    silent_streams(gw, mu, 400)


@pytest.mark.slow
def test_silent_streams_4000(gw, mu):
    silent_streams(gw, mu, 4000)


def test_vanishing_clients(gw, mu, rng):
    vanishing_clients(gw, mu, 300, rng.randint(1, 1 << 20))


@pytest.mark.slow
def test_vanishing_clients_1000(gw, mu, rng):
    vanishing_clients(gw, mu, 1000, rng.randint(1, 1 << 20))


@pytest.mark.parametrize("n", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_long_prompts_do_not_pile_up(gw, mu, n):
    m = mu(json_reply({"ok": True}))
    g = gw(m)
    text = "tool output " * 9000  # 108 KB

    def run(count, tag):
        with g.conn(timeout=60) as c:
            for i in range(count):
                reply = c.request(body=chat(f"{tag} {i} {text}")).read_reply()
                assert reply.status == 200
                del m.reqs[:]
    run(60, "warm")
    before = g.rss_kb()
    run(n, "more")
    grown = g.rss_kb() - before
    print(f"{n} prompts of 108 KB: {grown} KB more")
    if build_kind() == "release":
        assert grown < 8 * 1024 + 2 * n  # each prompt is a session of its own, with a graph


def test_many_sessions_stay_bounded(gw, mu):
    m = mu(json_reply({"ok": True}))
    g = gw(m, sets={"sessions.max": 100})
    with g.conn() as c:
        for i in range(400):
            assert c.request(body=chat(f"{i}"), headers=[("x-session-id", f"s{i}")]).read_reply().status == 200
    assert g.status()["sessions"] <= 100


def test_several_loops_under_load(gw, mu):
    vanish = sse(chat_events(["w"] * 20), gap=0.002)
    engines = [mu(vanish) for _ in range(3)]
    g = gw(*engines, sets={"loops": 2, "routing.engine_slots": 8})
    bad = []

    def client(k):
        with g.conn() as c:
            for i in range(12):
                reply = c.request(body=chat(f"{k} {i}", stream=True), headers=[("x-session-id", f"s{k}")]).read_reply()
                if reply is None or reply.status != 200 or reply.end != "complete":
                    bad.append((k, i, reply and reply.status))
    threads = [threading.Thread(target=client, args=(k,)) for k in range(30)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad
