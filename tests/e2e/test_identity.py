# SPDX-License-Identifier: Apache-2.0
"""Who is calling: the shapes of real clients (ids and texts invented), what engines get of them, refusals."""
import json
import pathlib
import re

import pytest

from kit import chat, check_error, dumps, messages, responses, turn

ROOT = pathlib.Path(__file__).resolve().parents[2]
U1, U2 = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-9999-aaaaaaaaaaaa"
BILLING = "x-anthropic-billing-header: cc_version=9.9.9.abc; cc_entrypoint=cli;"
COUNT = iter(range(1 << 30))


def ask(g, body, target="/v1/chat/completions", headers=()):
    """Sends a request; returns (receipt, reply)."""
    rid = f"identity-{next(COUNT)}"
    reply = g.post(body, target=target, headers=[("x-request-id", rid), *headers])
    assert reply.status == 200, reply.body[:300]
    return g.admin_json(f"/saga/v1/receipts/{rid}"), reply


def claude_body(prompt="fix it", system=True, session=U1, n=0):
    blocks = [{"type": "text", "text": BILLING},
              {"type": "text", "text": "You are a tool.", "cache_control": {"type": "ephemeral"}}]
    user_id = {"device_id": "ab" * 32, "account_uuid": "", "session_id": session}
    return dumps({"model": "m", "max_tokens": 32000, **({"system": blocks} if system else {}),
                  "messages": turn(prompt, n), "metadata": {"user_id": json.dumps(user_id)}})


def claude_headers(agent=None, parent=None, session=U1):
    out = [("X-Claude-Code-Session-Id", session), ("anthropic-beta", "a,b"), ("X-Stainless-Retry-Count", "0")]
    out += [("x-claude-code-agent-id", agent)] if agent else []
    return out + ([("x-claude-code-parent-agent-id", parent)] if parent else [])


def test_claude_code__one_session_and_its_agents(gw, mu):
    m = mu()
    g = gw(m)
    target = "/v1/messages?beta=true"
    root, reply = ask(g, claude_body(), target, claude_headers())
    assert (root["schema"], root["session"], root["parent"], root["agent"]) == (
        "x-claude-code-session-id", U1, "", "")
    assert reply.header("x-saga-session") == U1
    again, _ = ask(g, claude_body(n=1), target, claude_headers())
    assert again["match"] == "id" and again["session"] == U1
    child, _ = ask(g, claude_body("look"), target, claude_headers("0123456789abcdef0"))
    assert child["match"] == "new_id" and child["parent"] == U1 and child["agent"] == "0123456789abcdef0"
    grandchild, _ = ask(g, claude_body("look deeper"), target,
                        claude_headers("fedcba98765432100", "0123456789abcdef0"))
    assert grandchild["parent"] == child["session"] and grandchild["session"] != child["session"]
    assert [r.header("x-session-id") for r in m.reqs] == [
        U1, U1, f"{U1}/0123456789abcdef0", f"{U1}/fedcba98765432100"]
    assert m.reqs[0].header("anthropic-beta") == "a,b"
    assert len(g.admin_json("/saga/v1/sessions")) == 3


def test_claude_code_without_headers__session_of_its_body(gw, mu):
    receipt, _ = ask(gw(mu()), claude_body(session=U2), "/v1/messages")
    assert (receipt["schema"], receipt["session"]) == ("metadata.user_id", U2)


def codex_headers(thread=U1, parent=None):
    turn_data = {"agent_name": "/root", "session_id": U1, "thread_id": thread, "turn_id": "turn-1", "window_number": 0,
                 "workspaces": {"/somewhere": {}}}
    out = [("session-id", U1), ("thread-id", thread), ("x-client-request-id", U1),
           ("x-codex-turn-metadata", json.dumps(turn_data))]
    return out + ([("x-codex-parent-thread-id", parent)] if parent else [])


def codex_body(thread=U1):
    return responses(prompt_cache_key=U1, store=False, client_metadata={"session_id": U1, "thread_id": thread})


