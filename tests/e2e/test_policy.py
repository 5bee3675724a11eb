# SPDX-License-Identifier: Apache-2.0
"""routing.policy: the placement policies to compare with, on the live gateway."""
import collections
import subprocess

import pytest

from kit import T, binary, chat
from kit.proc import sanitizer_env

POLICIES = ["saga", "prefix_affinity", "round_robin", "least_request", "power_of_two", "consistent_hash", "lpm", "las",
            "fcfs_program", "continuum", "continuum_2s", "autellix", "kvflow", "thunderagent", "vllm_program",
            "regime", "saga_paper", "sfq", "working_set", "prefix_tree"]

def engines_of(g, steps, session="task"):
    return [g.post(chat("work", n=k), headers=[("x-session-id", session)]).header("x-saga-engine")
            for k in range(steps)]


@pytest.mark.parametrize("policy", ["saga", "prefix_affinity", "consistent_hash"])
def test_a_task_stays_on_its_engine(gw, mu, policy):
    g = gw(*[mu() for _ in range(4)], sets={"routing.policy": policy})
    assert len(set(engines_of(g, 6))) == 1
    used = {engines_of(g, 1, f"task-{n}")[0] for n in range(40)}
    assert len(used) == 4  # and others are elsewhere


def test_round_robin_goes_round(gw, mu):
    g = gw(*[mu() for _ in range(4)], sets={"routing.policy": "round_robin"})
    counts = collections.Counter(engines_of(g, 8))
    assert sorted(counts.values()) == [2, 2, 2, 2]


@pytest.mark.parametrize("policy", POLICIES)
def test_each_policy_serves(gw, mu, policy):
    g = gw(mu(), mu(), sets={"routing.policy": policy})
    assert all(engines_of(g, 3, f"task-{n}") for n in range(4))


def test_an_unknown_policy_is_refused():
    done = subprocess.run([binary(), "serve", "--set", "routing.policy=magic"], capture_output=True, text=True,
                          timeout=T(15), check=False, env=sanitizer_env())
    assert done.returncode != 0 and "routing.policy" in done.stderr


def test_numbers_of_a_policy_are_checked():
    done = subprocess.run([binary(), "serve", "--set", "routing.params=magic=1"], capture_output=True, text=True,
                          timeout=T(15), check=False, env=sanitizer_env())
    assert done.returncode != 0
    assert 'policy saga has no parameter "magic"' in done.stderr
