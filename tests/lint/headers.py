#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone, twice in a row, without a warning; those of pure folders in strict C17."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

from lintkit import PURE_FOLDERS, Check

WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wstrict-prototypes", "-Wundef", "-Werror")


def compile_alone(root, path):
    is_pure = any(path.startswith(folder + "/") for folder in PURE_FOLDERS)
    standard = ("-std=c17",) if is_pure else ("-std=gnu17", "-D_GNU_SOURCE")
    command = ("gcc", "-fsyntax-only", "-x", "c", "-", *standard, *WARNINGS, f"-I{root}")
    deps = ("-isystem", str(root / "build/deps/include"))
    text = f'#include "{path}"\n#include "{path}"\nextern int not_empty;\n'
    done = subprocess.run((*command, *deps), input=text, capture_output=True, text=True, check=False)
    return path, done.returncode, done.stderr.strip()


def main():
    check = Check(__doc__)
    headers = check.sources(".h")
    check.looked_at = len(headers)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, errors in pool.map(lambda p: compile_alone(check.root, p), headers):
            if code:
                check.report(path, f"does not compile alone\n{errors}")
    check.finish()


main()
