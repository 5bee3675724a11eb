# SPDX-License-Identifier: Apache-2.0
"""Declared workflows: what is taken and what is refused, how a session joins, the schema in docs/."""
import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from kit import T, binary, chat
from kit.proc import sanitizer_env

ROOT = Path(__file__).resolve().parents[2]
PATH = "/saga/v1/workflows"
PLAN = {"id": "task-42",
        "nodes": [{"name": "plan", "output_tokens": 800, "gap_ms": 100, "work_ms": 9000},
                  {"name": "code", "visits": 3, "output_tokens": 7, "gap_ms": 30000},
                  {"name": "review"}],
        "edges": [{"from": "plan", "to": "code"}, {"from": "code", "to": "review", "probability": 0.5}]}


def declare(g, workflow):
    body = workflow if isinstance(workflow, (str, bytes)) else json.dumps(workflow)
    status, text = g.admin_call("POST", PATH, body)
    return status, json.loads(text)


def step(g, node, prompt, session="task-42"):
    body = chat(prompt, vllm_xargs={"agentic_context": {"program_id": session, "step_id": node}})
    assert g.post(body).status == 200


def forecast(g, session="task-42"):
    def walk(value):
        if isinstance(value, dict):
            if "steps_to_go" in value:
                return value
            value = list(value.values())
        found = [walk(v) for v in value] if isinstance(value, list) else []
        return next((v for v in found if v), None)
    return walk(g.admin_json(f"/saga/v1/sessions/{session}"))


def ctl(g, *argv, **how):
    return subprocess.run([binary(), "ctl", "--admin", g.admin_base, *argv], capture_output=True, text=True,
                          timeout=T(15), check=False, env=sanitizer_env(), **how)


def test_declare__shown_as_declared_until_dropped(gw):
    g = gw()
    status, got = declare(g, PLAN)
    assert status == 200 and got["replaced"] is False
    assert got["declared"]["steps"] == 4.5 and got["declared"]["work_ms"] == 9000
    assert g.admin_json(PATH)[0]["id"] == "task-42"
    assert g.admin_json(f"{PATH}/task-42")["workflow"] == PLAN
    status, got = declare(g, {**PLAN, "edges": []})
    assert status == 200 and got["replaced"] is True and got["declared"]["edges"] == 0
    assert g.admin_call("DELETE", f"{PATH}/task-42")[0] == 200
    assert g.admin_call("DELETE", f"{PATH}/task-42")[0] == 404
    assert g.admin_call("GET", f"{PATH}/task-42")[0] == 404 and g.admin_json(PATH) == []


def test_id_in_the_path_is_escaped(gw):
    g = gw()
    assert declare(g, {"id": "a b/c", "nodes": [{"name": "n"}]})[0] == 200
    assert g.admin_json(f"{PATH}/a%20b%2Fc")["id"] == "a b/c"


def test_cycle__refused_and_named(gw):
    status, got = declare(gw(), {**PLAN, "edges": PLAN["edges"] + [{"from": "review", "to": "plan"}]})
    assert status == 400 and "plan -> code -> review -> plan" in got["error"]["message"]


def test_too_large__413(gw):
    status, got = declare(gw(), " " * 262145)
    assert status == 413 and "262144" in got["error"]["message"]


@pytest.mark.parametrize("loops", [1, 2])
def test_session_joins__declared_values_override(gw, mu, loops):
    g = gw(mu(), sets={"loops": loops})
    assert declare(g, PLAN)[0] == 200
    step(g, "plan", "go")
    other = "task-43"
    step(g, "plan", "go", session=other)
    assert g.admin_json(f"{PATH}/task-42")["sessions"] == 1
    joined, alone = forecast(g), forecast(g, other)
    # To go: 3 visits of code and half a review.
    assert abs(joined["steps_to_go"]["median"] - 3.5) < 0.2
    assert joined["steps_to_go"]["confidence"] > 0.9
    assert not alone["steps_to_go"] or alone["steps_to_go"]["confidence"] < 0.9  # null: nothing known
    step(g, "code", "go on")
    assert abs(forecast(g)["steps_to_go"]["median"] - 2.5) < 0.2


