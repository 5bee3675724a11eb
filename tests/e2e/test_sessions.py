# SPDX-License-Identifier: Apache-2.0
"""Sessions as graphs on the admin port: steps, gaps, sub-agents, drawings, release."""
import json
import subprocess
import xml.etree.ElementTree

from kit import MARK, T, binary, chat, dumps, poll, turn
from kit.proc import sanitizer_env
from kit.script import json_reply

USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}


def calls(*names, delay=0.0):
    """An answer that calls these tools."""
    tools = [{"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": "{}"}}
             for i, name in enumerate(names)]
    return json_reply({"id": "x", "object": "chat.completion", "model": "m", "usage": USAGE, "choices": [
        {"index": 0, "finish_reason": "tool_calls",
         "message": {"role": "assistant", "content": None, "tool_calls": tools}}]}, delay=delay)


def says(text="done", delay=0.0):
    return json_reply({"id": "x", "object": "chat.completion", "model": "m", "usage": USAGE, "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}, delay=delay)


def after(names, prompt="work"):
    """The conversation with these tools' results."""
    tools = [{"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": "{}"}}
             for i, name in enumerate(names)]
    return dumps({"model": "m", "messages": turn(prompt) + [
        {"role": "assistant", "content": None, "tool_calls": tools},
        *({"role": "tool", "tool_call_id": t["id"], "content": "result"} for t in tools)]})


def show(g, session):
    return g.admin_json(f"/saga/v1/sessions/{session}")["sessions"]


def send(g, body, *headers):
    reply = g.post(body, headers=list(headers))
    assert reply.status == 200, reply.body[:300]
    return reply.header("x-saga-session")


def test_steps_and_gaps_of_a_task(gw, mu):
    m = mu()
    g = gw(m)
    m.script = calls("bash", "read")
    label = send(g, chat("work"))
    m.script = says()
    assert send(g, after(["bash", "read"])) == label
    poll(lambda: show(g, label)[0]["in_flight"] == 0, 3, "idle")
    (session,) = show(g, label)
    first, second = session["graph"]["steps"]
    assert (first["end"], first["tools"], first["tool_count"]) == ("tools", ["bash", "read"], 2)
    assert (second["end"], second["from"], second["prompt_tokens"]) == ("answer", 0, 1000)
    assert (session["graph"]["gaps"][0]["from"], session["graph"]["gaps"][0]["to"]) == (0, 1)
    assert session["steps"] == 2 and session["by"] == "chain"
    chances = [session["forecast"]["return"][t] for t in ("1s", "10s", "60s", "300s", "ever")]
    assert all(0 <= p <= 1 for p in chances) and chances == sorted(chances)
    assert MARK not in json.dumps(session)


def test_tools_of_an_answer_nobody_could_read__from_their_results(gw, mu):
    m = mu()
    g = gw(m)
    m.script = says("<tool>bash</tool>")
    label = send(g, chat("work"))
    send(g, after(["bash"]))
    assert show(g, label)[0]["graph"]["steps"][0]["tools"] == ["bash"]


def test_retry_is_no_step(gw, mu):
    m = mu()
    g = gw(m)
    for _ in range(3):
        send(g, chat("work"), ("x-session-id", "task"))
    send(g, chat("work", n=1), ("x-session-id", "task"))
    (session,) = show(g, "task")
    assert session["steps"] == 2
    assert [s["attempts"] for s in session["graph"]["steps"]] == [3, 1]


def test_sub_agents_are_lanes_of_their_parent(gw, mu):
    m = mu()
    g = gw(m)
    m.script = calls("task", delay=0.01)  # times are kept in ms
    send(g, chat("work"), ("x-session-id", "root"))
    m.script = says(delay=0.01)
    for name in ("left", "right"):
        send(g, chat(name), ("x-session-id", name), ("x-parent-session-id", "root"))
    send(g, after(["task"]), ("x-session-id", "root"))
    root, left, right = show(g, "root")
    assert [s["session"] for s in (root, left, right)] == ["root", "left", "right"]
    assert (left["parent"], left["spawned_by_step"], left["joined_by_step"], left["is_waited_for"]) == (
        "root", 0, 1, True)
    assert right["parent"] == "root"


def test_drawings(gw, mu):
    m = mu()
    g = gw(m)
    m.script = calls('<script>alert("x")</script>&\u0007')
    send(g, chat("work"), ("x-session-id", "task"))
    send(g, chat("work", n=1), ("x-session-id", "task"))
    status, svg = g.admin_call("GET", "/saga/v1/sessions/task?format=svg")
    assert status == 200
    tree = xml.etree.ElementTree.fromstring(svg)
    assert tree.tag.endswith("svg") and not [e for e in tree.iter() if e.tag.endswith("script")]
    status, dot = g.admin_call("GET", "/saga/v1/sessions/task?format=dot")
    assert status == 200 and dot.startswith("digraph")
    assert g.admin_call("GET", "/saga/v1/sessions/task?format=png")[0] == 400
    assert g.admin_call("GET", "/saga/v1/sessions/nobody")[0] == 404


def test_release(gw, mu):
    g = gw(mu())
    send(g, chat("work"), ("x-session-id", "task"))
    status, text = g.admin_call("DELETE", "/saga/v1/sessions/task")
    assert status == 200 and json.loads(text) == {"released": True, "is_gone": True}
    assert g.admin_call("GET", "/saga/v1/sessions/task")[0] == 404
    assert g.admin_call("DELETE", "/saga/v1/sessions/task")[0] == 404
    send(g, chat("work"), ("x-session-id", "task"))
    assert show(g, "task")[0]["steps"] == 1


def test_ctl_session(gw, mu):
    m = mu()
    g = gw(m)
    m.script = calls("bash")
    send(g, chat("work"), ("x-session-id", "task"))
    send(g, chat("work", n=1), ("x-session-id", "task"))

    def ctl(*argv):
        return subprocess.run([binary(), "ctl", "--admin", g.admin_base, *argv], capture_output=True, text=True,
                              timeout=T(15), check=False, env=sanitizer_env())

    shown = ctl("session", "task")
    assert shown.returncode == 0 and "bash" in shown.stdout and "task" in shown.stdout
    assert ctl("session", "task", "--format", "svg").stdout.startswith("<svg")
    assert ctl("session", "nobody").returncode == 1
    assert ctl("engines", "--format", "svg").returncode == 2
    assert ctl("release-session", "task").returncode == 0
    assert ctl("session", "task").returncode == 1
