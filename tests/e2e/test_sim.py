# SPDX-License-Identifier: Apache-2.0
"""`saga sim` on the sample that is built in."""
import json
import pathlib
import subprocess
import sys

import pytest

from kit import T, binary
from kit.proc import sanitizer_env

SHORT = ["--hours", "0.1", "--load", "0.5"]
PLOT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "lab" / "plot.py"


def sim(*args):
    return subprocess.run([binary(), "sim", *args], capture_output=True, text=True, timeout=T(120), check=False,
                          env=sanitizer_env())


def runs(*args):
    done = sim(*SHORT, "--json", "-", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_same_options_same_result_with_any_number_of_jobs():
    args = ["--policies", "prefix_affinity,round_robin,saga,unlimited", "--seeds", "1,2"]
    one = runs(*args, "--jobs", "1")
    assert one == runs(*args, "--jobs", "4")
    assert [(r["policy"], r["seed"]) for r in one["runs"]] == [
        (p, s) for s in (1, 2) for p in ("prefix_affinity", "round_robin", "saga", "unlimited")]
    assert len({r["event_hash"] for r in one["runs"]}) >= 6
    for r in one["runs"]:
        assert r["finished"] == r["sessions"] > 10 and r["mean_slowdown"] >= 0.99
        assert r["workload"] == "swe" and r["split"] == "all" and r["refused_share"] == 0


@pytest.mark.parametrize("workload", ["claude-code", "mix"])
def test_other_workloads(workload):
    got = runs("--workload", workload, "--hours", "0.3", "--policies", "saga,unlimited")["runs"]
    assert [r["workload"] for r in got] == [workload, workload]
    assert got[0]["sessions"] == got[1]["sessions"] > 5


def test_bursts_and_less_memory_are_heard():
    plain, burst, small, chunk = (
        runs("--policies", "saga", *more)["runs"][0]["event_hash"]
        for more in ([], ["--burst", "3"], ["--kv-scale", "0.1"], ["--chunk", "512"]))
    assert len({plain, burst, small, chunk}) == 4


def test_table_and_plots(tmp_path):
    done = sim(*SHORT, "--policies", "prefix_affinity,unlimited", "--seeds", "1,2", "--plot", str(tmp_path / "p"),
               "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    assert "prefix_affinity" in done.stdout and "All 2 seeds together" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads((tmp_path / "p" / "runs.json").read_text())
    subprocess.run([sys.executable, str(PLOT), str(tmp_path / "p")], check=True, timeout=T(60))
    assert (tmp_path / "p" / "load.svg").read_text().startswith("<svg")
    assert "</svg>" in (tmp_path / "p" / "tct_0.5.svg").read_text()


def test_saturation_is_found():
    done = sim("--find-saturation", "--hours", "0.1", "--engines", "1")
    assert done.returncode == 0, done.stderr
    assert 0.001 < float(done.stdout.split()[0]) < 10


def test_lists_and_help():
    listed = sim("--list-policies")
    assert listed.returncode == 0
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert {"saga", "prefix_affinity", "round_robin", "unlimited"} <= set(names)
    shown = sim("--help")
    assert shown.returncode == 0 and "--find-saturation" in shown.stdout


@pytest.mark.parametrize("args, code, words", [
    (["--policies", "saga,none"], 2, "none"),
    (["--workload", "chat"], 2, "--workload chat"),
    (["--profile", "h100-llama3-8b"], 2, "--find-saturation"),
    (["--load"], 2, "--load"),
    (["--trace", "/nonexistent"], 1, "/nonexistent"),
    (["--json", "/nonexistent/out.json", *SHORT, "--policies", "saga"], 1, "/nonexistent/out.json"),
])
def test_what_goes_wrong_is_said(args, code, words):
    done = sim(*args)
    assert done.returncode == code and words in done.stderr and done.stderr.startswith("saga sim: ")


def test_a_trace_without_such_sessions(tmp_path):
    trace = tmp_path / "t.jsonl"
    trace.write_text('{"src":"mine","s":"a","in":10,"out":1}\n')
    done = sim("--trace", str(trace))
    assert done.returncode == 1 and "no sessions" in done.stderr
