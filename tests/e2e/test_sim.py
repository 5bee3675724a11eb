# SPDX-License-Identifier: Apache-2.0
"""`saga sim` on the sample that is built in."""
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from kit import T, binary
from kit.proc import sanitizer_env

SHORT = ["--hours", "0.1", "--load", "0.5"]
BUSY = ["--engines", "4", "--load", "6", "--kv-scale", "0.1", "--set", "routing.engine_slots=4"]  # steps wait
ROOT = pathlib.Path(__file__).resolve().parents[2]
PLOT = ROOT / "bench" / "lab" / "plot.py"


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


def test_entries_stand_beside_each_other_with_their_own_settings():
    text = "saga:routing.margin=8;evict=belady"
    got = runs("--policies", f"saga,{text},saga:chunk=512,saga:kv-scale=0.05;block=16", *BUSY,
               "--set", "routing.margin=2")["runs"]
    assert [r["policy"] for r in got] == ["saga", text, "saga:chunk=512", "saga:kv-scale=0.05;block=16"]
    assert [r["evict"] for r in got] == ["lru", "belady", "lru", "lru"]
    assert [r["chunk"] for r in got] == [2048, 2048, 512, 2048]
    assert [r["kv_tokens"] for r in got] == [42000, 42000, 42000, 21000]
    assert [r["block_tokens"] for r in got] == [64, 64, 64, 16]
    assert len({r["event_hash"] for r in got}) == 4
    assert 0 < got[0]["hits_vs_belady"] <= 1.01 and got[1]["hits_vs_belady"] == 1


def test_gateway_settings_reach_the_decisions():
    plain, wide, same = (runs(*BUSY, *more)["runs"][0]["event_hash"] for more in (
        ["--policies", "saga"], ["--policies", "saga", "--set", "routing.margin=20"],
        ["--policies", "saga:routing.margin=20"]))
    assert plain != wide == same


def test_a_sweep_over_memory_plays_the_same_sessions():
    got = runs("--policies", "saga,unlimited", "--kv-scale", "1,0.02", "--load", "0.3,0.6", "--hours", "0.3")
    assert [(r["kv_scale"], r["load"], r["policy"]) for r in got["runs"]] == [
        (k, x, p) for k in (1, 0.02) for x in (0.3, 0.6) for p in ("saga", "unlimited")]
    assert [(r["kv_scale"], r["load"]) for r in got["over_seeds"][::2]] == [(1, 0.3), (1, 0.6), (0.02, 0.3), (0.02, 0.6)]
    wide, narrow = got["runs"][2], got["runs"][6]
    assert wide["sessions"] == narrow["sessions"] and wide["steps"] == narrow["steps"]
    assert narrow["mean_kv_used"] > 10 * wide["mean_kv_used"] > 0
    assert 1 >= narrow["max_kv_used"] >= narrow["mean_kv_used"]
    assert narrow["mean_slowdown"] > wide["mean_slowdown"]


def test_recovery_is_asked_for():
    plain = runs("--policies", "saga", "--hours", "0.5")
    asked = runs("--policies", "saga", "--hours", "0.5", "--recovery-from", "5")
    assert "recovery_s" not in plain["runs"][0]
    assert asked["runs"][0]["recovery_s"] >= 600 and asked["over_seeds"][0]["seeds_recovered"] == 1
    shown = sim(*SHORT, "--hours", "0.5", "--policies", "saga", "--seeds", "1,2", "--recovery-from", "5")
    assert "recovers" in shown.stdout and "2 of 2" in shown.stdout


def test_sources_can_be_left_out():
    swe, only, without = (runs("--policies", "saga", *more)["runs"][0]["event_hash"] for more in (
        [], ["--only", "lmcache-miniswe"], ["--leave-out", "weka-cc"]))
    assert swe == only == without  # the sample's only source of this workload
    done = sim(*SHORT, "--leave-out", "lmcache-miniswe")
    assert done.returncode == 1 and "of these sources" in done.stderr


def test_the_half_that_reports_has_its_own_seed():
    assert [runs("--policies", "saga", "--split", half)["runs"][0]["seed"] for half in ("train", "test")] == [1, 2]


def test_fewest_engines_for_a_rate():
    args = ["plan", "--sessions-per-hour", "4000", "--hours", "0.1", "--policy", "saga:routing.margin=2", "--json", "-"]
    done = sim(*args)
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    enough = {t["engines"]: t["share_within"] >= plan["attain_ratio"] for t in plan["tries"]}
    assert enough[plan["engines"]] and (plan["engines"] == 1 or not enough[plan["engines"] - 1])
    assert plan["limited_by"] in ("KV memory", "compute") and plan["policy"] == "saga:routing.margin=2"
    assert f"{plan['engines']} engines" in done.stderr
    tight = json.loads(sim(*args, "--slo", "1.1x").stdout)
    assert tight["engines"] >= plan["engines"] > 1
    assert sim(*args).stdout == done.stdout
    shown = sim("plan", "--help")
    assert shown.returncode == 0 and "--sessions-per-hour" in shown.stdout


