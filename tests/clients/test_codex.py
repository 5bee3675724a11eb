# SPDX-License-Identifier: Apache-2.0
"""Codex CLI."""
from programs import Codex
from suite import CutStreams, Resumed, SubAgents, Suite, steps_of


class TestCodex(Suite, CutStreams, Resumed, SubAgents):
    client, schema, waits = Codex(), "session-id", True

    def test_cut_stream__what_was_whole_is_sent_along__is_a_step_more(self, bench):
        plan = steps_of(self.client)
        b = bench({"task-alpha": plan})
        b.model.fail("task-alpha", 1, "cut late")
        b.run(self.client, "please do task-alpha")
        row = self.check_task(b, "task-alpha")
        before, again = [s.rec.json()["input"] for s in b.model.of("task-alpha") if s.step == 1]
        assert again[:-1] == before and again[-1]["role"] == "assistant"
        assert row["steps"] == len(plan) + 1
