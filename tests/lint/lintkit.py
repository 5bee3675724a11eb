# SPDX-License-Identifier: Apache-2.0
"""What the checks share: which files are ours, C text without comments, cycles, the closing report.

Every check is a program `<check>.py [--root DIR] [--build DIR] [FILE...]`: it prints one line per finding, then how
many files it looked at, and exits 1 when it found something or looked at nothing. --root is the tree to look at (a
planted one in the self-tests), --build a build folder of it, FILE restricts the checks that work file by file.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

TOP_FOLDERS = ("common", "proto", "aeg", "routing", "coordinator", "node_agent", "simulator", "bench", "cli", "tests")
PURE_FOLDERS = ("common/base", "aeg", "routing", "coordinator/core", "node_agent/core", "simulator/model")
PURE_FOLDERS += ("simulator/cluster",)


class Check:
    """One run of one check: its arguments, its findings, what it looked at."""

    def __init__(self, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
        parser.add_argument("--build", type=Path)
        parser.add_argument("files", nargs="*", metavar="FILE", help="look only at these, paths from the root")
        args = parser.parse_args()
        self.root = args.root.resolve()
        self.build = (args.build or self.root / "build/release").resolve()
        self.only = set(args.files)
        self.looked_at = 0
        self.findings = 0

    def sources(self, *suffixes):
        """Paths from the root of our files with these suffixes, sorted."""
        found = []
        for top in TOP_FOLDERS:
            for folder, _, names in os.walk(self.root / top):
                rel = Path(folder).relative_to(self.root)
                if rel.parts[:3] == ("tests", "lint", "bad"):
                    continue
                found += [str(rel / name) for name in names if name.endswith(suffixes)]
        return sorted(f for f in found if not self.only or f in self.only)

    def read(self, path):
        self.looked_at += 1
        return (self.root / path).read_text(encoding="utf-8")

    def archives(self):
        """(name, is_pure, path) of each archive of the build, as CMake wrote them down."""
        listing = (self.build / "archives.txt").read_text(encoding="utf-8")
        rows = [line.split() for line in listing.splitlines() if line]
        for name, _, path in rows:
            if not os.path.exists(path):
                self.report(name, "is not built, so it was not looked at")
        self.looked_at += len(rows)
        return [(name, kind == "pure", path) for name, kind, path in rows if os.path.exists(path)]

    def report(self, where, what):
        self.findings += 1
        print(f"{where}: {what}")

    def finish(self):
        name = Path(sys.argv[0]).stem
        print(f"{name}: {self.looked_at} files looked at, {self.findings} findings")
        if self.looked_at == 0:
            print(f"{name}: looked at no file")
        sys.exit(1 if self.findings or self.looked_at == 0 else 0)


def run(*command):
    """Output of a command that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout


_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def strip_comments(text, strings_too=False):
    """C text with comments (and the insides of literals) blanked; line numbers stay."""

    def blank(match):
        token = match.group()
        if token[0] == "/":
            return " " + "\n" * token.count("\n")
        return token[0] * 2 if strings_too else token

    return _TOKEN.sub(blank, text)


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def includes(text):
    """(line, '"' or '<', name) of each include."""
    text = strip_comments(text)
    return [(text.count("\n", 0, m.start()) + 1, m.group(1), m.group(2)) for m in _INCLUDE.finditer(text)]


def cycles(graph):
    """Groups of nodes that reach each other (Tarjan, without recursion), each sorted."""
    index, low, on_stack, stack, groups = {}, {}, set(), [], []
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(sorted(graph[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, edges = work[-1]
            for nxt in edges:
                if nxt not in graph:
                    continue
                if nxt not in index:
                    index[nxt] = low[nxt] = len(index)
                    stack.append(nxt)
                    on_stack.add(nxt)
                    work.append((nxt, iter(sorted(graph[nxt]))))
                    break
                if nxt in on_stack:
                    low[node] = min(low[node], index[nxt])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1:
                        groups.append(sorted(group))
    return groups
