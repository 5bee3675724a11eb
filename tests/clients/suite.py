# SPDX-License-Identifier: Apache-2.0
"""What must hold for each client: one task is one session, its steps are counted once, its tools' results arrive.

A test class of a client inherits what applies to it and sets `client`, `schema` ("": it sends no id) and
`auxiliary`, the requests beside the steps of a task."""
DONE = "All of it is done."


def echo(client, word):
    """A call whose result holds what stands nowhere in the call."""
    return client.shell(f"echo r$((40 + 2))-{word}")


def steps_of(client, *more, words=("one", "two", "three")):
    """A plan: one call, then two in parallel, then `more`, then the end."""
    first, second, third = (echo(client, w) for w in words)
    finish = getattr(client, "finish", None)
    return [[first], [second, third], *more, [finish] if finish else DONE]


class Suite:
    client, schema, auxiliary = None, "", 0

    def one_session(self, bench, task):
        """The session's name, after checking that all requests of the task are in one, named as expected."""
        receipts = bench.receipts_of(task)
        names = {r["session"] for r in receipts}
        assert len(names) == 1, f"{task} is in {len(names)} sessions: {[(r['session'], r['match']) for r in receipts]}"
        assert {r["schema"] for r in receipts} == {self.schema}
        return names.pop()

    def check_task(self, bench, task, words=("one", "two", "three")):
        """One session, no step missing, every result arrived; returns the session's row."""
        seen, plan = bench.model.of(task), bench.model.plans[task]
        assert {s.step for s in seen} == set(range(len(plan)))
        last = "\n".join(max((s.results for s in seen), key=len))
        assert [w for w in words if f"r42-{w}" not in last] == []
        return bench.sessions()[self.one_session(bench, task)]

    def test_task__several_steps__is_one_session_with_its_schema(self, bench):
        b = bench({"task-alpha": steps_of(self.client)})
        output = b.run(self.client, "please do task-alpha")
        row = self.check_task(b, "task-alpha")
        assert hasattr(self.client, "finish") or DONE in output
        assert len(b.sessions()) == 1
        assert row["by"] == ("id" if self.schema else "chain")
        assert row["steps"] == len(b.model.plans["task-alpha"]) + self.auxiliary
        first, *rest = b.receipts(b.model.seen)
        assert first["match"] == ("new_id" if self.schema else "new")
        assert {r["match"] for r in rest} == {"id" if self.schema else "chain"}

    def test_auxiliary_requests__are_answered__in_the_session_or_none(self, bench):
        b = bench({"task-alpha": steps_of(self.client)})
        b.run(self.client, "please do task-alpha")
        receipts = b.auxiliary()
        assert len(receipts) == self.auxiliary
        assert {r["result"] for r in receipts} <= {"ok"}
        assert {r["session"] for r in receipts} <= {self.one_session(b, "task-alpha")}

    def test_failed_steps__repeated_by_client_or_gateway__are_counted_once(self, bench):
        plan = steps_of(self.client)
        b = bench({"task-alpha": plan})
        b.model.fail("task-alpha", 0, "500")
        b.model.fail("task-alpha", 1, "503")
        b.model.fail("task-alpha", 2, "rst")
        b.run(self.client, "please do task-alpha")
        row = self.check_task(b, "task-alpha")
        results = [(s.step, s.fault) for s in b.model.of("task-alpha")]
        assert results == [(0, "500"), (0, None), (1, "503"), (1, None), (2, "rst"), (2, None)]
        receipts = b.receipts_of("task-alpha")
        assert len(b.sessions()) == 1
        assert [r["result"] for r in receipts] == ["engine_error", "ok", "refused", "ok", "ok"]
        assert row["steps"] == len(plan) + self.auxiliary

    def test_two_tasks_at_once__are_two_sessions(self, bench):
        words = {"task-alpha": ("one", "two", "three"), "task-beta": ("four", "five", "six")}
        b = bench({t: steps_of(self.client, words=w) for t, w in words.items()})
        running = [b.start(self.client, f"please do {t}") for t in words]
        for one in running:
            one.wait()
        rows = [self.check_task(b, t, w) for t, w in words.items()]
        assert rows[0]["session"] != rows[1]["session"] and len(b.sessions()) == 2
        assert [r["steps"] for r in rows] == [3 + self.auxiliary] * 2

    def test_graph__a_step_repeated__has_attempts_tools_and_ends(self, bench):
        plan = steps_of(self.client)
        b = bench({"task-alpha": plan})
        b.model.fail("task-alpha", 1, "500")
        b.run(self.client, "please do task-alpha")
        name = self.one_session(b, "task-alpha")
        whole, = b.detail(name)
        steps = whole["graph"]["steps"][self.auxiliary:]
        assert [s["attempts"] for s in steps] == [1, 2, 1]
        calls = [[] if isinstance(step, str) else step for step in plan]
        assert [s["tools"] for s in steps] == [list(dict.fromkeys(c.name for c in step)) for step in calls]
        assert [s["end"] for s in steps] == ["tools" if step else "answer" for step in calls]
        assert [r["is_repeat"] for r in b.receipts_of("task-alpha")] == [False, False, True, False]


