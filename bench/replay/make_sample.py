#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Picks the sample of agent sessions that ships with the project (data/README.md).

usage: make_sample.py AGENT_STEPS.jsonl.gz OUT.jsonl.gz

Rows are copied as they are; whole session families (a session and its sub-agents) are kept or left out.
The same input gives the same bytes.
"""
import gzip
import json
import random
import sys

SEED = 20240
MIN_STEPS = 3
MAX_STEPS = 150
MAX_PROMPT_TOKENS = 200_000

# Sources whose repositories carry a licence that asks for nothing an Apache-2.0 project cannot give, and how
# many root sessions to take: (source, those with sub-agents, all).
TAKE = [
    ("weka-cc", 5, 62),
    ("lmcache-miniswe", 0, 12),
    ("lmcache-magagent", 0, 8),
    ("taubench-airline", 0, 18),
]


def read_families(path):
    """{source: {root id: [[line, row], ...]}}, roots and rows in file order."""
    families = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            root = row.get("par", row["s"])
            families.setdefault(row["src"], {}).setdefault(root, []).append((line, row))
    return families


def is_usable(root, rows):
    own = [row for _, row in rows if row["s"] == root]
    return (
        MIN_STEPS <= len(own) <= MAX_STEPS
        and len(rows) <= 2 * MAX_STEPS
        and all(0 < row["in"] <= MAX_PROMPT_TOKENS for _, row in rows)
    )


def pick(roots, with_subs, total, rng):
    usable = sorted(root for root, rows in roots.items() if is_usable(root, rows))
    parents = [root for root in usable if any("par" in row for _, row in roots[root])]
    chosen = rng.sample(parents, min(with_subs, len(parents)))
    chosen += rng.sample([root for root in usable if root not in parents], total - len(chosen))
    return sorted(chosen)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    families = read_families(sys.argv[1])
    rng = random.Random(SEED)
    kept, roots, sessions = [], 0, set()
    for source, with_subs, total in TAKE:
        for root in pick(families[source], with_subs, total, rng):
            roots += 1
            for line, row in families[source][root]:
                kept.append(line)
                sessions.add((source, row["s"]))
    with open(sys.argv[2], "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write("".join(kept).encode())
    print(f"{roots} root sessions, {len(sessions) - roots} sub-agents, {len(kept)} steps", file=sys.stderr)


if __name__ == "__main__":
    main()
