# SPDX-License-Identifier: Apache-2.0
"""Bodies as JSON (class json): what is relayed untouched, and what is refused with a clear 400."""
import pytest

from kit import (MARK, chat, chat_json, check_error, dumps, json_reply, sse)

MESSAGES = b'"messages":[{"role":"user","content":"hi"}]'


def test_B056_numbers_keep_their_spelling(gw, mu):
    m = mu()
    body = (b'{"seed": 9007199254740993,"big":123456789012345678901234567890 , "f":1.0,"e": 1e2,"z":-0.0,'
            b'"d":0.1000000000000000055, "model":"m",' + MESSAGES + b'}')
    assert gw(m).post(body).status == 200
    assert m.reqs[0].body == body


def test_B056_numbers_keep_their_spelling_when_usage_is_injected(gw, mu):
    m = mu()
    body = (b'{"seed": 9007199254740993,"big":123456789012345678901234567890 , "f":1.0,"e": 1e2,"z":-0.0,'
            b'"stream" :true, "model":"m",' + MESSAGES + b'}')
    assert gw(m).post(body).status == 200
    got = m.reqs[0]
    assert got.json()["stream_options"]["include_usage"] is True
    for part in (b'"seed": 9007199254740993,"big":123456789012345678901234567890 ,', b'"f":1.0,"e": 1e2,"z":-0.0,'):
        assert part in got.body


@pytest.mark.parametrize("pair", [
    b'"model":"m","model":"forbidden"', b'"model":"forbidden","model":"m"', b'"model":"m","mod\\u0065l":"forbidden"',
    b'"model":"m","stream":false,"stream":true', b'"model":"m","max_tokens":1,"max_tokens":9999',
    b'"model":"m","cache_salt":"a","cache_salt":"b"', b'"model":"m","messages":[]',
    b'"model":"m","stream_options":{},"stream_options":{"include_usage":true}'])
def test_B057_duplicate_keys(gw, mu, pair):
    m = mu(models=("m", "forbidden"))
    body = b"{" + pair + b"," + MESSAGES + b"}"
    error = check_error(gw(m).post(body), 400)
    assert m.executions == 0
    assert "duplicate" in error["message"].lower()


def test_B057_duplicates_of_keys_we_do_not_act_on_are_relayed(gw, mu):
    m = mu()
    body = b'{"model":"m","x":1,"x":2,' + MESSAGES + b"}"
    reply = gw(m).post(body)
    assert reply.status in (200, 400)
    if reply.status == 200:
        assert m.reqs[0].body == body


def test_B058_query_string_does_not_choose_the_model(gw, mu):
    allowed, forbidden = mu(models=("m",)), mu(models=("forbidden",))
    reply = gw(allowed, forbidden).post(chat(), "/v1/chat/completions?model=forbidden")
    assert reply.status in (200, 400)
    assert forbidden.executions == 0


def test_B058_query_string_reaches_the_engine(gw, mu):
    m = mu()
    assert gw(m).post(chat(), "/v1/messages?beta=true").status == 200
    assert m.reqs[0].target == "/v1/messages?beta=true"


def test_B059_unknown_fields_reach_the_engine_in_order(gw, mu):
    m = mu()
    body = dumps({
        "zzz_made_up": {"a": [1, {"b": None}]}, "model": "m", "chat_template_kwargs": {"enable_thinking": False},
        "top_k": 5, "min_p": 0.1, "stop_token_ids": [1, 2], "vllm_xargs": {"k": "v"}, "max_completion_tokens": 7,
        "messages": [{"role": "user", "content": MARK}], "response_format": {"type": "json_schema", "json_schema": {
            "name": "n", "schema": {"type": "object"}, "strict": True}}, "seed": 1, "logit_bias": {"50256": -100},
        "parallel_tool_calls": False, "foo": "bar", "stream": True, "stream_options": {"include_usage": True}, "": 0})
    assert gw(m).post(body).status == 200
    assert m.reqs[0].body == body


