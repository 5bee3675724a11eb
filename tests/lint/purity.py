#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pure archives touch nothing: they call only what is allowed here and hold no mutable data."""

import re

from lintkit import PURE_FOLDERS, Check, run

# Without state, clock, file, locale or memory of their own.
ALLOWED = re.compile(
    r"_*(mem(cpy|move|set|cmp|chr|mem|rchr)|str(n?len|n?cmp|chr|rchr|str|spn|cspn))(_chk)?"
    r"|qsort|bsearch|assert_fail|__stack_chk_fail|__popcountdi2|_GLOBAL_OFFSET_TABLE_"
    r"|(exp|exp2|expm1|log|log2|log10|log1p|pow|sqrt|cbrt|floor|ceil|round|trunc|l?lround|fmod|fmin|fmax|fabs"
    r"|ldexp|frexp|hypot|erf|lgamma|nearbyint|rint|l?lrint)f?"
)
# The base's own extra: memory (behind struct mem), formatting, JSON, hashing.
ALLOWED_IN = {
    "common_base": re.compile(r"malloc|calloc|realloc|free|_*v?snprintf(_chk)?|strto(d|ull|ll|ul|l)|yyjson_.*|XXH.*"),
}
MUTABLE = re.compile(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)")


def defined(path):
    return {line.split()[0] for line in run("nm", "-g", "-P", "--defined-only", path).splitlines() if " " in line}


def check_calls(check, name, path, pure_symbols):
    for line in run("nm", "-A", "-u", path).splitlines():
        where, symbol = line.split(": ")[0], line.split()[-1]
        own = ALLOWED_IN.get(name)
        if symbol in pure_symbols or ALLOWED.fullmatch(symbol) or (own and own.fullmatch(symbol)):
            continue
        check.report(f"{name}({where.rsplit(':', 1)[-1]})", f"calls {symbol}, which is not pure")


def check_data(check, name, path):
    member = "?"
    for line in run("readelf", "-SW", path).splitlines():
        if line.startswith("File: "):
            member = line.rsplit("(", 1)[-1].rstrip(")")
        row = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)", line)
        if row and MUTABLE.match(row.group(1)) and int(row.group(2), 16) > 0:
            check.report(f"{name}({member})", f"has mutable data: {int(row.group(2), 16)} bytes in {row.group(1)}")


def main():
    check = Check(__doc__)
    archives = check.archives()
    must_be_pure = {folder.replace("/", "_") for folder in PURE_FOLDERS}
    pure_symbols = set().union(*(defined(path) for _, is_pure, path in archives if is_pure))
    check.looked_at = 0
    for name, is_pure, path in archives:
        if name in must_be_pure and not is_pure:
            check.report(name, "its folder is pure, so saga_archive() needs PURE")
        if is_pure:
            check.looked_at += len(run("ar", "t", path).split())
            check_calls(check, name, path, pure_symbols)
            check_data(check, name, path)
    check.finish()


main()
