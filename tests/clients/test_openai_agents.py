# SPDX-License-Identifier: Apache-2.0
"""The OpenAI Agents SDK, both of its APIs: no id. Its agents as tools cannot be told from tasks of their own."""
import pytest

from programs import OpenAIAgents
from suite import NoId, SubAgents, Suite, steps_of


class Both(Suite, NoId, SubAgents):
    def parent_of(self, root):
        return ""


class TestResponses(Both):
    client = OpenAIAgents("responses")


class TestChat(Both):
    client = OpenAIAgents("chat")


@pytest.mark.parametrize("api", ["responses", "chat"])
def test_without_streams__task__is_one_session(bench, api):
    client = OpenAIAgents(api, streamed=False)
    b = bench({"task-alpha": steps_of(client)})
    b.run(client, "please do task-alpha")
    assert [r["match"] for r in b.receipts_of("task-alpha")] == ["new", "chain", "chain"]
    assert [s["steps"] for s in b.sessions().values()] == [3]