def test_codex__threads_are_branches_of_the_session(gw, mu):
    m = mu()
    g = gw(m)
    root, _ = ask(g, codex_body(), "/v1/responses", codex_headers())
    assert (root["schema"], root["session"], root["parent"]) == ("session-id", U1, "")
    child, _ = ask(g, codex_body(U2), "/v1/responses", codex_headers(U2, U1))
    assert (child["schema"], child["parent"], child["agent"]) == ("session-id", U1, U2)
    retry, _ = ask(g, codex_body(), "/v1/responses", codex_headers())
    assert retry["match"] == "id" and retry["session"] == U1
    assert m.reqs[0].header("x-session-id") == U1 and m.reqs[1].header("x-session-id") == f"{U1}/{U2}"


def test_opencode__child_has_its_own_id(gw, mu):
    m = mu()
    g = gw(m)
    root, child = "ses_0123456789abcdefghijABCDE", "ses_9876543210abcdefghijABCDE"
    title, _ = ask(g, chat("a title"), headers=[("x-session-id", root), ("x-session-affinity", root)])
    step, _ = ask(g, chat("work"), headers=[("x-session-id", root), ("x-session-affinity", root)])
    below, _ = ask(g, chat("part"), headers=[("x-session-id", child), ("x-session-affinity", child),
                                             ("x-parent-session-id", root)])
    assert title["session"] == step["session"] == root and step["match"] == "id"
    assert (below["schema"], below["session"], below["parent"]) == ("x-session-id", child, root)
    assert [r.all("x-session-id") for r in m.reqs] == [[root], [root], [child]]


def test_aiperf__affinity_not_correlation_or_request(gw, mu):
    m = mu()
    g = gw(m)
    for n in range(3):
        receipt, _ = ask(g, chat(f"unrelated {n}"), headers=[
            ("X-Session-Affinity", U1), ("X-Correlation-ID", f"c{n}")])
        assert (receipt["schema"], receipt["session"]) == ("x-session-affinity", U1)
    assert receipt["match"] == "id" and m.reqs[0].header("x-session-id") == U1


def test_no_id__inferred_and_no_header_added(gw, mu):
    m = mu()
    receipt, _ = ask(gw(m), chat(), headers=[("X-Correlation-ID", "c"), ("traceparent", "00-1-2-01")])
    assert receipt["schema"] == "" and receipt["match"] == "new"
    assert m.reqs[0].header("x-session-id") is None


@pytest.mark.parametrize("more, schema", [
    ({"program_id": "p-1"}, "program_id"),
    ({"extra_body": {"program_id": "p-1"}}, "program_id"),
    ({"vllm_xargs": {"agentic_context": {"program_id": "p-1", "priority": 2}}}, "agentic_context.program_id"),
    ({"vllm_xargs": {"agentic_context": '{"program_id":"p-1"}'}}, "agentic_context.program_id"),
    ({"agent_hint": {"session_id": "p-1"}}, "agent_hint"),
    ({"nvext": {"agent_context": {"trajectory_id": "p-1"}}}, "nvext.agent_context.trajectory_id"),
    ({"prompt_cache_key": "p-1"}, "prompt_cache_key"),
    ({"conversation": {"id": "p-1"}}, "conversation"),
], ids=lambda v: v if isinstance(v, str) else "")
def test_body_fields(gw, mu, more, schema):
    m = mu()
    body = chat(**more)
    receipt, _ = ask(gw(m), body)
    assert (receipt["schema"], receipt["session"]) == (schema, "p-1")
    assert m.reqs[0].body == body and m.reqs[0].header("x-session-id") == "p-1"


def test_configured_header(gw, mu):
    g = gw(mu(), sets={"identity.headers": "x-team-task,x-other"})
    receipt, _ = ask(g, chat(), headers=[("X-Team-Task", "t-1"), ("x-session-id", "s")])
    assert (receipt["schema"], receipt["session"]) == ("identity.headers", "t-1")


def test_short_receipt_names_the_schema(gw, mu):
    reply = gw(mu()).post(chat(), headers=[("x-session-affinity", "s-1"), ("x-saga-receipt", "1")])
    assert json.loads(reply.header("x-saga-receipt"))["schema"] == "x-session-affinity"


