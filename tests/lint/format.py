#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C files are as clang-format 14 writes them (./dev fmt)."""

import subprocess

from lintkit import Check


def main():
    check = Check(__doc__)
    files = check.sources(".c", ".h")
    check.looked_at = len(files)
    if files:
        command = ("clang-format", "--dry-run", *files)
        done = subprocess.run(command, cwd=check.root, capture_output=True, text=True, check=False)
        spots = [line.split(":") for line in done.stderr.splitlines() if "clang-format-violations" in line]
        first = {}
        for path, line, *_ in spots:
            first.setdefault(path, line)
        for path, line in first.items():
            check.report(f"{path}:{line}", "not formatted from here")
        if done.returncode and not spots:
            check.report("clang-format", done.stderr.strip())
    check.finish()


main()
