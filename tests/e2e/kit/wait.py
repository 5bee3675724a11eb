# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition, with times that fit the build under test."""
import os
import time

SCALE_OF_BUILD = {"asan": 3.0, "tsan": 6.0, "debug": 1.5}


def scale():
    """How many times slower than the release build things may be; SAGA_TIME_SCALE overrides."""
    if "SAGA_TIME_SCALE" in os.environ:
        return float(os.environ["SAGA_TIME_SCALE"])
    path = os.environ.get("SAGA_BIN", "")
    return next((s for kind, s in SCALE_OF_BUILD.items() if kind in path), 1.0)


def T(seconds):
    """An upper bound of this many seconds on a quiet machine, stretched for slow builds."""
    return seconds * scale()


def poll(condition, timeout=5.0, what="condition"):
    """The first true value of condition(); fails with `what` when there is none in time."""
    end = time.monotonic() + T(timeout)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {T(timeout):.1f} s, last value {value!r}")
        time.sleep(0.004)


def stays(condition, seconds, what="condition"):
    """condition() holds during all of this time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), f"{what}: did not stay so for {seconds} s"
        time.sleep(0.01)
