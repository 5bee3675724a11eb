#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the checks, all or those named: run.py [--build DIR] [CHECK...]"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKS = ("files", "layers", "cycles", "purity", "headers", "banned", "format", "tidy")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(HERE.parents[1] / "build/release"))
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    args = parser.parse_args()
    for name in args.checks:
        if name not in CHECKS:
            parser.error(f"no check {name}; there are: {' '.join(CHECKS)}")
    failed = [
        name
        for name in args.checks or CHECKS
        if subprocess.run((sys.executable, HERE / f"{name}.py", "--build", args.build), check=False).returncode
    ]
    print(f"lint: {'failed: ' + ' '.join(failed) if failed else 'clean'}")
    sys.exit(1 if failed else 0)


main()
