# SPDX-License-Identifier: Apache-2.0
"""What the laboratory foresees against simulated engines in real time (docs/truth.md), and what it says without data."""
import json
import subprocess
import sys
import pathlib

import pytest

from kit import T, binary
from kit.proc import build_kind, sanitizer_env

TRUTH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "truth.py"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=T(240), check=False, env=sanitizer_env())


@pytest.mark.skipif(build_kind() != "release", reason="real time: other builds are too slow to keep it")
def test_the_laboratory_foresees_a_run_through_the_gateway(tmp_path):
    played = run(sys.executable, str(TRUTH), "simulated", "--saga", binary(), "--sessions", "10", "--max-steps", "5",
                 "--rate", "2", "--speed", "200", "--keep", str(tmp_path))
    assert "measured" in played.stdout, played.stderr
    real = json.loads((tmp_path / "simulated.json").read_text())
    assert real["steps_failed"] == 0 and len(real["rows"]) == real["steps_done"] > 30
    sim = run(binary(), "sim", "--arrivals-from", str(tmp_path / "simulated.json"), "--profile", "default", "--engines",
              "2", "--policies", "saga", "--json", "-")
    assert sim.returncode == 0, sim.stderr
    foreseen = json.loads(sim.stdout)["runs"][0]
    assert foreseen["steps"] == real["steps_done"] and foreseen["finished"] == real["sessions_done"]
    assert abs(foreseen["cached_share"] - real["cached_ratio"]) < 0.05
    # A busy machine makes the real run slower, never quicker than the model.
    assert 0.3 < foreseen["mean_tct_s"] / real["tct_s"]["mean"] < 1.1


def test_what_is_missing_is_said(tmp_path):
    done = run(sys.executable, str(TRUTH), "llama", "--saga", binary())
    assert done.returncode == 2 and "docs/truth.md" in done.stderr
    file = tmp_path / "run.json"
    file.write_text("{}")
    done = run(binary(), "sim", "--arrivals-from", str(file))
    assert done.returncode == 1 and "--rows" in done.stderr
    done = run(binary(), "sim", "--arrivals-from", str(file), "--load", "1,2")
    assert done.returncode == 2 and "--arrivals-from" in done.stderr
