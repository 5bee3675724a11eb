# SPDX-License-Identifier: Apache-2.0
"""Where steps go: sessions stay, load is spread, the dead are avoided (class route)."""
import collections
import json
import threading

from kit import auto, chat, dumps, hang, json_reply, poll, responses, rst_now, turn
from kit import names


def spread(engines):
    return [m.executions for m in engines]


def homes(engines, key):
    """{session: set of engine indexes} by a field of the body."""
    out = collections.defaultdict(set)
    for i, m in enumerate(engines):
        for r in m.reqs:
            out[r.json()[key]].add(i)
    return out


def at_once(jobs):
    """Runs the callables in threads that start together."""
    gate = threading.Barrier(len(jobs))

    def run(job):
        gate.wait()
        job()
    threads = [threading.Thread(target=run, args=(j,)) for j in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def test_sessions_by_header_stay(gw, mu):
    engines = [mu() for _ in range(4)]
    g = gw(*engines)
    with g.conn() as c:
        for n in range(6):
            for s in range(40):
                body = chat(f"unrelated {s} {n}", tag=s)
                assert c.request(body=body, headers=[("x-session-id", f"s{s}")]).read_reply().status == 200
    assert all(len(v) == 1 for v in homes(engines, "tag").values())
    assert min(spread(engines)) > 0


def test_sessions_by_prompt_chain_stay(gw, mu):
    engines = [mu() for _ in range(4)]
    g = gw(*engines)
    with g.conn() as c:
        for n in range(8):
            for s in range(50):
                assert c.request(body=chat(f"task {s}", n=n, tag=s)).read_reply().status == 200
    assert all(len(v) == 1 for v in homes(engines, "tag").values())
    assert max(spread(engines)) <= 1.6 * sum(spread(engines)) / 4


def test_sessions_by_prompt_chain_stay_with_a_common_prefix(gw, mu):
    engines = [mu() for _ in range(4)]
    g = gw(*engines)
    system = [{"role": "system", "content": "common instructions " * 3000}]
    with g.conn() as c:
        for n in range(6):
            for s in range(60):
                body = dumps({"model": "m", "tag": s, "messages": system + turn(f"task {s}", n)})
                assert c.request(body=body).read_reply().status == 200
    moved = [s for s, v in homes(engines, "tag").items() if len(v) > 1]
    assert len(moved) <= 1
    assert max(spread(engines)) <= 1.6 * sum(spread(engines)) / 4


def test_prompt_chain_ignores_cache_control_and_spacing(gw, mu):
    engines = [mu() for _ in range(4)]
    g = gw(*engines)
    for s in range(20):
        mark = {"cache_control": {"type": "ephemeral"}}
        first = [{"role": "user", "content": [{"type": "text", "text": f"task {s}", **mark}]}]
        later = [{"content": f"task {s}", "role": "user"}, {"role": "assistant", "content": "a"},
                 {"role": "user", "content": [{"text": "b", "type": "text", **mark}]}]
        for messages in (first, later):
            body = json.dumps({"model": "m", "max_tokens": 5, "tag": s, "messages": messages}, indent=2).encode()
            assert g.post(body, "/v1/messages").status == 200
    assert all(len(v) == 1 for v in homes(engines, "tag").values())


def test_responses_input_is_a_chain_too(gw, mu):
    engines = [mu() for _ in range(4)]
    g = gw(*engines)
    for n in range(4):
        for s in range(20):
            items = [{"role": m["role"], "content": m["content"]} for m in turn(f"r{s}", n)]
            assert g.post(dumps({"model": "m", "input": items, "tag": s}), "/v1/responses").status == 200
    assert all(len(v) == 1 for v in homes(engines, "tag").values())
    assert g.post(responses("text input"), "/v1/responses").status == 200


def test_session_header_of_the_answer(gw, mu):
    g = gw(mu())
    one = g.post(chat("x"), headers=[("x-session-id", "mine")]).header("x-saga-session")
    assert one and one == g.post(chat("y"), headers=[("x-session-id", "mine")]).header("x-saga-session")
    assert g.post(chat("z")).header("x-saga-session") != one


def test_receipt_on_request_and_public_mode(gw, mu):
    g = gw(mu())
    reply = g.post(chat(), headers=[("x-saga-receipt", "1")])
    assert 0 < len(reply.header("x-saga-receipt")) <= 2048 and reply.header("x-saga-engine")
    assert g.post(chat()).header("x-saga-receipt") is None
    public = gw(mu(), sets={"public_mode": True})
    reply = public.post(chat(), headers=[("x-saga-receipt", "1")])
    assert reply.header("x-saga-receipt") is None and reply.header("x-saga-engine") is None


def test_B080_load_is_counted_from_the_decision(gw, mu):
    engines = [mu(hang()) for _ in range(4)]
    g = gw(*engines)
    text = "word " * 30_000
    conns = []
    for i in range(40):
        conns.append(g.conn().request(body=chat(f"{i} {text}", stream=True, max_tokens=1)))
    poll(lambda: sum(spread(engines)) == 40, 10, "all sent")
    assert all(7 <= n <= 13 for n in spread(engines)), spread(engines)


def test_B081_burst_does_not_herd(gw, mu):
    engines = [mu(auto(delay=0.3)) for _ in range(8)]
    g = gw(*engines)
    jobs = [lambda i=i: g.post(chat(f"prompt {i:03d}")) for i in range(160)]
    at_once(jobs)
    assert sum(spread(engines)) == 160
    assert max(spread(engines)) <= 1.5 * 20, spread(engines)


def test_B084_only_sessions_of_the_removed_engine_move(gw, mu):
    engines = [mu() for _ in range(5)]
    g = gw(*engines)

    def round_of(n):
        where = {}
        with g.conn() as c:
            for s in range(150):
                r = c.request(body=chat(f"{s} {n}"), headers=[("x-session-id", f"s{s}")]).read_reply()
                assert r.status == 200
                where[s] = r.header("x-saga-engine")
        return where
    before = round_of(0)
    gone = g.engine(engines[2])["name"]
    assert g.admin_call("DELETE", f"{names.ENGINES}/{gone}")[0] in (200, 202, 204)
    after = round_of(1)
    moved = {s for s in before if before[s] != after[s]}
    assert moved == {s for s in before if before[s] == gone}
    assert 10 <= len(moved) <= 60
    assert round_of(2) == after


def test_B086_no_key_is_not_one_key(gw, mu):
    engines = [mu() for _ in range(4)]
    g = gw(*engines)
    for headers in ([], [("x-session-id", "")], [("x-session-id", "   ")]):
        had = spread(engines)
        with g.conn() as c:
            for i in range(100):
                assert c.request(body=chat(f"{headers} {i}"), headers=headers).read_reply().status in (200, 400)
        got = [b - a for a, b in zip(had, spread(engines))]
        assert sum(got) == 0 or max(got) <= 45, got


def test_B088_retry_moves_the_session_for_good(gw, mu):
    engines = [mu() for _ in range(3)]
    g = gw(*engines, sets={"health.fail_count": 1000})
    for s in range(6):
        sid = [("x-session-id", f"s{s}")]
        assert g.post(chat(f"{s} 0"), headers=sid).status == 200
        home = next(m for m in engines if m.reqs and m.reqs[-1].json()["messages"][0]["content"].endswith(f"{s} 0"))
        home.then(rst_now())
        assert g.post(chat(f"{s} 1"), headers=sid).status == 200
        later = {g.post(chat(f"{s} {n}"), headers=sid).header("x-saga-engine") for n in (2, 3, 4)}
        assert len(later) == 1, later


def test_busy_home_spills_beyond_the_margin(gw, mu):
    go = threading.Event()

    async def script(x):
        await x.wait_for(go)
        await json_reply({"ok": True})(x)
    engines = [mu(script) for _ in range(2)]
    g = gw(*engines, sets={"routing.engine_slots": 1, "routing.margin": 2})
    conns = [g.conn().request(body=chat(f"{i}"), headers=[("x-session-id", "one")]) for i in range(6)]
    poll(lambda: all(m.executions for m in engines), 5, "the other engine helps")
    go.set()
    assert all(c.read_reply().status == 200 for c in conns)


def test_engines_of_other_models_are_never_used(gw, mu):
    a, b = mu(models=("a",)), mu(models=("b",))
    g = gw(a, b)
    for i in range(20):
        assert g.post(chat(f"p{i}", model="a"), headers=[("x-session-id", "s")]).status == 200
        assert g.post(chat(f"p{i}", model="b"), headers=[("x-session-id", "s")]).status == 200
    assert spread([a, b]) == [20, 20]
    assert {r.json()["model"] for r in a.reqs} == {"a"}
