#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The laboratory against the truth: what `saga sim` foresees beside what was measured.

  truth.py simulated    `saga engine` in real time behind `saga serve`: the same sessions and arrivals, the same
                        profile. What differs is what the laboratory leaves out: HTTP, tokens as text, real clocks.
  truth.py llama --server PATH [--model FILE.gguf]
                        llama-server behind `saga serve`, twice on fresh engines with other sessions: a profile is
                        fitted to the first run and has to foresee the second.

Nothing is downloaded: docs/truth.md says where the server comes from. Without --model a small model of random
weights is written for llama-server. Exit status: 0 within the goals (hit share 5 points, TCT 20 %), 1 not, 2
something is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from replay import ROOT, BenchError, Process
from tiny_gguf import write_model

POINTS, TCT_RATIO = 5.0, 0.20
START_S = 300


def call(command, what):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0 and not done.stdout:
        raise BenchError(f"{what}: {done.stderr.strip() or done.returncode}")
    return done.stdout


class Server:
    """A real engine: a command that listens on a port and answers /health with 200 once it is ready."""

    def __init__(self, command, port, folder, name):
        self.name, self.url = name, f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(folder, f"{name}.log"), "w+b")
        self.child = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def wait(self):
        deadline = time.monotonic() + START_S
        while True:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                if self.child.poll() is not None or time.monotonic() > deadline:
                    self.log.seek(0)
                    tail = self.log.read().decode(errors="replace").strip().splitlines()[-5:]
                    raise BenchError(f"{self.name} did not start: " + " | ".join(tail)) from None
                time.sleep(0.1)

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()


def free_ports(count):
    import socket
    socks = [socket.socket() for _ in range(count)]
    for sock in socks:
        sock.bind(("127.0.0.1", 0))
    ports = [sock.getsockname()[1] for sock in socks]
    for sock in socks:
        sock.close()
    return ports


