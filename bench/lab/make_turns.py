#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions that all look alike, for `saga sim --workload any`: the load of the vLLM blog on Mooncake Store (2026-05-06).

Every session has the same system prompt, a first prompt of its own, and turns that each bring so many new tokens. Prompts grow
by the answer and what comes new. Waits are exponential around the median of the blog's trace (5.2 s). Writes JSON lines as
bench/replay/data/README.md describes them.
"""

import argparse
import json
import math
import random
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--system", type=int, default=20000, help="tokens that all have in common")
    parser.add_argument("--first", type=int, default=10000, help="own tokens of the first prompt")
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--new", type=int, default=2048, help="tokens that each further turn brings")
    parser.add_argument("--out", type=int, default=900, help="tokens of an answer")
    parser.add_argument("--gap", type=float, default=5.2, help="median wait between two turns, seconds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    for s in range(options.sessions):
        prompt = options.system + options.first
        for turn in range(options.turns):
            line = {"src": "turns", "s": f"s{s}", "i": turn, "kind": "tool" if turn else "user", "in": prompt,
                    "new": options.new if turn else prompt, "out": options.out, "tool": "work", "sys": "common",
                    "sys_tok": options.system, "gap": round(draw.expovariate(math.log(2) / options.gap), 3)}
            if turn == options.turns - 1:
                del line["gap"], line["tool"]
            sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
            prompt += options.out + options.new


main()