class CutStreams:
    """Clients that ask again when a stream breaks off."""

    def test_cut_stream__asked_again__is_counted_once(self, bench):
        plan = steps_of(self.client)
        b = bench({"task-alpha": plan})
        b.model.fail("task-alpha", 1, "cut")
        b.run(self.client, "please do task-alpha")
        row = self.check_task(b, "task-alpha")
        assert [r["result"] for r in b.receipts_of("task-alpha")] == ["ok", "cut", "ok", "ok"]
        assert row["steps"] == len(plan) + self.auxiliary


class Resumed:
    """Clients that can go on with an earlier task in a new process."""

    def test_resumed_task__stays_its_session(self, bench):
        b = bench({"task-alpha": steps_of(self.client)})
        b.run(self.client, "please do task-alpha", folder="one")
        b.run(self.client, "and then", folder="one", resumed=True)
        row = self.check_task(b, "task-alpha")
        assert len(b.model.of("task-alpha")) == 4
        assert len(b.sessions()) == 1 and row["steps"] == 4 + self.auxiliary


class SubAgents:
    """Clients that start agents of their own."""
    waits = False  # a tool of its own waits for an agent

    def plans(self):
        spawn = [[self.client.spawn("please do part-beta"), self.client.spawn("please do part-gamma")]]
        wait = [[self.client.wait_for(3)], [self.client.wait_for(4)]] if self.waits else []
        parts = {f"part-{name}": [[echo(self.client, name)], f"Part {name} is done."] for name in ("beta", "gamma")}
        return {"task-alpha": steps_of(self.client, *spawn, *wait), **parts}

    def test_sub_agents__two_in_parallel__are_children_of_the_task(self, bench):
        b = bench(self.plans())
        b.run(self.client, "please do task-alpha")
        root = self.check_task(b, "task-alpha")
        last = "\n".join(b.model.of("task-alpha")[-1].results)
        children = set()
        for part in ("beta", "gamma"):
            row = self.check_task(b, f"part-{part}", (part,))
            assert row["steps"] == 2
            assert f"Part {part} is done." in last
            assert {r["parent"] for r in b.receipts_of(f"part-{part}")} == {self.parent_of(root)}
            children.add(row["session"])
        assert len(children) == 2 and root["session"] not in children
        assert {r["parent"] for r in b.receipts_of("task-alpha")} == {""}
        assert len(b.sessions()) == 3
        family = [s["session"] for s in b.detail(root["session"])]
        assert sorted(family) == sorted([root["session"], *(children if self.parent_of(root) else [])])

    def parent_of(self, root):
        return root["session"]


class NoId:
    """Clients that send no id: what is hard for inference."""

    def test_same_prompt_at_once__is_two_sessions(self, bench):
        b = bench({"task-alpha": steps_of(self.client)})
        b.model.together("task-alpha", 0, 2)
        running = [b.start(self.client, "please do task-alpha") for _ in range(2)]
        for one in running:
            one.wait()
        firsts = [r["match"] for r in b.receipts([s for s in b.model.seen if s.step == 0])]
        assert firsts == ["new", "twin"]
        by_call = {}
        for seen in b.model.of("task-alpha"):
            if seen.step:
                by_call.setdefault(seen.first_call, []).append(seen)
        sessions = [{r["session"] for r in b.receipts(seen)} for seen in by_call.values()]
        assert [len(s) for s in by_call.values()] == [2, 2]
        assert [len(s) for s in sessions] == [1, 1] and sessions[0] != sessions[1]
        assert [s["steps"] for s in b.sessions().values()] == [3, 3]

    def test_same_prompt_later__is_a_session_of_its_own(self, bench):
        b = bench({"task-alpha": steps_of(self.client)})
        for _ in range(2):
            b.run(self.client, "please do task-alpha")
        receipts = b.receipts(b.model.seen)
        earlier, later = receipts[:3], receipts[3:]
        assert [r["match"] for r in later] == ["fork", "chain", "chain"]
        assert [len({r["session"] for r in part}) for part in (earlier, later)] == [1, 1]
        assert earlier[0]["session"] != later[0]["session"]
        assert [s["steps"] for s in b.sessions().values()] == [3, 3]