def test_table_and_plots(tmp_path):
    done = sim(*SHORT, "--policies", "prefix_affinity,unlimited", "--seeds", "1,2", "--plot", str(tmp_path / "p"),
               "--json", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    assert "prefix_affinity" in done.stdout and "All 2 seeds together" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads((tmp_path / "p" / "runs.json").read_text())
    subprocess.run([sys.executable, str(PLOT), str(tmp_path / "p")], check=True, timeout=T(60))
    assert (tmp_path / "p" / "load.svg").read_text().startswith("<svg")
    for name in ("tct_0.5", "engines_0.5_1", "engines_0.5_2"):
        assert "</svg>" in (tmp_path / "p" / f"{name}.svg").read_text()
    lines = (tmp_path / "p" / "engines.csv").read_text().splitlines()
    assert len(lines) > 4 * 16 * 36 and len({line.split(",")[6] for line in lines[1:]}) == 16


def test_plots_of_a_sweep_over_memory(tmp_path):
    done = sim(*SHORT, "--policies", "saga:chunk=512,unlimited", "--kv-scale", "0.05,1", "--load", "0.5,1", "--plot",
               str(tmp_path))
    assert done.returncode == 0, done.stderr
    subprocess.run([sys.executable, str(PLOT), str(tmp_path)], check=True, timeout=T(60))
    assert {p.name for p in tmp_path.glob("*.svg")} == {
        *(f"{kind}_{memory}_0.svg" for kind in ("load", "tct_0.5", "tct_1") for memory in ("0.05", "1")),
        *(f"engines_{load}_{memory}_0_{policy}.svg" for load in ("0.5", "1") for memory in ("0.05", "1") for policy in (1, 2)),
        "memory_kv_0.5_0.svg", "memory_kv_1_0.svg"}


def tables(monkeypatch, *args):
    """bench/lab/tables.py with one small table."""
    spec = importlib.util.spec_from_file_location("tables", ROOT / "bench" / "lab" / "tables.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    made.TABLES = {"small": (True, "--hours 0.1 --load 0.5,1 --kv-scale 1,0.1 --seeds 1,2 --policies saga,unlimited"),
                   "long": (False, "--hours 9")}
    monkeypatch.setattr(sys, "argv", ["tables.py", "--saga", binary(), *args])
    made.main()


def test_tables_are_written_into_their_places(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table small -->\nold\n<!-- end -->\nafter <!-- end -->\n")
    shutil.copy(ROOT / "bench" / "replay" / "data" / "agent_sample.jsonl.gz", tmp_path / "agent_steps.jsonl.gz")
    monkeypatch.setenv("SAGA_TRACES", str(tmp_path))
    tables(monkeypatch, "--page", str(page))
    text = page.read_text()
    assert text.startswith("before\n<!-- table small -->\n\n    saga sim --trace agent_steps.jsonl.gz --hours 0.1") and "old" not in text
    assert text.endswith("\n<!-- end -->\nafter <!-- end -->\n")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert [len(row) for row in rows] == [len(rows[0])] * 9 and "KV tokens" in rows[0] and "tier tokens" not in rows[0]
    assert [row[:3] for row in rows[1:4]] == [["| saga", "0.5", "420,000"], ["| unlimited", "0.5", "420,000"], ["| saga", "1", "420,000"]]
    tables(monkeypatch, "--page", str(page))
    assert page.read_text() == text
    with pytest.raises(SystemExit, match="no place for table long"):
        tables(monkeypatch, "--page", str(page), "--full")
    monkeypatch.setenv("SAGA_TRACES", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="NOTHING WAS RUN"):
        tables(monkeypatch, "--page", str(page))


def test_every_table_has_its_place():
    listed = subprocess.run([sys.executable, str(ROOT / "bench" / "lab" / "tables.py"), "--list"], capture_output=True, text=True,
                            check=True).stdout
    names = [line.split()[0] for line in listed.splitlines() if not line.startswith(" ")]
    page = (ROOT / "docs" / "results.md").read_text()
    assert len(names) > 10 and all(page.count(f"<!-- table {name} -->\n") == 1 for name in names)


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
    (["--workload", "none"], 2, "--workload none"),
    (["--profile", "h100-llama3-8b"], 2, "--find-saturation"),
    (["--load"], 2, "--load"),
    (["--set", "routing.margn=1"], 2, "did you mean routing.margin?"),
    (["--policies", "saga:evict=none"], 2, "one of lru"),
    (["--policies", "saga,unlimited,saga"], 2, "saga stands there twice"),
    (["--kv-scale", "1,1000", "--profile", "default", "--rate", "1"], 2, "kv-scale 1000"),
    (["--only", "nobody"], 1, "nobody"),
    (["plan"], 2, "--sessions-per-hour"),
    (["plan", "--sessions-per-hour", "5", "--plot", "x"], 2, "no plot"),
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
