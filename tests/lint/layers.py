#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes go down only: each folder includes itself and what the table grants it, nothing else."""

from lintkit import Check, includes

EVERYTHING = ("common", "proto", "aeg", "routing", "coordinator", "node_agent", "simulator")

# Folder -> folders it may include beside its own. A file belongs to the longest folder that matches.
ALLOWED = {
    "common/base": (),
    "common/rt": ("common/base",),
    "common/io": ("common/base", "common/rt"),
    "proto": ("common/base",),
    "aeg": ("common/base",),
    "routing": ("common/base",),
    "coordinator/core": ("common/base", "aeg", "routing"),
    "node_agent/core": ("common/base", "routing"),
    "coordinator/io": ("coordinator", "common", "proto"),
    "node_agent/io": ("node_agent", "common", "proto"),
    "simulator/model": ("common/base",),
    "simulator/worker": ("simulator/model", "common"),
    "simulator/cluster": ("simulator/model", "coordinator/core", "node_agent/core", "aeg", "routing", "common"),
    "cli": EVERYTHING + ("bench/aeg", "bench/lab", "bench/replay"),
    "bench": EVERYTHING,
    "tests": EVERYTHING + ("cli", "bench"),
}

# Third-party header -> folders that may include it; the shells at the top may include all of them.
THIRD_PARTY = {
    "yyjson.h": ("common/base", "simulator/worker"),
    "xxhash.h": ("common/base",),
    "yaml.h": ("common/rt",),
    "pthread.h": ("common/rt", "common/io"),
    "llhttp.h": ("common/io", "simulator/worker"),
    "openssl/": ("common/io",),
    "microhttpd.h": ("common/io",),
    "zlib.h": ("common/io",),
    "sys/epoll.h": ("common/io",),
    "sys/socket.h": ("common/io",),
    "cmocka.h": (),
}
SHELLS = ("coordinator/io", "node_agent/io", "cli", "bench", "tests")


def is_in(path, folder):
    return path == folder or path.startswith(folder + "/")


def layer_of(path):
    return max((f for f in ALLOWED if is_in(path, f)), key=len, default=None)


def check_ours(check, where, layer, name):
    if not (check.root / name).is_file():
        check.report(where, f'"{name}" is no file: includes are spelled from the root')
    elif name.endswith(".c"):
        check.report(where, f'"{name}" is a source file')
    elif not any(is_in(name, folder) for folder in (layer, *ALLOWED[layer])):
        check.report(where, f'{layer} may not include "{name}"')


def check_third_party(check, where, layer, name):
    for header, folders in THIRD_PARTY.items():
        hit = name.startswith(header) if header.endswith("/") else name == header
        if hit and layer not in (*SHELLS, *folders):
            check.report(where, f"{layer} may not include <{name}>")


def main():
    check = Check(__doc__)
    for path in check.sources(".c", ".h", ".def"):
        layer = layer_of(path)
        text = check.read(path)
        if layer is None:
            check.report(path, "this folder is in no layer: add it to the table in tests/lint/layers.py")
            continue
        for line, quote, name in includes(text):
            where = f"{path}:{line}"
            (check_ours if quote == '"' else check_third_party)(check, where, layer, name)
    check.finish()


main()
