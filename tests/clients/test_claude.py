# SPDX-License-Identifier: Apache-2.0
"""Claude Code."""
from programs import ClaudeCode
from suite import CutStreams, Resumed, SubAgents, Suite, echo, steps_of


class TestClaudeCode(Suite, CutStreams, Resumed, SubAgents):
    client, schema = ClaudeCode(), "x-claude-code-session-id"

    def test_sub_agent_of_a_sub_agent__is_its_child(self, bench):
        client = self.client
        b = bench({"task-alpha": steps_of(client, [client.spawn("please do part-beta")]),
                   "part-beta": [[client.spawn("please do part-gamma")], "Beta is done."],
                   "part-gamma": [[echo(client, "gamma")], "Gamma is done."]})
        b.run(client, "please do task-alpha")
        child = self.one_session(b, "part-beta")
        self.check_task(b, "part-gamma", ("gamma",))
        assert {r["parent"] for r in b.receipts_of("part-beta")} == {self.one_session(b, "task-alpha")}
        assert {r["parent"] for r in b.receipts_of("part-gamma")} == {child}
        assert len(b.sessions()) == 3
