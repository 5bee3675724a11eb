#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a check over its planted violations: it must fail, and report each line of the `expect` file there.

usage: planted.py CHECK. The planted tree is tests/lint/bad/CHECK. Its `archives` file, if any, has a line
`NAME pure|shell SOURCE...` for each archive to compile first.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def build(root, out):
    """What a real build folder holds that checks look at: archives, archives.txt, compile_commands.json."""
    commands, rows = [], []
    listing = root / "archives"
    for line in listing.read_text(encoding="utf-8").splitlines() if listing.exists() else ():
        name, kind, *sources = line.split()
        archive, objects = out / f"lib{name}.a", []
        for source in sources:
            objects.append(str(out / (Path(source).name + ".o")))
            command = ["gcc", "-O1", "-fPIC", f"-I{root}", "-c", source, "-o", objects[-1]]
            subprocess.run(command, cwd=root, check=True)
            commands.append({"directory": str(root), "file": source, "command": " ".join(command)})
        subprocess.run(["ar", "rcs", archive, *objects], check=True)
        rows.append(f"{name} {kind} {archive}\n")
    (out / "archives.txt").write_text("".join(rows), encoding="utf-8")
    (out / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")


def main():
    check = sys.argv[1]
    root = HERE / "bad" / check
    expected = [line for line in (root / "expect").read_text(encoding="utf-8").splitlines() if line]
    with tempfile.TemporaryDirectory() as out:
        build(root, Path(out))
        command = (sys.executable, HERE / f"{check}.py", "--root", root, "--build", out)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    missing = [line for line in expected if line not in done.stdout]
    for line in missing:
        print(f"planted, not reported: {line}")
    if missing or done.returncode != 1:
        print(f"{check} exited {done.returncode} and said:\n{done.stdout}{done.stderr}")
    print(f"{check}: {len(expected) - len(missing)} of {len(expected)} planted violations reported")
    sys.exit(1 if missing or not expected or done.returncode != 1 else 0)


main()