def play(args, folder, urls, seed, name):
    """The sessions of one seed through a gateway over these engines; the report's file."""
    flags = [flag for url in urls for flag in ("--engine", url)]
    gateway = Process([args.saga, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                       "--set", f"routing.engine_slots={args.slots}", *flags], folder, f"gateway-{name}")
    try:
        report = call([args.saga, "bench", "--json", "--rows", "--quiet", "--url", "http://" + gateway.ready()[0],
                       "--sessions", str(args.sessions), "--max-steps", str(args.max_steps), "--seed", str(seed),
                       "--scale-tokens", str(args.scale_tokens), "--speed", str(args.speed), "--rate", str(args.rate),
                       "--session-header", "on"], "saga bench")
    finally:
        gateway.stop()
    path = os.path.join(args.keep or folder, f"{name}.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(report)
    return path


def foresee(args, path, profile):
    out = call([args.saga, "sim", "--arrivals-from", path, "--profile", profile, "--engines", str(args.engines),
                "--policies", "saga", "--jobs", "1", "--json", "-"], "saga sim")
    return json.loads(out)["runs"][0]


def compare(title, path, run):
    """Prints measured and foreseen; true when within the goals."""
    with open(path, encoding="utf-8") as file:
        real = json.load(file)
    points = 100 * (run["cached_share"] - real["cached_ratio"])
    tct = run["mean_tct_s"] / real["tct_s"]["mean"] - 1
    first = run["mean_ttft_s"] / real["ttft_s"]["mean"] - 1
    fine = abs(points) <= POINTS and abs(tct) <= TCT_RATIO and real["sessions_failed"] == 0
    print(f"\n{title}: {real['sessions_done']} sessions, {real['steps_done']} steps, {real['sessions_failed']} failed\n"
          f"{'':<28}{'measured':>12}{'foreseen':>12}{'off by':>12}\n"
          f"{'cached prompt tokens, %':<28}{100 * real['cached_ratio']:12.2f}{100 * run['cached_share']:12.2f}"
          f"{points:+9.2f} pt\n"
          f"{'TCT, mean s':<28}{real['tct_s']['mean']:12.3f}{run['mean_tct_s']:12.3f}{100 * tct:+10.1f} %\n"
          f"{'first token, mean ms':<28}{1e3 * real['ttft_s']['mean']:12.1f}{1e3 * run['mean_ttft_s']:12.1f}"
          f"{100 * first:+10.1f} %\n"
          f"{'first token, p99 ms':<28}{1e3 * real['ttft_s']['p99']:12.1f}{1e3 * run['p99_ttft_s']:12.1f}\n"
          f"{'within the goals' if fine else 'NOT within the goals'}")
    return fine


def simulated(args, folder):
    engines = Process([args.saga, "engine", *["--listen", "127.0.0.1:0"] * args.engines, "--profile", args.profile,
                       "--quiet"], folder, "engines")
    try:
        path = play(args, folder, ["http://" + a for a in engines.ready()], args.seed, "simulated")
    finally:
        engines.stop()
    return compare(f"profile {args.profile}, {args.engines} engines", path, foresee(args, path, args.profile))


def write_sizes(args, folder):
    """A profile with the server's sizes; the times in it are only where the fit begins to read."""
    text = call([args.saga, "sim", "profile", "show", "default"], "saga sim profile")
    sizes = {"name": "sizes", "kv_tokens": args.kv_tokens, "max_running": args.slots, "budget_tokens": args.chunk,
             "context_tokens": args.context}
    lines = [f"{key}: {sizes[key]}" if (key := line.split(":")[0]) in sizes else line for line in text.splitlines()]
    path = os.path.join(folder, "sizes.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def start_llama(args, folder, name):
    model = args.model or os.path.join(folder, "tiny.gguf")
    if not os.path.exists(model):
        write_model(model, context=args.context)
    servers = []
    for i, port in enumerate(free_ports(args.engines)):
        servers.append(Server(
            [args.server, "-m", model, "-a", "tiny", "--host", "127.0.0.1", "--port", str(port), "-t", "1", "-tb", "1",
             "-c", str(args.context * args.slots), "-np", str(args.slots), "-b", str(args.chunk), "-ub", str(args.chunk),
             "--cache-ram", "0", "--no-jinja", "--chat-template", "chatml"], port, folder, f"llama-{name}-{i}"))
    return servers


def llama(args, folder):
    paths = []
    for name, seed in (("fit", args.seed), ("held-out", args.seed + 1)):
        servers = start_llama(args, folder, name)
        try:
            for server in servers:
                server.wait()
            paths.append(play(args, folder, [server.url for server in servers], seed, name))
        finally:
            for server in servers:
                server.stop()
    profile = os.path.join(args.keep or folder, "fitted.yaml")
    print(call([args.saga, "sim", "profile", "fit", "--from", paths[0], "--like", write_sizes(args, folder), "--out",
                profile], "the fit"), end="")
    compare("the run that was fitted", paths[0], foresee(args, paths[0], profile))
    return compare("held out", paths[1], foresee(args, paths[1], profile))


DEFAULTS = {
    "simulated": {"sessions": 40, "engines": 2, "slots": 256, "scale_tokens": 0.25, "speed": 60, "rate": 2},
    "llama": {"sessions": 16, "engines": 2, "slots": 8, "scale_tokens": 0.02, "speed": 30, "rate": 0.3},
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=sorted(DEFAULTS))
    parser.add_argument("--saga", default=os.path.join(ROOT, "build", "release", "saga"), help="the program")
    parser.add_argument("--server", help="llama-server")
    parser.add_argument("--model", help="model file (default: one that is written)")
    parser.add_argument("--profile", default="default", help="of the simulated engines")
    parser.add_argument("--engines", type=int)
    parser.add_argument("--sessions", type=int)
    parser.add_argument("--max-steps", type=int, default=8)
    parser.add_argument("--rate", type=float, help="sessions a second")
    parser.add_argument("--speed", type=float, help="waits between steps are this much shorter")
    parser.add_argument("--scale-tokens", type=float)
    parser.add_argument("--slots", type=int, help="steps that an engine runs at once")
    parser.add_argument("--context", type=int, default=8192, help="longest prompt and answer, tokens")
    parser.add_argument("--chunk", type=int, default=512, help="tokens of one iteration")
    parser.add_argument("--kv-tokens", type=int, help="of an engine (default: context times slots)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for the measured runs and the fitted profile")
    args = parser.parse_args()
    for key, value in DEFAULTS[args.what].items():
        if getattr(args, key) is None:
            setattr(args, key, value)
    args.kv_tokens = args.kv_tokens or args.context * args.slots
    return args


def main():
    args = options()
    if not os.access(args.saga, os.X_OK):
        print(f"{args.saga} is missing: run ./dev build first", file=sys.stderr)
        sys.exit(2)
    if args.what != "simulated" and (args.server is None or not os.access(args.server, os.X_OK)):
        print(f"--server: {args.server or 'not given'}; docs/truth.md says where to get it", file=sys.stderr)
        sys.exit(2)
    try:
        with tempfile.TemporaryDirectory(prefix="saga-truth-") as folder:
            if args.keep:
                os.makedirs(args.keep, exist_ok=True)
            fine = simulated(args, folder) if args.what == "simulated" else llama(args, folder)
    except BenchError as error:
        print(f"bench/truth.py: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
