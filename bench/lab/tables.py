#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/results.md: runs `saga sim` with the command lines below and writes what comes out between

    <!-- table NAME -->
    <!-- end -->

Each table takes its place there, with the command line above it. Fixed seeds: the same traces give the same tables. Adding
one is an entry in TABLES and the two lines in the page."""

import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = "agent_steps.jsonl.gz"
CHAT = "mooncake_conversation_trace.jsonl.gz"
TURNS = "make_turns.py"  # no recording: what that writes
SEEDS = "2,4,6,8,10"  # even ones: of the half that reports
FEW = "2,4"

# What stands in each table is chosen here. BOUND says how far from the end of the road one is.
BOUND = "unlimited"
RIVALS = "prefix_affinity,continuum,lpm,thunderagent,saga_paper:steal=0"
MAIN = f"{RIVALS},saga,working_set,perfect,{BOUND}"
CALM = f"prefix_affinity,continuum,lpm,thunderagent,working_set,{BOUND}"
SOME = f"prefix_affinity,lpm,working_set,{BOUND}"
EVERY = ("prefix_affinity,round_robin,least_request,power_of_two,consistent_hash,saga,fcfs_program,las,lpm,continuum,continuum_2s,"
         f"autellix,kvflow,thunderagent,vllm_program,regime,saga_paper,saga_paper:steal=0,working_set,srpt_oracle,belady,perfect,{BOUND}")
OFF = "affinity=2;wa_lru=0;ttl=0;steal=0;afs=0"
PARTS = ",".join(["prefix_affinity", *(f"saga_paper:{part}" for part in (
    OFF, OFF.replace("affinity=2", "affinity=1"), OFF.replace("wa_lru=0", "wa_lru=1"), OFF.replace("ttl=0", "ttl=1"),
    OFF.replace("steal=0", "steal=1"), OFF.replace("steal=0", "steal=2"), "steal=0", "steal=0;ttl=0")), "saga_paper"])
EVICT = ",".join(f"prefix_affinity:evict={name}" for name in ("belady", "lru", "wa_lru", "cost_based"))
TIER = "prefix_affinity,las,working_set"
TIERS = "--tier-tokens 0,200000,400000,800000,1560000"
TEST = "--split test"

# name -> (is it a headline, arguments of saga sim, the trace when it is another one)
TABLES = {
    "short-swe": (True, f"--workload swe {TEST} --hours 1.5 --load 0.7,0.9 --seeds {SEEDS} --policies {MAIN}"),
    "short-claude-code": (True, f"--workload claude-code {TEST} --hours 3.33 --load 0.34,0.5 --seeds {SEEDS} --policies {MAIN}"),
    "short-tier": (True, f"--workload swe {TEST} --hours 1.5 --load 0.95 --tier-tokens 0,400000,800000 --seeds {FEW},6 "
                         f"--policies {TIER},{BOUND}"),
    "swe": (False, f"--workload swe {TEST} --hours 4 --load 0.67,0.81,0.95 --seeds {FEW} --policies {MAIN}"),
    "claude-code": (False, f"--workload claude-code {TEST} --hours 8 --load 0.34,0.5 --seeds {FEW} --policies {MAIN}"),
    "swe-tier": (False, f"--workload swe {TEST} --hours 4 --load 0.95 {TIERS} --seeds 2 --policies {TIER},{BOUND}"),
    "swe-more": (False, f"--workload swe {TEST} --hours 4 --load 0.5,0.74,0.88,1.02 --seeds {FEW} --policies {MAIN}"),
    "claude-code-more": (False, f"--workload claude-code {TEST} --hours 8 --load 0.25,0.42,0.6 --seeds {FEW} --policies {MAIN}"),
    "mix": (False, f"--workload mix {TEST} --hours 6 --load 0.5,0.68,0.87 --seeds {FEW} --policies {MAIN}"),
    "swe-every": (False, f"--workload swe --hours 1.5 --load 0.3,0.5,0.7,0.9 --seeds 2 --policies {EVERY}"),
    "claude-code-every": (False, f"--workload claude-code --hours 3.33 --load 0.34,0.5 --seeds 2 --policies {EVERY}"),
    "saga-parts": (False, f"--workload swe --hours 1.5 --load 0.7,0.8,0.9 --seeds {FEW} --policies {PARTS}"),
    "memory": (False, f"--workload swe {TEST} --hours 4 --load 0.4,0.7,1 --kv-scale 0.5,1,2 --seeds 2 --policies {SOME}"),
    "claude-code-memory": (False, f"--workload claude-code {TEST} --hours 8 --load 0.25,0.45,0.7 --kv-scale 0.5,1,2 --seeds 2 "
                                  f"--policies {SOME}"),
    "evict": (False, f"--workload swe {TEST} --hours 4 --load 0.5,0.6 --seeds {FEW} --policies {EVICT}"),
    "claude-code-evict": (False, f"--workload claude-code {TEST} --hours 8 --load 0.3,0.4 --seeds {FEW} --policies {EVICT}"),
    "swe-tier-through": (False, f"--workload swe {TEST} --hours 4 --load 0.95 {TIERS} --tier-mode write-through --seeds 2 "
                                f"--policies {TIER}"),
    "claude-code-tier": (False, f"--workload claude-code {TEST} --hours 8 --load 0.77 {TIERS} --seeds 2 --policies {TIER},{BOUND}"),
    "claude-code-tier-through": (False, f"--workload claude-code {TEST} --hours 8 --load 0.77 {TIERS} --tier-mode write-through "
                                        f"--seeds {FEW} --policies {TIER}"),
    "store": (False, f"--workload any --hours 2 --rate 0.05,0.1 --seeds {FEW} --policies round_robin,prefix_affinity,"
                     f"round_robin:store-tokens=40000000,prefix_affinity:store-tokens=40000000,{BOUND}", TURNS),
    "pulse": (False, f"--workload swe {TEST} --scenario pulse --hours 4 --seeds {FEW} --policies {CALM}"),
    "lose-caches": (False, f"--workload swe {TEST} --scenario lose-caches --hours 2 --load 0.6,0.7 --seeds {FEW} --policies {CALM}"),
    "two-models": (False, f"--workload swe {TEST} --scenario two-models-one-jammed --hours 1.5 --seeds {FEW} "
                          "--policies prefix_affinity,saga,lpm,thunderagent,working_set"),
    "tenants": (False, f"--workload swe {TEST} --scenario three-tenants-flooder --hours 1.5 --load 0.9,1.2 --seeds {FEW} "
                       "--policies prefix_affinity,sfq,saga_paper:steal=0,working_set"),
    "chat": (False, f"--workload chat --hours 0.5 --load 0.5,0.9 --seeds {FEW} --policies least_request,prefix_affinity,saga,"
                    f"working_set,{BOUND}", CHAT),
    "burst": (False, f"--workload swe {TEST} --hours 4 --load 0.67,0.81 --burst 3 --seeds {FEW},6 --policies {MAIN}"),
    "disaggregated": (False, f"--workload swe {TEST} --hours 1.5 --load 0.5,0.7 --seeds {FEW} --policies prefix_affinity,"
                             "prefix_affinity:prefill-engines=4,prefix_affinity:prefill-engines=8"),
    "second-profile": (False, f"--profile h100-llama3-8b --workload swe {TEST} --hours 2 --rate 0.4,0.6,0.8 --seeds {FEW} "
                              f"--policies {MAIN}"),
    "without-agentcgroup": (False, f"--workload swe --leave-out agentcgroup --hours 1.5 --load 0.7,0.9 --seeds {FEW} --policies {MAIN}"),
    "without-tbench": (False, f"--workload swe --leave-out tbench-miniswe --hours 1.5 --load 0.7,0.9 --seeds {FEW} --policies {MAIN}"),
    "without-lmcache": (False, f"--workload swe --leave-out lmcache-miniswe --hours 1.5 --load 0.7,0.9 --seeds {FEW} --policies {MAIN}"),
}


def interval(row, value, name):
    low, high = row["ci"][name]
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def share(rows, name):
    return f"{100 * statistics.fmean(r[name] for r in rows):.0f}"


def collapses(over):
    count = f"{over['seeds_collapsed']} of {over['seeds']}"
    return count if over["collapse_s"] is None else f"{count}, {over['collapse_s'] / 3600:.1f}"


def per_session(values):
    mean = statistics.fmean(values)
    return f"{mean:.2f}" if mean > 0 else "-"


def recovers(over):
    if "seeds_recovered" not in over:
        return "-"
    count = f"{over['seeds_recovered']} of {over['seeds']}"
    return count if over["recovery_s"] is None else f"{count}, {over['recovery_s'] / 60:.0f}"


def tenants(rows):
    names = [t["tenant"] for t in rows[0]["tenants"]]
    if len(names) < 2:
        return "-"

    def mean(name, key):
        return statistics.fmean(t[key] for r in rows for t in r["tenants"] if t["tenant"] == name)

    return "; ".join(f"{mean(n, 'mean_slowdown'):.2f}, {100 * mean(n, 'share_within_2p5x'):.0f}" for n in names)


# heading -> text from what all seeds came to and from the run of each
COLUMNS = {
    "mean slowdown": lambda over, rows: interval(over, over["mean_slowdown"], "mean_slowdown"),
    "p99": lambda over, rows: f"{statistics.fmean(r['p99_slowdown'] for r in rows):.1f}",
    "vs first": lambda over, rows: interval(over, over["geomean_vs_first"], "geomean_vs_first"),
    "mean TCT s": lambda over, rows: f"{statistics.fmean(r['mean_tct_s'] for r in rows):.0f}",
    "TTFT s": lambda over, rows: f"{statistics.fmean(r['mean_ttft_s'] for r in rows):.2f}",
    "p99 s": lambda over, rows: f"{statistics.fmean(r['p99_ttft_s'] for r in rows):.1f}",
    "p99.9 s": lambda over, rows: f"{statistics.fmean(r['p999_ttft_s'] for r in rows):.0f}",
    "longest wait s": lambda over, rows: f"{max(r['max_wait_s'] for r in rows):.0f}",
    "regen %": lambda over, rows: share(rows, "regenerated_share"),
    "< 2.5x %": lambda over, rows: share(rows, "share_within_2p5x"),
    "as expected %": lambda over, rows: share(rows, "share_within_expected"),
    "goodput %": lambda over, rows: share(rows, "goodput_share"),
    "refused %": lambda over, rows: share(rows, "refused_share"),
    "steals": lambda over, rows: per_session(r["steals"] / r["sessions"] for r in rows),
    "pauses": lambda over, rows: per_session(r["pauses_per_session"] for r in rows),
    "KV %": lambda over, rows: share(rows, "mean_kv_used"),
    "carries": lambda over, rows: f"{over['seeds_carried']} of {over['seeds']}" if "seeds_carried" in over else "-",
    "collapses, after h": lambda over, rows: collapses(over),
    "recovers, after min": lambda over, rows: recovers(over),
    "recovers, after min": lambda over, rows: recovers(over),
    "light/medium/flooder, slowdown and < 2.5x %": lambda over, rows: tenants(rows),
    "hits / Belady": lambda over, rows: f"{over['hits_vs_belady']:.3f}" if "hits_vs_belady" in over else None,
}


def markdown(result):
    """One row for each load, memory and policy, all seeds together."""
    seeds = [over["seeds"] for over in result["over_seeds"]][0]
    names = [over["policy"] for over in result["over_seeds"]]
    count = len(set(names))
    varied = [c for c, key in (("KV tokens", "kv_tokens"), ("tier tokens", "tier_tokens"))
              if len({o[key] for o in result["over_seeds"]}) > 1]
    table = []
    for i, over in enumerate(result["over_seeds"]):
        point, policy = divmod(i, count)
        rows = [result["runs"][(point * seeds + s) * count + policy] for s in range(seeds)]
        assert all(r["policy"] == over["policy"] and r["load"] == over["load"] for r in rows)
        cells = {"policy": over["policy"], "load": f"{over['load']:g}"}
        cells.update({c: f"{over[c.replace(' ', '_').replace('KV', 'kv')]:,}" for c in varied})
        cells.update({heading: cell(over, rows) for heading, cell in COLUMNS.items()})
        table.append(cells)
    shown = [h for h in table[0] if any(row[h] not in (None, "-") for row in table)]
    lines = ["| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    return "\n".join(lines + ["| " + " | ".join(row[h] or "" for h in shown) + " |" for row in table])


def replaced(page, name, body):
    marks = re.compile(rf"(<!-- table {re.escape(name)} -->\n).*?(<!-- end -->)", re.S)
    if not marks.search(page):
        sys.exit(f"tables.py: no place for table {name}: the page needs <!-- table {name} --> and <!-- end -->")
    return marks.sub(lambda found: found[1] + body + "\n" + found[2], page, count=1)


def find_trace(name, scratch):
    if name == TURNS:
        made = pathlib.Path(scratch) / "turns.jsonl"
        with open(made, "w", encoding="utf-8") as out:
            subprocess.run([sys.executable, str(ROOT / "bench" / "lab" / TURNS)], stdout=out, check=True)
        return made
    folder = pathlib.Path(os.environ["SAGA_TRACES"]) if "SAGA_TRACES" in os.environ else ROOT.parent / "shared" / "traces"
    if (folder / name).is_file():
        return folder / name
    sys.exit(f"tables.py: NOTHING WAS RUN: the traces are not part of the project, and there is no {folder / name}.\n"
             f"Set SAGA_TRACES to the folder of {name} (its format: bench/replay/data/README.md).")


def run(options, name, trace):
    """The result, which is kept beside the build too."""
    kept = ROOT / "build" / "lab" / f"{name}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    command = [options.saga, "sim", "--trace", str(trace), "--json", str(kept), *shlex.split(TABLES[name][1])]
    done = subprocess.run([*command, "--jobs", str(options.jobs)] if options.jobs else command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"tables.py: {shlex.join(command)} ended with {done.returncode}")
    return json.loads(kept.read_text(encoding="utf-8"))


def trace_of(table):
    return table[2] if len(table) > 2 else TRACE


def chosen(options):
    unknown = [name for name in options.only if name not in TABLES]
    if unknown:
        sys.exit(f"tables.py: no table {unknown[0]}; see --list")
    return [n for n, table in TABLES.items() if n in options.only or not options.only and (table[0] or options.full)]


def write(options, names, scratch):
    traces = {trace_of(TABLES[name]): None for name in names}
    for name in traces:
        traces[name] = find_trace(name, scratch)
    for name in names:
        replaced(options.page.read_text(encoding="utf-8"), name, "")  # a place that is missing is said before hours of work
    began = time.monotonic()
    for i, name in enumerate(names):
        arguments = TABLES[name][1]
        trace = trace_of(TABLES[name])
        print(f"== {name} ({i + 1} of {len(names)}, {time.monotonic() - began:.0f} s so far)", file=sys.stderr, flush=True)
        table = markdown(run(options, name, traces[trace]))
        body = f"\n    saga sim --trace {trace} {arguments}\n\n{table}\n"
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(replaced(page, name, body), encoding="utf-8")
    print(f"== {len(names)} tables in {time.monotonic() - began:.0f} s: {options.page}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(prog="./dev lab", description="Regenerates the tables of docs/results.md from fixed seeds.")
    parser.add_argument("--full", action="store_true", help="all tables, not the headline ones alone: an hour or two")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this table; repeatable")
    parser.add_argument("--list", action="store_true", help="print the tables and their command lines, run nothing")
    parser.add_argument("--jobs", type=int, help="runs at a time (default: one a core)")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "results.md", help=argparse.SUPPRESS)
    parser.add_argument("--saga", default=str(ROOT / "build" / "release" / "saga"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = chosen(options)
    if options.list:
        for name in TABLES:
            print(f"{name}{'' if TABLES[name][0] else ' (--full)'}\n    saga sim --trace {trace_of(TABLES[name])} {TABLES[name][1]}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        write(options, names, scratch)


if __name__ == "__main__":
    main()
