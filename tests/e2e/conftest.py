# SPDX-License-Identifier: Apache-2.0
"""The fixtures of kit/fixtures.py for each test."""
from kit.fixtures import gw, mu, rng  # noqa: F401


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes long or many descriptors; run by the label slow")
