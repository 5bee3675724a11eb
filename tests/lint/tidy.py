#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy 14 over the sources of the compile database (.clang-tidy).

A source that was clean is not checked again until its preprocessed text, its command or .clang-tidy changes.
"""

import hashlib
import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lintkit import Check


def key_of(entry, config):
    """Hash of all that the result depends on; comments count, they may hold a NOLINT."""
    command = shlex.split(entry["command"])
    if "-o" in command:
        at = command.index("-o")
        del command[at : at + 2]
    text = subprocess.run((*command, "-E", "-C"), cwd=entry["directory"], capture_output=True, check=False).stdout
    return hashlib.sha256(config + entry["command"].encode() + text).hexdigest()


def tidy(build, path, entry, config):
    clean = build / "tidy" / key_of(entry, config)
    if clean.exists():
        return path, ""
    command = ("clang-tidy", "-p", str(build), "--quiet", os.path.join(entry["directory"], entry["file"]))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        clean.touch()
        return path, ""
    return path, done.stdout.strip() or done.stderr.strip()


def main():
    check = Check(__doc__)
    config = (Path(__file__).resolve().parents[2] / ".clang-tidy").read_bytes()
    ours = set(check.sources(".c"))
    jobs = {}
    for entry in json.loads((check.build / "compile_commands.json").read_text(encoding="utf-8")):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), check.root)
        if path in ours:
            jobs[path] = entry
    (check.build / "tidy").mkdir(exist_ok=True)
    check.looked_at = len(jobs)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, errors in pool.map(lambda job: tidy(check.build, *job, config), sorted(jobs.items())):
            if errors:
                check.report(path, f"clang-tidy\n{errors}")
    check.finish()


main()
