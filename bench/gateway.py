#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the gateway against nginx as a plain proxy: same upstream, same run, taking turns.

Everything runs on loopback: four fake engines (bench-mock), a load generator (bench-load), nginx with one
worker, `saga serve` with one loop. CPU is that of the gateway's whole process tree. docs/bench.md says how
to read the table and where its limits are."""

import argparse
import json
import os
import platform
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from gateway_start import (REPLICAS, BenchError, Direct, Mock, Nginx, Process, Saga, Target,  # noqa: E402
                           read_text, tree_cpu_s, tree_memory_mb)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FULL = {
    "repeats": 5, "small": 20000, "rate": 1000, "rate_requests": 1500, "stream_chunks": {64: 300, 256: 300, 1024: 100},
    "first": 300, "agent_sessions": 40, "steps": 25, "leave": 200, "memory_streams": 1024,
    "affinity_sessions": 200, "silent": 4000, "silent_s": 5, "silent_turns": 3,
}
QUICK = {
    "repeats": 1, "small": 5000, "rate": 1000, "rate_requests": 500, "stream_chunks": {64: 100, 256: 50, 1024: 20},
    "first": 100, "agent_sessions": 8, "steps": 25, "leave": 100, "memory_streams": 1024,
    "affinity_sessions": 40, "silent": 1000, "silent_s": 1, "silent_turns": 1,
}
# Figures of the table: row, figure, how to write it, and the goal: (kind, limit). Kind "ratio" compares with
# nginx, "max" and "min" look at the gateway alone, None only shows.
FIGURES = [
    ("small", "cpu_us", "CPU per small request, us", ("ratio", 1.7)),
    ("small", "per_s", "  requests per second, 64 connections", None),
    ("rate", "added_p50_ms", "  added delay p50 at a fixed rate, ms", None),
    ("rate", "added_p99_ms", "  added delay p99 at a fixed rate, ms", None),
    ("stream64", "cpu_us", "CPU per SSE event, 64 streams, us", ("ratio", 1.0)),
    ("stream64", "event_p50_ms", "  event delay p50, ms", None),
    ("stream64", "event_p99_ms", "  event delay p99, ms", None),
    ("stream256", "cpu_us", "CPU per SSE event, 256 streams, us", None),
    ("stream256", "event_p50_ms", "  event delay p50, ms", None),
    ("stream256", "event_p99_ms", "  event delay p99, ms", None),
    ("stream256", "events_per_read", "  events per read", None),
    ("stream1024", "cpu_us", "CPU per SSE event, 1,024 streams, us", None),
    ("stream1024", "event_p50_ms", "  event delay p50, ms", None),
    ("stream1024", "event_p99_ms", "  event delay p99, ms", None),
    ("stream1024", "events_per_read", "  events per read", None),
    ("first", "added_p50_ms", "added first-event delay p50, ms", ("max", 0.5)),
    ("first", "added_p99_ms", "  added first-event delay p99, ms", None),
    ("agent", "cpu_ms", "CPU per 400 KB agent prompt, ms", ("ratio", 2.2)),
    ("agent", "first_p50_ms", "  first event p50, 32 in flight, ms", None),
    ("agent", "first_p99_ms", "  first event p99, 32 in flight, ms", None),
    ("leave_first", "max_ms", "client leaves after its first event: engine knows, max ms", ("max", 16.0)),
    ("leave_first", "p50_ms", "  p50 ms", None),
    ("leave_before", "max_ms", "client leaves before any byte: engine knows, max ms", ("max", 5.0)),
    ("leave_before", "p50_ms", "  p50 ms", None),
    ("start", "start_s", "start to first 200, s", ("max", 0.1)),
    ("start", "idle_rss_mb", "idle RSS, MB", ("max", 15.0)),
    ("memory", "kib_per_stream", "RSS per open stream (1,024), KiB", ("max", 20.0)),
    ("growth", "growth_mb", "RSS growth over the long prompts, from idle, MB", ("max", 8.0)),
    ("growth", "growth_warm_mb", "  the same, from after the first prompts, MB", None),
    ("affinity", "stayed_pct", "steps that stayed on their engine, no session header, %", ("min", 100.0)),
    ("affinity", "busiest", "  busiest engine / mean", None),
    ("affinity_common", "stayed_pct", "the same with 200 KB common to all sessions, %", ("min", 98.0)),
    ("affinity_common", "busiest", "  busiest engine / mean", ("max", 1.4)),
    ("affinity_header", "stayed_pct", "the same with a session header, %", ("min", 100.0)),
    ("silent", "held", "silent streams held", None),
    ("silent", "extra_idle_cores", "  extra CPU while they are silent, cores", ("max", 0.01)),
    ("silent", "event_cost_ratio", "  CPU per event beside them / without them", ("max", 1.15)),
    ("silent", "kib_per_stream", "  RSS per silent stream, KiB", None),
]
ROWS = ["start", "small", "rate", "stream64", "stream256", "stream1024", "first", "agent", "leave_first",
        "leave_before", "memory", "growth", "affinity", "affinity_common", "affinity_header", "silent"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


# ---- measuring ----

class Bench:
    def __init__(self, args):
        self.args = args
        self.size = QUICK if args.quick else FULL
        self.dir = tempfile.mkdtemp(prefix="saga-bench-")
        self.seed = args.seed
        self.began = time.monotonic()
        self.ends_at = self.began + args.limit_s
        self.mock = None
        self.failures = []

    def path(self, name):
        return os.path.join(self.dir, name)

    def tool(self, name):
        found = os.path.join(ROOT, self.args.build, name)
        if not os.access(found, os.X_OK):
            raise BenchError(f"{os.path.relpath(found, ROOT)} is not there; build it first: ./dev build")
        return found

    def load_command(self, mode, gateway, **flags):
        self.seed += 1  # never the same prompts twice
        command = [self.tool("bench-load"), mode, "--to", f"127.0.0.1:{gateway.port}", "--seed", str(self.seed)]
        for name, value in flags.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        return command

    def load(self, mode, gateway, **flags):
        """Runs the generator; its JSON, with the gateway's CPU seconds added."""
        if time.monotonic() > self.ends_at:
            raise BenchError(f"the time limit of {self.args.limit_s} s is used up (--limit-s)")
        before = tree_cpu_s(gateway.pid) if gateway.pid else 0.0
        done = subprocess.run(self.load_command(mode, gateway, **flags), capture_output=True, text=True,
                              timeout=120, check=False)
        time.sleep(0.05)  # so that the closing of connections is counted
        after = tree_cpu_s(gateway.pid) if gateway.pid else 0.0
        try:
            result = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            raise BenchError(f"bench-load {mode} through {gateway.name} printed no result: {done.stderr.strip()}") from None
        result["cpu_s"] = after - before
        self.check(mode, gateway, result)
        return result

    def check(self, mode, gateway, result):
        """Answers that are not whole make a figure worthless: say so beside it."""
        bad = []
        if not result["whole"]:
            bad.append("not finished in time" if mode != "leave" else
                       f"{result['seen']} of {result['streams']} departures seen by the engine")
        for key, text in (("refused", "refused"), ("cut", "cut"), ("no_done", "ended without [DONE]")):
            if result.get(key):
                bad.append(f"{result[key]} {text}")
        if result.get("refused"):
            bad.append(f"status {result['refused_status']}: {result['refused_text']}")
        if bad:
            self.failures.append(f"{mode} through {gateway.name}: " + ", ".join(bad))

    # Each row: (gateway) -> figures. The names are those of FIGURES.

    def small(self, gateway):
        got = self.load("small", gateway, connections=64, requests=self.size["small"])
        return {"cpu_us": got["cpu_s"] * 1e6 / max(got["ok"], 1), "per_s": got["per_s"],
                "p50_ms": got["delay_ms"]["p50"], "p99_ms": got["delay_ms"]["p99"]}

    def rate(self, gateway):
        got = self.load("small", gateway, connections=64, requests=self.size["rate_requests"],
                        rate=self.size["rate"])
        return {"p50_ms": got["delay_ms"]["p50"], "p99_ms": got["delay_ms"]["p99"],
                "cpu_us": got["cpu_s"] * 1e6 / max(got["ok"], 1)}

    def stream(self, gateway, count):
        got = self.load("streams", gateway, streams=count, chunks=self.size["stream_chunks"][count],
                        interval_us=10000)
        return {"cpu_us": got["cpu_s"] * 1e6 / max(got["events"], 1), "events_per_s": got["events_per_s"],
                "events_per_read": got["events_per_read"], "event_p50_ms": got["event_ms"]["p50"],
                "event_p99_ms": got["event_ms"]["p99"], "first_p50_ms": got["first_ms"]["p50"]}

    def stream64(self, gateway):
        return self.stream(gateway, 64)

    def stream256(self, gateway):
        return self.stream(gateway, 256)

    def stream1024(self, gateway):
        return self.stream(gateway, 1024)

    def first(self, gateway):
        got = self.load("streams", gateway, streams=1, rounds=self.size["first"], chunks=3, interval_us=500)
        return {"p50_ms": got["first_ms"]["p50"], "p99_ms": got["first_ms"]["p99"]}

    def agent(self, gateway):
        got = self.load("agent", gateway, sessions=self.size["agent_sessions"], steps=self.size["steps"],
                        in_flight=32, chunks=20, interval_us=5000)
        return {"cpu_ms": got["cpu_s"] * 1e3 / max(got["ok"], 1), "per_s": got["per_s"],
                "mean_prompt_kb": got["sent_bytes"] / max(got["ok"], 1) / 1000,
                "cpu_ms_per_mb": got["cpu_s"] * 1e9 / max(got["sent_bytes"], 1),
                "first_p50_ms": got["first_ms"]["p50"], "first_p99_ms": got["first_ms"]["p99"],
                **affinity_figures(got)}

    def leave(self, gateway, before_any):
        got = self.load("leave", gateway, mock=f"127.0.0.1:{self.mock.ports[0]}", streams=self.size["leave"],
                        before_any=before_any, chunks=1000, interval_us=10000, deadline_s=5)
        return {"max_ms": got["delay_ms"]["max"], "p50_ms": got["delay_ms"]["p50"], "seen": got["seen"],
                "still_open": got["still_open"]}

    def leave_first(self, gateway):
        return self.leave(gateway, 0)

    def leave_before(self, gateway):
        return self.leave(gateway, 1)

    def restart(self, gateway):
        gateway.stop()
        took = gateway.start()
        time.sleep(0.3)
        return took

    def start(self, gateway):
        took = self.restart(gateway)
        return {"start_s": took, "idle_rss_mb": tree_memory_mb(gateway.pid)}

    def memory(self, gateway):
        self.restart(gateway)
        idle = tree_memory_mb(gateway.pid)
        count = self.size["memory_streams"]
        self.load("streams", gateway, streams=count, chunks=self.size["stream_chunks"][1024], interval_us=10000)
        peak = tree_memory_mb(gateway.pid, "VmHWM")
        return {"kib_per_stream": (peak - idle) * 1024 / count, "idle_rss_mb": idle, "peak_rss_mb": peak}

    def affinity_run(self, gateway, **flags):
        """Short answers, so that the prompts are the work."""
        return self.load("agent", gateway, sessions=self.size["affinity_sessions"], steps=self.size["steps"],
                         in_flight=32, chunks=4, interval_us=1000, deadline_s=100, **flags)

    def growth(self, gateway):
        self.restart(gateway)
        idle = tree_memory_mb(gateway.pid)
        self.load("agent", gateway, sessions=self.size["affinity_sessions"], steps=1, chunks=4, interval_us=1000)
        warm = tree_memory_mb(gateway.pid)
        got = self.affinity_run(gateway)
        time.sleep(1)
        end = tree_memory_mb(gateway.pid)
        return {"growth_mb": end - idle, "growth_warm_mb": end - warm, "idle_rss_mb": idle, "end_rss_mb": end,
                "peak_rss_mb": tree_memory_mb(gateway.pid, "VmHWM"), "prompts": got["ok"],
                "cpu_ms": got["cpu_s"] * 1e3 / max(got["ok"], 1), **affinity_figures(got)}

    def affinity(self, gateway):
        return affinity_figures(self.affinity_run(gateway))

    def affinity_common(self, gateway):
        return affinity_figures(self.affinity_run(gateway, common_bytes=200000))

    def affinity_header(self, gateway):
        return affinity_figures(self.affinity_run(gateway, session_header=1))

    def silent(self, gateway):
        self.restart(gateway)
        count, hold_s = self.size["silent"], self.size["silent_s"]
        alone = self.event_cost(gateway)
        time.sleep(0.5)
        idle = tree_memory_mb(gateway.pid)
        quiet_cores = self.idle_cores(gateway, hold_s)
        command = self.load_command("silent", gateway, streams=count, hold_s=60, deadline_s=20)
        holder = Process(command, self.path("silent.log"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            held = json.loads(holder.popen.stdout.readline() or '{"held":0}')["held"]
            if held != count:
                self.failures.append(f"silent through {gateway.name}: {held} of {count} streams opened; {gateway.tail()}")
            time.sleep(0.5)
            cores = self.idle_cores(gateway, hold_s)
            resident = tree_memory_mb(gateway.pid)
            beside = self.event_cost(gateway)
            out, _ = holder.popen.communicate(timeout=30)
            if not json.loads(out.splitlines()[-1])["whole"]:
                self.failures.append(f"silent through {gateway.name}: a silent stream ended by itself")
        finally:
            holder.stop()
        return {"held": held, "extra_idle_cores": max(cores - quiet_cores, 0.0), "idle_cores": cores,
                "event_cost_ratio": beside / alone, "kib_per_stream": (resident - idle) * 1024 / max(held, 1)}

    def event_cost(self, gateway):
        return median([self.stream64(gateway)["cpu_us"] for _ in range(self.size["silent_turns"])])

    def idle_cores(self, gateway, seconds):
        before, began = tree_cpu_s(gateway.pid), time.monotonic()
        time.sleep(seconds)
        return (tree_cpu_s(gateway.pid) - before) / (time.monotonic() - began)


def affinity_figures(got):
    served = got["served"][:REPLICAS]
    mean = sum(served) / REPLICAS
    return {"stayed_pct": 100.0 * got["stayed"] / max(got["followed"], 1), "served": served,
            "sessions_unmoved": got["sessions_unmoved"], "busiest": max(served) / mean if mean else None}


# Rows that are only about us; and rows that need a gateway of their own, freshly started.
OURS_ONLY = {"affinity", "affinity_common", "affinity_header"}
FRESH = {"start", "memory", "growth", "silent"}
ONCE = {"memory", "growth", "affinity", "affinity_common", "affinity_header", "silent"}
WITH_DIRECT = {"rate", "first", "stream64"}


def measure_all(bench, gateways, rows):
    direct = Direct(bench)
    found = {row: {} for row in rows}

    def one(row, gateway, turn):
        if (row in OURS_ONLY and gateway.name == "nginx") or (row in FRESH and not gateway.can_restart):
            return
        say(f"  {time.monotonic() - bench.began:5.0f} s  turn {turn + 1}  {row:16} {gateway.name}")
        try:
            gateway.start()
            figures = getattr(bench, row)(gateway)
            found[row].setdefault(gateway.name, []).append(figures)
        except (BenchError, subprocess.TimeoutExpired, KeyError, TypeError) as error:
            bench.failures.append(f"{row} through {gateway.name}: {error}")

    for turn in range(bench.size["repeats"]):
        for row in [r for r in rows if r not in ONCE]:
            order = gateways if turn % 2 == 0 else gateways[::-1]
            for gateway in ([direct] if row in WITH_DIRECT else []) + order:
                one(row, gateway, turn)
    for row in [r for r in rows if r in ONCE]:
        for gateway in gateways:
            one(row, gateway, 0)
    return found


def summarise(found):
    """Medians of the turns, and what a gateway adds to a direct run."""
    medians = {}
    for row, by_name in found.items():
        for name, turns in by_name.items():
            keys = [k for k in turns[0] if not isinstance(turns[0][k], list)]
            medians.setdefault(row, {})[name] = {k: median([t[k] for t in turns]) for k in keys}
        base = medians.get(row, {}).get("direct")
        for name, figures in medians.get(row, {}).items():
            if base and name != "direct":
                for key in ("p50_ms", "p99_ms"):
                    if figures.get(key) is not None and base.get(key) is not None:
                        figures["added_" + key] = figures[key] - base[key]
    return medians


def judge(medians, names):
    """The lines of the table: one for each figure that was measured."""
    lines = []
    for row, figure, text, goal in FIGURES:
        values = {n: medians.get(row, {}).get(n, {}).get(figure) for n in names}
        if all(v is None for v in values.values()):
            continue
        ours, theirs = values.get("saga"), values.get("nginx")
        ratio = ours / theirs if ours is not None and theirs else None
        line = {"row": row, "figure": figure, "text": text, "values": values, "ratio": ratio, "goal": None,
                "verdict": None}
        if goal:
            kind, limit = goal
            subject = ratio if kind == "ratio" else ours
            line["goal"] = {"ratio": f"<= {limit} x nginx", "max": f"<= {limit:g}", "min": f">= {limit:g}"}[kind]
            if subject is not None:
                is_met = subject >= limit if kind == "min" else subject <= limit
                line["verdict"] = "PASS" if is_met else "SHORT"
        lines.append(line)
    return lines


def number(value):
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def print_table(lines, names):
    width = max([len(line["text"]) for line in lines] or [10])
    print(f"{'':{width}}" + "".join(f" {n:>10}" for n in names) + f" {'saga/nginx':>10}  goal")
    for line in lines:
        cells = "".join(f" {number(line['values'][n]):>10}" for n in names)
        goal = f"{line['goal'] or '':14} {line['verdict'] or ''}" if line["goal"] else ""
        print(f"{line['text']:{width}}{cells} {number(line['ratio']):>10}  {goal}".rstrip())


def busy_s():
    fields = [int(f) for f in read_text("/proc/stat").split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def own_s():
    return sum(r.ru_utime + r.ru_stime
               for r in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


def machine_facts():
    model = [line.split(":", 1)[1].strip() for line in read_text("/proc/cpuinfo").splitlines()
             if line.startswith("model name")]
    return {"cores": os.cpu_count(), "cpu": model[0] if model else platform.machine(), "kernel": platform.release(),
            "load_average": list(os.getloadavg()), "page_size": os.sysconf("SC_PAGE_SIZE")}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of a table")
    parser.add_argument("--repeats", type=int, help="turns of each row (5; with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="a smoke run of under a minute; its figures are rough")
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="only these rows: " + " ".join(ROWS))
    parser.add_argument("--gateways", default="nginx,saga", help="which to start (nginx,saga)")
    parser.add_argument("--target", action="append", default=[], metavar="NAME=URL",
                        help="also measure a running gateway of this machine; needs --mock-ports")
    parser.add_argument("--mock-ports", help="the fake engines' four ports, for --target (default: free ones)")
    parser.add_argument("--build", default="build/release", help="folder with saga, bench-mock, bench-load")
    parser.add_argument("--saga-arg", action="append", default=[], help="one more argument of saga serve")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 20))
    parser.add_argument("--limit-s", type=int, default=600, help="start no measurement after this long")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a goal is not reached")
    args = parser.parse_args()
    args.only = [row for text in args.only for row in text.split(",")]
    unknown = set(args.only) - set(ROWS)
    if unknown:
        parser.error(f"no such row: {' '.join(sorted(unknown))}; there are {' '.join(ROWS)}")
    return args


def run(bench, args):
    began, busy, own = time.monotonic(), busy_s(), own_s()
    facts = machine_facts()
    bench.mock = Mock(bench, args.mock_ports)
    kinds = {"nginx": Nginx, "saga": Saga}
    gateways = [kinds[name](bench) for name in args.gateways.split(",") if name]
    gateways += [Target(*text.split("=", 1)) for text in args.target]
    for gateway in gateways:
        gateway.start()  # so that a missing program is said at once
    rows = [row for row in ROWS if not args.only or row in args.only]
    found = measure_all(bench, gateways, rows)
    for gateway in gateways:
        gateway.stop()
    bench.mock.process.stop()
    elapsed = time.monotonic() - began
    facts["load_average_after"] = list(os.getloadavg())
    facts["other_cores"] = max((busy_s() - busy - (own_s() - own)) / elapsed, 0.0)
    medians = summarise(found)
    names = [g.name for g in gateways]
    return {"machine": facts, "seed": args.seed, "repeats": bench.size["repeats"], "quick": args.quick,
            "seconds": elapsed, "names": names, "lines": judge(medians, names), "medians": medians, "turns": found,
            "failures": bench.failures}


def report(result):
    facts = result["machine"]
    print(f"{facts['cores']} cores ({facts['cpu']}), Linux {facts['kernel']}, load average "
          f"{facts['load_average'][0]:.2f} before, other programs used {facts['other_cores']:.2f} cores meanwhile; "
          f"medians of {result['repeats']}, seed {result['seed']}, {result['seconds']:.0f} s")
    print_table(result["lines"], result["names"])
    if facts["other_cores"] > 0.1:
        print("Other programs were busy: CPU figures are up to twice too high, delays more. Trust the ratios at most.")
    for text in result["failures"]:
        print(f"FAILED  {text}")


def main():
    args = parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    bench = Bench(args)
    if args.repeats:
        bench.size = {**bench.size, "repeats": args.repeats}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        result = run(bench, args)
        if args.json:
            print(json.dumps(result, indent=1))
        else:
            report(result)
        is_short = any(line["verdict"] == "SHORT" for line in result["lines"])
        return 1 if result["failures"] or (args.strict and is_short) else 0
    except BenchError as error:
        say(f"bench: {error}")
        return 2
    except KeyboardInterrupt:
        say("bench: stopped")
        return 130
    finally:
        for process in list(Process.alive):
            process.stop()
        shutil.rmtree(bench.dir, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
