# SPDX-License-Identifier: Apache-2.0
"""OpenCode. Its first request asks for a title of the session, under the session's id."""
from programs import OpenCode
from suite import CutStreams, Resumed, SubAgents, Suite


class TestOpenCode(Suite, CutStreams, Resumed, SubAgents):
    client, schema, auxiliary = OpenCode(), "x-session-id", 1