def test_B061_lone_surrogate_escape_is_relayed(gw, mu):
    m = mu()
    body = b'{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"x \\ud83d y"}]}'
    reply = gw(m).post(body)
    assert reply.status in (200, 400)  # one rule, below
    if reply.status == 200:
        assert m.reqs[0].body == body
    assert reply.status == 200, "an escape that is valid JSON text must pass"


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"\xc3", b"\xed\xa0\xbd", b"\xc0\xaf", b"\xf5\x80\x80\x80"])
def test_B061_invalid_utf8_is_400_with_its_offset(gw, mu, raw):
    m = mu()
    start = b'{"model":"m","messages":[{"role":"user","content":"abc '
    error = check_error(gw(m).post(start + raw + b' "}]}'), 400)
    assert m.executions == 0
    assert any(str(n) in error["message"] for n in (len(start), len(start) + 1)), error["message"]


def test_B061_utf8_bom_is_defined(gw, mu):
    m = mu()
    body = b"\xef\xbb\xbf" + chat()
    reply = gw(m).post(body)
    assert reply.status == 400 or m.reqs[0].body == body


def test_B064_null_arguments_are_relayed(gw, mu):
    m = mu()
    body = dumps({"model": "m", "messages": [
        {"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": None}}]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "r"}]}]})
    assert gw(m).post(body).status == 200
    assert m.reqs[0].body == body


@pytest.mark.parametrize("body", [
    {"messages": []}, {"messages": [None, 1, "x", {}, {"role": 5, "content": {"a": 1}}]}, {"messages": {}},
    {"messages": "text"}, {"tools": "no"}, {"messages": [{"role": "user", "content": [[[]]]}], "system": 5},
    {"stream": "yes", "messages": []}, {"max_tokens": -1, "messages": []}, {"max_tokens": 1e300, "messages": []},
    {"stream_options": 5, "stream": True, "messages": []}, {"stream_options": None, "stream": True, "messages": []}])
def test_odd_types__relayed_or_400_never_a_crash(gw, mu, body):
    m = mu(json_reply({"ok": True}))
    reply = gw(m).post(dumps({"model": "m", **body}))
    assert reply.status in (200, 400)


def test_B067_choices_and_logprobs_are_relayed(gw, mu):
    def choice(i):
        return {"index": i, "delta": {"content": f"t{i}"}, "logprobs": {"content": [
            {"token": f"t{i}", "logprob": -0.123456789, "bytes": [1], "top_logprobs": [
                {"token": f"k{k}", "logprob": -k, "bytes": None} for k in range(5)]}]}}
    events = [b"data: " + dumps({"choices": [choice(i)]}) + b"\n\n" for i in (2, 0, 1, 1, 0, 2)]
    events.append(b"data: [DONE]\n\n")
    m = mu(sse(events))
    g = gw(m)
    assert g.post(chat(stream=True, n=3, logprobs=True, top_logprobs=5)).body == b"".join(events)
    whole = dumps({**chat_json(), "choices": [choice(i) for i in range(3)]})
    m.script = json_reply(whole)
    assert g.post(chat(n=3, logprobs=True, top_logprobs=5)).body == whole


def nested(depth, place):
    deep = b"[" * depth + b"]" * depth
    parts = {"unknown": b'"x":' + deep, "tools": b'"tools":[{"function":{"parameters":' + deep + b"}}]",
             "response_format": b'"response_format":' + deep,
             "content": b'"messages":[{"role":"user","content":' + deep + b"}]"}
    tail = b"" if place == "content" else b"," + MESSAGES
    return b'{"model":"m",' + parts[place] + tail + b"}"


@pytest.mark.parametrize("place", ["unknown", "tools", "response_format", "content"])
@pytest.mark.parametrize("depth", [10_000, 1_000_000])
def test_B068_deep_nesting(gw, mu, depth, place):
    m = mu(json_reply({"ok": True}))
    g, body = gw(m), nested(depth, place)
    reply = g.post(body)
    assert reply.status in (200, 400)
    if reply.status == 200:
        assert m.reqs[0].body == body
    assert g.post(chat()).status == 200


def test_model_nobody_serves(gw, mu):
    m = mu(models=("known",))
    g = gw(m)
    check_error(g.post(chat(model="unknown")), 404, "model_not_found")
    error = check_error(g.post(chat(model="unknown"), "/v1/messages"), 404, anthropic=True)
    assert error["type"] == "not_found_error"
    assert m.executions == 0


def test_model_missing_is_400(gw, mu):
    check_error(gw(mu()).post(b"{" + MESSAGES + b"}"), 400)
