# SPDX-License-Identifier: Apache-2.0
"""The command line: help, wrong calls, configuration files, start errors, SIGHUP."""
import signal
import socket
import subprocess

import pytest

from kit import T, binary, chat, check_error, poll
from kit.proc import BAD_OUTPUT, sanitizer_env

COMMANDS = ["serve", "engine", "bench", "ctl", "config"]


def saga(*argv, timeout=20):
    done = subprocess.run([binary(), *argv], capture_output=True, text=True, timeout=T(timeout), check=False,
                          stdin=subprocess.DEVNULL, env=sanitizer_env())
    for bad in BAD_OUTPUT:
        assert bad not in done.stderr, done.stderr
    return done


def test_help_of_the_program():
    done = saga("--help")
    assert done.returncode == 0 and all(c in done.stdout for c in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command):
    done = saga(command, "--help")
    assert done.returncode == 0 and done.stdout.strip() and not done.stderr


def test_version():
    done = saga("--version")
    assert done.returncode == 0 and done.stdout.startswith("saga ")


@pytest.mark.parametrize("argv", [
    [], ["nonsense"], ["serve", "--nonsense"], ["serve", "--listen"], ["serve", "--listen", "nonsense"],
    ["serve", "--engines", "sim:0"], ["serve", "--engines", "sim:x"], ["serve", "--engine", "ftp://x"],
    ["serve", "--set", "loops"], ["serve", "--set", "loops=0"], ["serve", "--set", "loops=many"],
    ["serve", "--set", "no.such.key=1"], ["serve", "--log-level", "loud"], ["serve", "--loops", "-1"],
    ["serve", "extra"], ["engine", "--nonsense"], ["bench", "--nonsense"], ["ctl"], ["ctl", "nonsense"],
    ["config"], ["config", "nonsense"], ["config", "check"]], ids=lambda a: " ".join(a) or "nothing")
def test_wrong_calls_exit_2(argv):
    done = saga(*argv)
    assert done.returncode == 2, f"exit {done.returncode}: {done.stderr}"
    assert done.stderr.strip()


def test_config_example_round_trip(tmp_path):
    example = saga("config", "example")
    assert example.returncode == 0
    file = tmp_path / "example.yaml"
    file.write_text(example.stdout)
    done = saga("config", "check", str(file))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text, line, words", [
    ("limits:\n  body_bytes: 5000\n  nonsense: 1\n", 3, ["limits.nonsense"]),
    ("loops: many\n", 1, ["loops"]), ("loops: 0\n", 1, ["loops", "1"]), ("log:\n  level: loud\n", 2, ["log.level", "debug"]),
    ("public_mode: perhaps\n", 1, ["public_mode"]), ("loops: 1\nloops: 2\n", 2, ["loops"]), ("loops: [1\n", None, []),
    ("engines:\n  - name: a\n", None, ["url"]), ("engines:\n  - url: http://x:1\n    colour: red\n", 3, ["colour"]),
    ("listen: {}\n", 1, ["listen"]), ("limits: 5\n", 1, ["limits"]), ("loops: 1\n---\nloops: 2\n", None, []),
    ("retry_budget_ratio: 2.0\n", 1, ["retry_budget_ratio"]), ("\tloops: 1\n", None, [])])
