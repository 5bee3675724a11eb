# SPDX-License-Identifier: Apache-2.0
"""The npm `openai` SDK, unmodified, against `saga serve --engines sim:1`; sdk.mjs does the calls."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from kit import T
from kit.proc import ROOT

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def result(gw):
    node_dir = pathlib.Path(os.environ.get("SAGA_NODE_DIR", ROOT / "build/node"))
    assert shutil.which("node"), "node is missing: run ./dev deps --e2e"
    assert (node_dir / "node_modules/openai").exists(), f"no openai package in {node_dir}: run ./dev deps --e2e"
    g = gw(args=["--engines", "sim:1"], wait=1)
    done = subprocess.run(["node", str(HERE / "sdk.mjs")], capture_output=True, text=True, timeout=T(60), check=False,
                          env={**os.environ, "BASE_URL": f"{g.base}/v1", "SAGA_NODE_DIR": str(node_dir)})
    assert done.returncode == 0, done.stderr
    g.wait_idle()
    return json.loads(done.stdout)


def test_all_calls(result):
    r = result
    assert r["model"] and r["chat"] and r["stream"] == r["chat"] and r["streamEvents"] >= 2
    assert r["usage"]["completion_tokens"] <= 8 and r["streamUsage"]["total_tokens"] > 0
    assert r["tool"] == r["toolStream"] == "get_weather" and r["toolFinish"] == "tool_calls"
    assert r["completion"] and r["response"]
    assert r["responseEvents"][0] == "response.created"
    assert r["responseEvents"][-1] in ("response.completed", "response.incomplete")
    assert r["error"]["name"] == "NotFoundError" and r["error"]["code"] == "model_not_found" and r["error"]["requestID"]
