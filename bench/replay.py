#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prompt affinity on the agent replay: the gateway against random routing, in one run.

Starts simulated engines with ample KV memory and `saga serve` in front, replays the same sessions (same seed, same
texts) once through the gateway without any session header and once with a random engine per step, each time on fresh
engines, and prints the cached share of prompt tokens beside what one engine with unlimited KV would reach.
docs/replay.md says how to read it. Exit code 1: the gateway is more than 2 points below that bound, or a step failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALLOWED_POINTS = 2.0
START_S = 20


class BenchError(Exception):
    pass


class Process:
    """A saga process that writes a ready file; ended with SIGTERM."""

    def __init__(self, args, folder, name):
        self.name = name
        self.ready_file = os.path.join(folder, name + ".ready")
        self.log = open(os.path.join(folder, name + ".log"), "w+b")
        self.child = subprocess.Popen([*args, "--ready-file", self.ready_file], stdout=self.log, stderr=self.log)

    def ready(self):
        deadline = time.monotonic() + START_S
        while not os.path.exists(self.ready_file):
            if self.child.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise BenchError(f"{self.name} did not start: {self.log.read().decode(errors='replace').strip()}")
            time.sleep(0.02)
        with open(self.ready_file, encoding="utf-8") as file:
            return json.load(file)["listen"]

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(15)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.log.close()


def start_engines(args, folder, name):
    listen = ["--listen", "127.0.0.1:0"] * args.engines
    engines = Process(
        [args.saga, "engine", *listen, "--speed", str(args.engine_speed), "--kv-tokens", str(args.kv_tokens), "--quiet"],
        folder, name)
    try:
        return engines, ["http://" + address for address in engines.ready()]
    except BenchError:
        engines.stop()
        raise


def replay(args, urls, *more):
    command = [args.saga, "bench", "--json", "--speed", str(args.speed), "--seed", str(args.seed),
               "--sessions", str(args.sessions), "--scale-tokens", str(args.scale_tokens), *more]
    if args.rate:
        command += ["--rate", str(args.rate)]
    if args.trace:
        command += ["--trace", args.trace]
    for url in urls:
        command += ["--url", url]
    if args.json:
        command.append("--quiet")
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise BenchError(f"no result from: {' '.join(command)}") from None


def run_gateway(args, folder):
    engines, urls = start_engines(args, folder, "engines-gateway")
    try:
        flags = [flag for url in urls for flag in ("--engine", url)]
        gateway = Process([args.saga, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", *flags],
                          folder, "gateway")
        try:
            return replay(args, ["http://" + gateway.ready()[0]])
        finally:
            gateway.stop()
    finally:
        engines.stop()


def run_direct(args, folder, spread):
    engines, urls = start_engines(args, folder, "engines-" + spread)
    try:
        return replay(args, urls, "--spread", spread)
    finally:
        engines.stop()


def row(name, result):
    cached, bound = 100 * result["cached_ratio"], 100 * result["unlimited_kv_cached_ratio"]
    return (f"{name:<24}{cached:8.2f} %{bound:8.2f} %{cached - bound:+9.2f}{100 * result['same_engine_ratio']:9.2f} %"
            f"{result['busiest_engine_ratio']:8.2f}x{1e3 * result['ttft_s']['p50']:9.1f}{1e3 * result['ttft_s']['p90']:9.1f}"
            f"{result['tct_s']['mean']:9.2f}{result['steps_failed']:7d}")


def verdict(results):
    gateway, random = results["gateway"], results["random"]
    short = 100 * (gateway["unlimited_kv_cached_ratio"] - gateway["cached_ratio"])
    failed = gateway["steps_failed"] + gateway["sessions_failed"] + random["steps_failed"]
    fine = short <= ALLOWED_POINTS and failed == 0 and gateway["steps_done"] == gateway["steps_planned"]
    gain = 100 * (gateway["cached_ratio"] - random["cached_ratio"])
    text = (f"{'met' if fine else 'MISSED'}: {short:.2f} points below one engine with unlimited KV (allowed: "
            f"{ALLOWED_POINTS:g}), {gain:.2f} points above random routing, {failed} failures")
    return fine, text


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--saga", default=os.path.join(ROOT, "build", "release", "saga"), help="the program")
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--engines", type=int, default=4)
    parser.add_argument("--speed", type=float, default=200, help="waits between steps are this much shorter")
    parser.add_argument("--engine-speed", type=float, default=20, help="modelled seconds per real second")
    parser.add_argument("--kv-tokens", type=int, default=20_000_000, help="KV memory of an engine")
    parser.add_argument("--scale-tokens", type=float, default=1)
    parser.add_argument("--rate", type=float, help="sessions a second (default: all within 30 s)")
    parser.add_argument("--trace", help="agent steps file instead of the built-in sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main():
    args = options()
    if not os.access(args.saga, os.X_OK):
        sys.exit(f"{args.saga} is missing: run ./dev build first")
    results = {}
    try:
        with tempfile.TemporaryDirectory(prefix="saga-replay-") as folder:
            results["gateway"] = run_gateway(args, folder)
            results["random"] = run_direct(args, folder, "random")
    except BenchError as error:
        sys.exit(f"bench/replay.py: {error}")
    fine, text = verdict(results)
    if args.json:
        print(json.dumps({"met": fine, "verdict": text, "results": results}, indent=2))
    else:
        print(f"\n{args.sessions} sessions, {args.engines} engines, seed {args.seed}, "
              f"{results['gateway']['steps_done']} steps\n")
        print(f"{'':<24}{'cached':>10}{'bound':>10}{'points':>9}{'stayed':>11}{'busiest':>9}{'TTFT p50':>9}{'p90 ms':>9}"
              f"{'TCT s':>9}{'failed':>7}")
        print(row("gateway, no header", results["gateway"]))
        print(row("random engine per step", results["random"]))
        print("\n" + text)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
