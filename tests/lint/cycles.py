#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No circles between files: neither of includes, nor of calls across the objects of our archives.

A file is its stem: x.c, x.h and its private header x_priv.h together. Calls are read with nm from the archives that CMake listed; what goes
through a function pointer is not seen, nor meant to be.
"""

from collections import defaultdict

from lintkit import Check, cycles, includes, run

# Link-time seam: declared at the bottom, supplied by whoever links (common/rt or the test kit).
SEAMS = {"assert_fail"}


def stem(path):
    return path.rsplit(".", 1)[0].removesuffix("_priv")


def include_graph(check):
    graph = defaultdict(set)
    for path in check.sources(".c", ".h", ".def"):
        graph[stem(path)] |= {stem(name) for _, quote, name in includes(check.read(path)) if quote == '"'}
        graph[stem(path)].discard(stem(path))
    return graph


def call_graph(check):
    defined_in, used_by, graph = {}, defaultdict(set), defaultdict(set)
    for name, _, path in check.archives():
        for line in run("nm", "-A", "-g", "-P", path).splitlines():  # lib.a[member.c.o]: symbol kind ...
            where, symbol, kind = line.split()[:3]
            unit = f"{name}/{where.split('[')[-1].split('.')[0]}"
            if kind == "U":
                used_by[symbol].add(unit)
            elif kind in "TDBRVW":
                defined_in[symbol] = unit
    for symbol, users in used_by.items():
        if symbol in defined_in and symbol not in SEAMS:
            for user in users - {defined_in[symbol]}:
                graph[user].add(defined_in[symbol])
                graph[defined_in[symbol]]  # is a node even when it calls nobody
    return graph


def main():
    check = Check(__doc__)
    for group in cycles(include_graph(check)):
        check.report("includes", "circle between " + ", ".join(group))
    for group in cycles(call_graph(check)):
        check.report("calls", "circle between " + ", ".join(group))
    check.finish()


main()
