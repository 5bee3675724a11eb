# SPDX-License-Identifier: Apache-2.0
"""mini-swe-agent: no id, one tool, no streams."""
from programs import MiniSwe
from suite import NoId, Suite


class TestMiniSwe(Suite, NoId):
    client = MiniSwe()
