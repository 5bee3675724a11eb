# SPDX-License-Identifier: Apache-2.0
"""Fixtures: `bench` puts a planned model behind a gateway and runs clients through it."""
import pytest

pytest.register_assert_rewrite("suite", "bench")

from kit.fixtures import gw, mu  # noqa: F401

from bench import Bench


@pytest.fixture
def bench(gw, mu, tmp_path):
    """bench(plans) is a gateway, its engine and what they saw; clients that still run at the end are killed."""
    made = []

    def make(plans):
        made.append(Bench(gw, mu, tmp_path / f"bench{len(made)}", plans))
        return made[-1]
    yield make
    for one in made:
        one.close()
