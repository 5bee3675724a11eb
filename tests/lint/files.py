#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each file has its licence line first and at most 700 lines; a header's guard is its path in capitals."""

import re

from lintkit import Check

MAX_LINES = 700
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def main():
    check = Check(__doc__)
    for path in check.sources(".c", ".h", ".def", ".py", ".js", ".mjs", ".sh", "CMakeLists.txt"):
        text = check.read(path)
        lines = text.splitlines()
        if len(lines) > MAX_LINES:
            check.report(path, f"{len(lines)} lines, more than {MAX_LINES}")
        if not any(LICENCE in line for line in lines[:2]):
            check.report(path, f"does not begin with '{LICENCE}'")
        if path.endswith(".h"):
            guard = re.sub(r"\W", "_", path).upper()
            if not re.search(rf"^#ifndef {guard}\n#define {guard}\n", text, re.MULTILINE):
                check.report(path, f"the include guard is not {guard}")
    check.finish()


main()