BAD = [
    ([("x-session-id", "a" * 257)], {}, "x-session-id"),
    ([("x-session-id", "a"), ("X-Session-Id", "b")], {}, "x-session-id"),
    ([("x-session-affinity", b"caf\xe9")], {}, "x-session-affinity"),
    ([("x-claude-code-session-id", "s"), ("x-claude-code-agent-id", "a" * 255)], {}, "x-claude-code-agent-id"),
    ([("session-id", "s"), ("x-codex-turn-metadata", "{")], {}, "x-codex-turn-metadata"),
    ([("x-dynamo-session-id", "s"), ("x-dynamo-session-final", "maybe")], {}, "x-dynamo-session-final"),
    ([], {"program_id": 7}, "program_id"),
    ([], {"vllm_xargs": {"agentic_context": "{"}}, "vllm_xargs.agentic_context"),
    ([], {"agent_hint": {"session_id": "a\nb"}}, "agent_hint.session_id"),
    ([], {"prompt_cache_key": "k" * 300}, "prompt_cache_key"),
]


@pytest.mark.parametrize("headers, more, field", BAD, ids=[str(i) for i in range(len(BAD))])
def test_invalid__400_names_the_field_or_is_ignored(gw, mu, headers, more, field):
    m = mu()
    g, lax = gw(m), gw(m, sets={"identity.on_invalid": "ignore"})
    error = check_error(g.post(chat(**more), headers=headers), 400, "invalid_identity")
    assert f"`{field}" in error["message"], error
    reply = g.post(messages(**more), target="/v1/messages", headers=headers)
    assert f"`{field}" in check_error(reply, 400, anthropic=True)["message"]
    assert m.executions == 0
    assert lax.post(chat(**more), headers=headers).status == 200


def test_vendor_headers__not_for_engines(gw, mu):
    m = mu()
    sent = ["x-smg-target-worker", "x-smg-routing-key", "x-aibrix-config-profile", "routing-strategy", "x-bf-vk",
            "x-litellm-tags", "x-dynamo-worker-instance-id", "x-data-parallel-rank", "x-prefiller-host-port",
            "x-gateway-destination-endpoint", "x-session-token", "x-llm-d-slo-ttft-ms"]
    kept = ["x-claude-code-session-id", "x-session-affinity", "x-anything", "anthropic-version"]
    assert gw(m).post(chat(), headers=[(n, "v") for n in sent + kept]).status == 200
    got = {n.lower() for n, _ in m.reqs[0].headers}
    assert not got & set(sent) and got >= set(kept)


@pytest.mark.parametrize("target", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize("how, is_cut", [("auto", True), ("on", True), ("off", False)])
def test_billing_block__cut_and_all_else_as_sent(gw, mu, target, how, is_cut):
    m = mu()
    body = claude_body()
    block = dumps({"type": "text", "text": BILLING}) + b", "
    assert body.count(block) == 1
    assert gw(m, sets={"normalise_billing_block": how}).post(body, target=target).status == 200
    assert m.reqs[0].body == (body.replace(block, b"") if is_cut else body)
    assert int(m.reqs[0].header("content-length")) == len(m.reqs[0].body)


def test_billing_block__no_part_of_the_session(gw, mu):
    g = gw(mu())
    plain = {"model": "m", "max_tokens": 9, "messages": turn("same")}
    for version in ("abc", "def"):
        text = {"type": "text", "text": BILLING.replace("abc", version)}
        receipt, _ = ask(g, dumps({**plain, "system": [text]}), "/v1/messages")
        g.wait_idle()
    assert receipt["match"] in ("chain", "twin"), receipt


def test_documentation__names_every_field():
    table = (ROOT / "coordinator/core/identity.def").read_text()
    doc = (ROOT / "docs/protocol.md").read_text()
    fields = re.findall(r'^\s*(?:HEADER|HEADER_JSON|BODY|BODY_SOFT|KEEP_OUT|KEEP_OUT_PREFIX)\((?:\w+, )?"([^"]+)"', table, re.M)
    schemas = re.findall(r'^SCHEMA\(\w+, "([^"]+)"\)', table, re.M)
    assert len(fields) > 90 and len(schemas) > 30
    last = {f.rpartition("vllm_xargs.agentic_context.")[2] for f in fields}
    missing = [f for f in sorted(last) + schemas if f"`{f}" not in doc]
    assert not missing, missing
    order = re.findall(r"^\| \d{1,2} \| `([^`]+)` \|", doc, re.M)
    assert order == schemas
