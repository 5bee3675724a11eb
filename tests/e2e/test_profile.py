# SPDX-License-Identifier: Apache-2.0
"""Profiles of one's own: shown, edited, checked, used by the laboratory and by an engine."""
import json
import subprocess

import pytest

from kit import T, binary
from kit.proc import sanitizer_env


def saga(*args):
    return subprocess.run([binary(), *args], capture_output=True, text=True, timeout=T(120), check=False,
                          env=sanitizer_env())


def profile(*args):
    return saga("sim", "profile", *args)


def event_hash(name):
    done = saga("sim", "--hours", "0.05", "--rate", "0.2", "--policies", "saga", "--profile", str(name), "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]["event_hash"]


def test_a_shown_profile_runs_like_the_built_in_one_until_it_is_edited(tmp_path):
    file = tmp_path / "mine.yaml"
    shown = profile("show", "h100-llama3-8b")
    assert shown.returncode == 0 and shown.stdout.startswith("name: my-h100-llama3-8b\n")
    file.write_text(shown.stdout)
    assert profile("check", str(file)).stdout == "my-h100-llama3-8b: fine\n"
    assert event_hash(file) == event_hash("h100-llama3-8b")
    assert profile("show", str(file)).stdout == shown.stdout
    file.write_text(shown.stdout.replace("f_s: ", "f_s: 1"))
    assert event_hash(file) != event_hash("h100-llama3-8b")


def test_the_list_has_the_built_in_ones():
    assert [line.split()[0] for line in profile("list").stdout.splitlines()] == [
        "default", "h100-llama3-8b", "a100x4-llama3-70b", "h200-qwen3-coder-30b"]


@pytest.mark.parametrize("command", [["sim", "--profile"], ["engine", "--profile"], ["sim", "profile", "check"]])
def test_mistakes_are_named_with_file_and_line(tmp_path, command):
    file = tmp_path / "bad.yaml"
    file.write_text("name: bad\nspeed: 3\n")
    done = saga(*command, str(file))
    assert done.returncode != 0 and "bad.yaml: line 2: no key \"speed\"" in done.stderr
    file.write_text(profile("show", "default").stdout.replace("name: my-default", "name: default"))
    assert "built-in" in saga(*command, str(file)).stderr
    assert "absent.yaml" in saga(*command, str(tmp_path / "absent.yaml")).stderr
    assert "no profile \"none\"" in saga(*command, "none").stderr


def test_called_wrongly():
    assert profile().returncode == 2 and profile("show").returncode == 2
    assert profile("--help").returncode == 0


def test_fit_says_what_it_lacks(tmp_path):
    file = tmp_path / "run.json"
    assert "cannot read" in profile("fit", "--from", str(file)).stderr
    file.write_text("{}")
    assert "--rows" in profile("fit", "--from", str(file)).stderr
    assert profile("fit").returncode == 2 and profile("fit", "--help").returncode == 0