def test_config_check_names_file_line_and_key(tmp_path, text, line, words):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    done = saga("config", "check", str(file))
    assert done.returncode == 1, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    assert str(file) in done.stderr
    if line:
        assert f"{file}:{line}" in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_config_check_good_and_missing(tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text("listen: ['127.0.0.1:0', 'unix:/tmp/x']\nengines:\n  - {url: 'http://127.0.0.1:1', name: a}\n")
    assert saga("config", "check", str(file)).returncode == 0
    assert saga("config", "check", str(tmp_path / "none.yaml")).returncode == 1


def test_serve_refuses_a_bad_config(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("nonsense: 1\n")
    done = saga("serve", "--config", str(file))
    assert done.returncode in (1, 2) and f"{file}:1" in done.stderr


def test_port_in_use_is_a_clear_error():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        addr = f"127.0.0.1:{s.getsockname()[1]}"
        done = saga("serve", "--listen", addr, "--admin-listen", "127.0.0.1:0")
        assert done.returncode == 1 and addr in done.stderr and "in use" in done.stderr.lower()
        done = saga("serve", "--listen", "127.0.0.1:0", "--admin-listen", addr)
        assert done.returncode == 1 and addr in done.stderr


def test_admin_beyond_loopback_needs_a_key():
    done = saga("serve", "--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0")
    assert done.returncode in (1, 2) and "key" in done.stderr


def test_admin_key(gw, mu, tmp_path):
    key = tmp_path / "key"
    key.write_text("s3cret\n")
    g = gw(mu(), sets={"admin.key_file": str(key)}, wait=0)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}, {"Authorization": "Basic s3cret"}):
        assert g.admin_call("GET", "/saga/v1/engines", headers=headers)[0] == 401
        assert g.admin_call("POST", "/saga/v1/engines", '{"url":"http://127.0.0.1:1"}', headers)[0] == 401
    assert g.admin_call("GET", "/saga/v1/engines", headers={"Authorization": "Bearer s3cret"})[0] == 200
    g.checked = True
    g.signal()
    assert g.wait_exit() == 0


def test_set_overrides_the_file(gw, mu, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("limits:\n  body_bytes: 100000000\n")
    g = gw(mu(), args=["--config", str(file)], sets={"limits.body_bytes": 2000})
    check_error(g.post(chat("x" * 3000)), 413)


def test_environment_overrides_nothing(gw, mu):
    g = gw(mu(), env={"SAGA_LIMITS_BODY_BYTES": "2000", "HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "nonsense://",
                      "ALL_PROXY": "http://127.0.0.1:1"})
    assert g.post(chat("x" * 3000)).status == 200


def test_sighup_reloads_what_it_can_and_says_the_rest(gw, mu, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("limits:\n  body_bytes: 2000\n")
    g = gw(mu(), args=["--config", str(file)])
    check_error(g.post(chat("x" * 3000)), 413)
    file.write_text("limits:\n  body_bytes: 100000\nloops: 2\n")
    g.signal(signal.SIGHUP)
    poll(lambda: g.post(chat("x" * 3000)).status == 200, 3, "reloaded")
    poll(lambda: "loops" in g.stderr, 2, "says that loops needs a restart")
    file.write_text("limits:\n  body_bytes: nonsense\n")
    g.signal(signal.SIGHUP)
    poll(lambda: f"{file}:2" in g.stderr, 3, "says what is wrong")
    assert g.post(chat("x" * 3000)).status == 200, "the old configuration stays"


def test_ready_file_and_two_listeners(gw, mu):
    g = gw(mu(), listen=("127.0.0.1:0", "127.0.0.1:0"))
    assert len(set(g.listen)) == 2
    for addr in g.listen:
        assert g.conn(addr).request(body=chat()).read_reply().status == 200


def test_several_loops(gw, mu):
    engines = [mu(), mu()]
    g = gw(*engines, sets={"loops": 3})
    for i in range(60):
        assert g.post(chat(f"p{i}")).status == 200
    for s in range(10):
        for n in range(3):
            assert g.post(chat(f"{s} {n}", tag=s), headers=[("x-session-id", f"s{s}")]).status == 200
    for s in range(10):
        assert len({m.port for m in engines for r in m.reqs if r.json().get("tag") == s}) == 1


def test_simulated_engine_alone(gw, tmp_path):
    from kit import Saga
    sim = Saga(tmp_path, command="engine", args=["--model", "tiny"])
    assert [m["id"] for m in sim.get("/v1/models").json()["data"]] == ["tiny"]
    g = gw(sim.base)
    assert g.post(chat(model="tiny", max_tokens=4)).status == 200
    g.finish()
    sim.finish()


def test_record_events_writes_a_log_without_prompts(gw, mu, tmp_path):
    from kit import MARK
    file = tmp_path / "events"
    g = gw(mu(), args=["--record-events", str(file)])
    assert g.post(chat()).status == 200
    g.finish()
    data = file.read_bytes()
    assert data and MARK.encode() not in data