def test_wrong_moves__weigh_less_and_less_and_harm_nobody(gw, mu):
    g = gw(mu())
    assert declare(g, PLAN)[0] == 200
    step(g, "plan", "0")
    sure = [forecast(g)["steps_to_go"]["confidence"]]
    for n in range(5):
        step(g, f"nobody declared {n}", f"{n}")
        step(g, "code", f"{n} again")
        sure.append(forecast(g)["steps_to_go"]["confidence"])
    assert sure[-1] < 0.6 < 0.9 < sure[0]


def test_declared_again__sessions_keep_what_they_have(gw, mu):
    g = gw(mu())
    assert declare(g, PLAN)[0] == 200
    step(g, "plan", "go")
    assert declare(g, {"id": "task-42", "nodes": [{"name": "plan"}]})[1]["replaced"] is True
    assert g.admin_json(f"{PATH}/task-42")["sessions"] == 0
    assert abs(forecast(g)["steps_to_go"]["median"] - 3.5) < 0.2


def test_table_full__the_longest_unused_is_forgotten(gw):
    g = gw(sets={"limits.workflows": 3})
    for n in range(5):
        assert declare(g, {"id": f"w{n}", "nodes": [{"name": "n"}]})[0] == 200
    assert [w["id"] for w in g.admin_json(PATH)] == ["w4", "w3", "w2"]


def test_ctl(gw, tmp_path):
    g = gw()
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(PLAN))
    assert ctl(g, "declare", str(file)).returncode == 0
    done = ctl(g, "declare", "-", "--json", input=json.dumps({"id": "w", "nodes": [{"name": "a"}]}))
    assert done.returncode == 0 and json.loads(done.stdout)["declared"]["id"] == "w"
    assert "task-42" in ctl(g, "workflows").stdout
    assert json.loads(ctl(g, "workflows", "task-42", "--json").stdout)["workflow"] == PLAN
    assert ctl(g, "drop-workflow", "task-42").returncode == 0
    for argv, why in ((["workflows", "task-42"], ""), (["drop-workflow", "x"], "no workflow"),
                      (["declare", str(tmp_path / "none")], "none"), (["declare", "/dev/zero"], "too long")):
        done = ctl(g, *argv)
        assert done.returncode == 1 and why in done.stderr, argv
    bad = ctl(g, "declare", "-", input='{"id":"w","nodes":[{"name":"a","gap":1}]}')
    assert bad.returncode == 1 and "nodes[0].gap: unknown member" in bad.stderr


# --- the schema ---

CORPUS = sorted((ROOT / "tests/fuzz/corpus/fuzz_workflow").glob("*_*.json"))


@pytest.fixture(scope="module")
def schema():
    made = json.loads((ROOT / "docs/workflow.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def test_schema_and_reader_agree(gw, schema):
    """ok_*: both take it; bad_*: both refuse; beyond_*: what no schema can say, only the reader does."""
    g = gw()
    wrong = []
    for file in CORPUS:
        kind = file.name.split("_")[0]
        is_valid = schema.is_valid(json.loads(file.read_text()))
        status, _ = declare(g, file.read_text())
        if (is_valid, status) != {"ok": (True, 200), "bad": (False, 400), "beyond": (True, 400)}[kind]:
            wrong.append((file.name, is_valid, status))
    assert not wrong and len(CORPUS) > 40


def test_examples_in_the_documentation_work(gw, mu, schema):
    g = gw(mu())
    text = (ROOT / "docs/workflows.md").read_text()
    scripts = re.findall(r"```sh\n(.*?)```", text, re.S)
    assert len(scripts) == 1
    host, port = g.addr[:2] if hasattr(g, "addr") else (None, None)
    script = scripts[0].replace("127.0.0.1:8081", g.admin_base[len("http://"):])
    script = script.replace("127.0.0.1:8080", f"{host}:{port}")
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], capture_output=True, text=True,
                          timeout=T(30), check=False)
    assert done.returncode == 0, done.stderr
    assert '"replaced":false' in done.stdout and '"steps_to_go"' in done.stdout
    declared = re.search(r"-d '(\{\"id\".*?)'\n", script, re.S).group(1)
    assert schema.is_valid(json.loads(declared))
