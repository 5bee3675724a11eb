#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The laboratory gives the same run, bit for bit, whatever compiled it: hashes over all events of short fixed runs.

usage: event_hash.py SAGA

A change of what is decided, of the model or of the built-in sample changes them: then put the new ones here, after a
look at why. A difference between two builds of one tree is a bug.
"""
import json
import subprocess
import sys

POLICIES = ("prefix_affinity,round_robin,power_of_two,saga,lpm,continuum,autellix,kvflow,thunderagent,vllm_program,"
            "regime,saga_paper,sfq,working_set,prefix_tree,perfect,unlimited,las:tier-tokens=40000")
RUNS = ["--hours", "0.1", "--load", "0.5", "--kv-scale", "0.1", "--jobs", "1",
        "--policies", POLICIES]
WANTED = {
    "swe": {
        "prefix_affinity": "085423f244c427c4",
        "round_robin": "c947e512e5cbcf0f",
        "power_of_two": "c6c2a4c0e5f6b578",
        "saga": "ef499b6a8969e1e2",
        "lpm": "b3788920715b16dd",
        "continuum": "7cffdf4342bac5f2",
        "autellix": "ec7a1eacf0d47787",
        "kvflow": "244fc6292e67df83",
        "thunderagent": "0905783a5d8b157b",
        "vllm_program": "8da5be9aa542604f",
        "regime": "6272384e68927147",
        "saga_paper": "2b866824fbb76eca",
        "sfq": "7cffdf4342bac5f2",
        "working_set": "c7493236eafe227b",
        "prefix_tree": "26593dd93bbe8ea8",
        "perfect": "c7493236eafe227b",
        "unlimited": "06b24780fa98432a",
        "las:tier-tokens=40000": "881ff966e717e7df",
    },
    "mix": {
        "prefix_affinity": "621772bebbf889f3",
        "round_robin": "64de454fbffe320b",
        "power_of_two": "bb61b643258334af",
        "saga": "1c41a7e95de45619",
        "lpm": "bdc8b680da2652ec",
        "continuum": "54d0f6f4f71d2501",
        "autellix": "db976de7130001ce",
        "kvflow": "d64396e8f635abc8",
        "thunderagent": "fcadc31b8115e858",
        "vllm_program": "cb1902a2206fa29e",
        "regime": "7de9e8ccdd711533",
        "saga_paper": "c369b648de75f1cc",
        "sfq": "b9ac36a4d1276814",
        "working_set": "fcadc31b8115e858",
        "prefix_tree": "4e262638bfc41fd1",
        "perfect": "5fbead4e2fe3ee80",
        "unlimited": "a4ffe5e56214b535",
        "las:tier-tokens=40000": "efbaaad71660b505",
    },
}


def hashes(saga, workload):
    done = subprocess.run([saga, "sim", "--workload", workload, *RUNS, "--json", "-"], stdout=subprocess.PIPE, check=True)
    return {run["policy"]: run["event_hash"] for run in json.loads(done.stdout)["runs"]}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    is_fine = True
    for workload, wanted in WANTED.items():
        got = hashes(sys.argv[1], workload)
        for policy in got:
            same = got[policy] == wanted.get(policy)
            is_fine = is_fine and same
            print(f"{workload:<5}{policy:<26}{got[policy]}" + ("" if same else f"   was {wanted.get(policy)}"))
    sys.exit(0 if is_fine else 1)


main()
