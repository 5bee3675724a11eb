# SPDX-License-Identifier: Apache-2.0
"""Fixtures: `mu` makes mock engines, `gw` starts gateways before them; both clean up and check."""
import itertools
import random

import pytest

from .mu import MockUpstream
from .proc import Saga


@pytest.fixture
def mu():
    """mu(script, models=...) starts a mock engine."""
    made = []

    def make(script=None, **how):
        made.append(MockUpstream(script, **how))
        return made[-1]
    yield make
    errors = [r.error for m in made for r in m.reqs if r.error]
    for m in made:
        m.close()
    assert not errors, f"a mock's script failed: {errors}"


@pytest.fixture
def gw(tmp_path, mu):
    """gw(mock, ..., sets={...}) starts `saga serve` in front of these engines (mocks or URLs)."""
    made, count = [], itertools.count()

    def make(*engines, **how):
        folder = tmp_path / f"gw{next(count)}"
        folder.mkdir()
        made.append(Saga(folder, engines, **how))
        return made[-1]
    yield make
    failures = []
    for gateway in made:
        try:
            gateway.finish()
        except Exception as e:
            failures.append(e)
            gateway.kill()
    if failures:
        raise failures[0]


@pytest.fixture
def rng(request):
    """Random numbers whose seed is shown when the test fails."""
    seed = random.SystemRandom().randrange(1 << 32)
    request.node.add_report_section("setup", "seed", f"seed {seed}")
    print(f"seed {seed}")
    return random.Random(seed)
