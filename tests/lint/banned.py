#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls and constructs we do not use. A line that must is marked `LINT_ALLOW(name): reason` in a comment."""

import re

from lintkit import Check, strip_comments

ANYWHERE = (
    "strcpy strcat sprintf vsprintf strtok atoi atol atof gets alloca rand srand random time gmtime localtime ctime "
    "signal system popen sleep usleep"
).split()
# Construct -> (pattern, folders where it is fine).
ELSEWHERE = {
    "nanosleep": (r"(?<![\w.>])(?:clock_)?nanosleep\s*\(", ("common/rt", "bench")),
    "setjmp": (r"(?<![\w.>])(?:setjmp|longjmp|sigsetjmp)\s*\(", ("tests",)),
    "malloc": (r"(?<![\w.>])(?:malloc|calloc|realloc|free|strdup|strndup|asprintf)\s*\(", ("common", "tests", "bench/load", "bench/micro")),
    "_GNU_SOURCE": (
        r"#\s*define\s+_GNU_SOURCE",
        ("common/rt", "common/io", "coordinator/io", "node_agent/io", "simulator/worker", "cli", "bench", "tests"),
    ),
    "typedef": (r"\btypedef\s+(?:const\s+)?(?:struct|enum|union)\b[^;({]*[;{]", ()),
}
PATTERNS = {name: (re.compile(rf"(?<![\w.>]){name}\s*\("), ()) for name in ANYWHERE}
PATTERNS |= {name: (re.compile(pattern), folders) for name, (pattern, folders) in ELSEWHERE.items()}


def main():
    check = Check(__doc__)
    for path in check.sources(".c", ".h", ".def"):
        text = check.read(path)
        lines = text.splitlines()
        code = strip_comments(text, strings_too=True)
        for name, (pattern, folders) in PATTERNS.items():
            if any(path.startswith(folder + "/") for folder in folders):
                continue
            for match in pattern.finditer(code):
                line = code.count("\n", 0, match.start()) + 1
                if f"LINT_ALLOW({name}): " not in lines[line - 1]:
                    check.report(f"{path}:{line}", f"{match.group().rstrip('( ;{')} is not used here")
    check.finish()


main()
