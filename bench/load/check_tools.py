#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that bench-load and bench-mock count right, by running them against each other without a gateway:
check_tools.py FOLDER (where the two programs are). No figure of speed is looked at."""

import json
import subprocess
import sys
import urllib.request


def main():
    folder = sys.argv[1]
    failed = []
    mock = subprocess.Popen([f"{folder}/bench-mock", "--replicas", "2"], stdout=subprocess.PIPE, text=True)
    port = json.loads(mock.stdout.readline())["ports"][1]

    def load(mode, **flags):
        command = [f"{folder}/bench-load", mode, "--to", f"127.0.0.1:{port}", "--mock", f"127.0.0.1:{port}"]
        for name, value in flags.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)
        return json.loads(done.stdout.splitlines()[-1])

    def expect(what, value, wanted):
        if value != wanted:
            failed.append(f"{what}: {value!r}, expected {wanted!r}")

    def ask(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return json.loads(answer.read())

    try:
        got = load("small", connections=8, requests=500)
        expect("small__closed_loop__all_answered", (got["whole"], got["ok"], got["delay_ms"]["n"]), (True, 500, 500))
        got = load("small", connections=8, requests=100, rate=1000)
        expect("small__open_loop__all_answered", (got["whole"], got["ok"]), (True, 100))
        got = load("streams", streams=10, chunks=7, interval_us=500, rounds=3)
        expect("streams__three_rounds__every_event_read", (got["ok"], got["events"], got["event_ms"]["n"]), (30, 210, 210))
        expect("streams__end__done_seen", got["no_done"], 0)
        got = load("streams", streams=2, chunks=3, interval_us=500, chunk_bytes=30000)
        expect("streams__event_larger_than_a_read__found", got["events"], 6)
        got = load("agent", sessions=6, steps=25, in_flight=3, chunks=2, interval_us=100)
        expect("agent__one_replica__all_stay", (got["ok"], got["followed"], got["stayed"], got["served"][1]), (150, 144, 144, 150))
        expect("agent__25_steps__mean_prompt_is_400_kb", 390 < got["sent_bytes"] / 150 / 1000 < 420, True)
        for before_any in (0, 1):
            got = load("leave", streams=20, chunks=1000, before_any=before_any)
            expect(f"leave__before_any_{before_any}__each_departure_seen", (got["seen"], got["still_open"]), (20, 0))
            expect(f"leave__before_any_{before_any}__times_are_later", got["delay_ms"]["p50"] > 0, True)
        ask("/mock/reset")
        got = load("silent", streams=50)
        expect("silent__stdin_ends__held_until_then", (got["whole"], got["events"]), (True, 50))
        stats = ask("/mock/stats")["replicas"]
        expect("mock__counts_by_replica", [r["requests"] for r in stats], [0, 50])
        expect("mock__silent_clients_gone__nothing_open", (stats[1]["open"], stats[1]["left"]), (0, 50))
    finally:
        mock.terminate()
        expect("mock__sigterm__exits_0", mock.wait(10), 0)
    for text in failed:
        print(f"FAILED {text}")
    print(f"check_tools: {len(failed)} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
