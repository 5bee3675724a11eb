# SPDX-License-Identifier: Apache-2.0
"""`saga ctl` and the admin port it talks to."""
import json
import subprocess

from kit import T, binary, chat, poll
from kit.proc import sanitizer_env


def ctl(g, *argv):
    return subprocess.run([binary(), "ctl", "--admin", g.admin_base, *argv], capture_output=True, text=True,
                          timeout=T(15), check=False, env=sanitizer_env())


def as_json(g, *argv):
    done = ctl(g, *argv, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_status(gw, mu):
    g = gw(mu(), mu())
    g.post(chat())
    got = as_json(g, "status")
    assert got["in_flight"] == 0 and got["sessions"] == 1 and len(got["engines"]) == 2
    text = ctl(g, "status")
    assert text.returncode == 0 and text.stdout.strip()


def test_engines_shows_each(gw, mu):
    m = mu()
    g = gw(m)
    done = ctl(g, "engines")
    assert done.returncode == 0 and m.url in done.stdout and "up" in done.stdout


def test_add_and_remove_engine(gw, mu):
    g, m = gw(), mu()
    assert ctl(g, "add-engine", m.url).returncode == 0
    poll(lambda: len(g.up()) == 1, 3, "added")
    assert g.post(chat()).status == 200
    assert ctl(g, "remove-engine", g.engines()[0]["name"]).returncode == 0
    poll(lambda: not g.engines(), 3, "removed")


def test_wrong_things_fail_with_a_reason(gw):
    g = gw()
    for argv in (["add-engine", "ftp://x"], ["remove-engine", "nobody"], ["explain", "no-such-request"]):
        done = ctl(g, *argv)
        assert done.returncode == 1 and done.stderr.strip(), argv


def test_sessions(gw, mu):
    g = gw(mu())
    for s in range(3):
        g.post(chat(f"{s}"), headers=[("x-session-id", f"s{s}")])
    done = ctl(g, "sessions")
    assert done.returncode == 0 and len(done.stdout.strip().splitlines()) >= 3


def test_explain(gw, mu):
    g = gw(mu(), mu())
    reply = g.post(chat(), headers=[("x-request-id", "explain-me-1"), ("x-session-id", "s1")])
    done = ctl(g, "explain", "explain-me-1")
    assert done.returncode == 0 and reply.header("x-saga-engine") in done.stdout
    assert ctl(g, "explain", "other").returncode == 1


def test_drain_ends_the_gateway(gw, mu):
    g = gw(mu())
    assert ctl(g, "drain").returncode == 0
    poll(lambda: g.get_or_none("/ready") != 200, 3, "not ready any more")
    g.checked = True
    if g.proc.poll() is None:
        g.signal()
    assert g.wait_exit() == 0


def test_nobody_there_is_a_clear_error():
    done = subprocess.run([binary(), "ctl", "--admin", "http://127.0.0.1:1", "status"], capture_output=True, text=True,
                          timeout=T(15), check=False)
    assert done.returncode == 1 and "127.0.0.1:1" in done.stderr


def test_admin_port_answers(gw, mu):
    g = gw(mu())
    g.post(chat())
    assert g.admin_call("GET", "/health")[0] == 200
    assert g.admin_call("GET", "/ready")[0] == 200
    assert g.admin_call("GET", "/nonsense")[0] == 404
    assert g.admin_call("POST", "/saga/v1/engines", "{broken")[0] == 400
    assert g.admin_call("PUT", "/saga/v1/engines", "{}")[0] in (404, 405)
    text = g.metrics_text()
    assert "# HELP" in text and "# TYPE" in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))
