# SPDX-License-Identifier: Apache-2.0
"""An event log of the live gateway decides the same in the laboratory (`saga sim --events`)."""
import json
import random
import subprocess
import threading

import pytest

from kit import T, auto, binary, chat, json_reply
from kit.proc import sanitizer_env


def replay(path, *more):
    return subprocess.run([binary(), "sim", "--events", str(path), *more], capture_output=True, text=True,
                          timeout=T(60), check=False, env=sanitizer_env())


@pytest.fixture
def log(gw, mu, tmp_path):
    """Tasks with and without ids, retries, an engine that fails now and then, one that leaves."""
    path = tmp_path / "events"
    engines = [mu(), mu(), mu()]
    engines[1].script = json_reply({"error": {"message": "no"}}, status=503)
    g = gw(*engines, args=["--record-events", str(path)])
    rng = random.Random(1)

    def task(n):
        head = [("x-session-id", f"task-{n}")] if n % 2 else []
        for k in range(4):
            g.post(chat(f"task {n}", n=k if rng.random() < 0.9 else max(k - 1, 0)), headers=head)

    threads = [threading.Thread(target=task, args=(n,)) for n in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    engines[1].script = auto()
    assert g.admin_call("DELETE", "/saga/v1/sessions/task-1")[0] == 200
    assert g.admin_call("DELETE", f"/saga/v1/engines/{g.engines()[0]['name']}")[0] == 200
    for n in range(12, 20):
        task(n)
    g.signal()
    g.expect_exit(0)
    return path


def test_replays_to_identical_decisions(log):
    done = replay(log, "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    got = json.loads(done.stdout)
    assert got["differences"] == 0 and got["steps"] >= 80 and got["effects"] > got["steps"]
    assert replay(log).stdout.startswith("events")


def test_another_decision_is_found(log):
    lines = log.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith('{"ef":"submit"'))
    lines[at] = lines[at].replace('"attempt":1', '"attempt":7')
    log.write_text("".join(lines))
    done = replay(log, "--json")
    assert done.returncode == 1
    got = json.loads(done.stdout)
    assert got["differences"] >= 1 and got["first_difference_line"] == at + 1


def test_what_is_no_log_is_said(log, tmp_path):
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:5]) + '{"ev":"nonsense"}\n')
    done = replay(log)
    assert done.returncode == 1 and "line 6" in done.stderr
    log.write_text("".join(lines[1:]))  # without the limits
    assert replay(log).returncode == 1
    log.write_text("".join(lines)[:-40])  # cut in its last line
    assert replay(log).returncode == 0
    done = replay(tmp_path / "absent")
    assert done.returncode == 1 and "absent" in done.stderr
