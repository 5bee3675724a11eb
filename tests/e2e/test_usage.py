# SPDX-License-Identifier: Apache-2.0
"""Usage on streams: asked for when the client did not, taken out again, counted once."""
import json

import pytest

from kit import (chat, chat_events, completion, completion_events, count_tokens, dumps, messages, messages_events,
                 poll, responses, responses_events, sse, stream_head, usage_event)

USAGE = (11, 3, 7)


def strip_option(sent, got):
    """The body as sent, out of the body as the engine got it; checks that only the option was added."""
    want = dict(sent)
    assert got["stream_options"]["include_usage"] is True
    want.pop("stream_options", None)
    rest = {k: v for k, v in got.items() if k != "stream_options"}
    assert rest == want


def test_not_asked__asked_of_the_engine_and_taken_out(gw, mu):
    events = chat_events(usage=USAGE)
    m = mu(sse(events))
    g = gw(m)
    reply = g.post(chat(stream=True))
    assert reply.body == b"".join(chat_events()) and reply.end == "complete"
    strip_option(json.loads(chat(stream=True)), m.reqs[0].json())
    assert g.tokens() == USAGE


@pytest.mark.parametrize("options", [{}, None, {"include_usage": False}, {"continuous_usage_stats": False}])
def test_options_without_it__still_taken_out(gw, mu, options):
    m = mu(sse(chat_events(usage=USAGE)))
    g = gw(m)
    reply = g.post(chat(stream=True, stream_options=options))
    assert reply.status == 200 and reply.body == b"".join(chat_events())
    got = m.reqs[0].json()["stream_options"]
    assert got["include_usage"] is True
    assert {k: v for k, v in got.items() if k != "include_usage"} == {
        k: v for k, v in (options or {}).items() if k != "include_usage"}
    assert g.tokens() == USAGE


def test_asked__relayed_untouched(gw, mu):
    events = chat_events(usage=USAGE)
    m = mu(sse(events))
    g, body = gw(m), chat(stream=True, stream_options={"include_usage": True})
    assert g.post(body).body == b"".join(events)
    assert m.reqs[0].body == body
    assert g.tokens() == USAGE


def test_injection_off__nothing_added(gw, mu):
    m = mu(sse(chat_events()))
    g, body = gw(m, sets={"usage_injection": False}), chat(stream=True)
    assert g.post(body).body == b"".join(chat_events())
    assert m.reqs[0].body == body
    assert g.tokens() == (0, 0, 0)


def test_not_a_stream__body_untouched(gw, mu):
    m = mu()
    g, body = gw(m), chat()
    assert g.post(body).json()["usage"]["prompt_tokens"] == 11
    assert m.reqs[0].body == body and g.tokens() == USAGE


def test_completions_too(gw, mu):
    m = mu(sse(completion_events(usage=USAGE)))
    g = gw(m)
    reply = g.post(completion(stream=True), "/v1/completions")
    assert reply.body == b"".join(completion_events())
    assert g.tokens() == USAGE


@pytest.mark.parametrize("target, body, events", [
    ("/v1/responses", responses(stream=True), responses_events(usage=USAGE)),
    ("/v1/messages", messages(stream=True), messages_events(usage=USAGE))])
def test_other_routes__body_and_events_untouched(gw, mu, target, body, events):
    m = mu(sse(events))
    g = gw(m)
    assert g.post(body, target).body == b"".join(events)
    assert m.reqs[0].body == body and g.tokens() == USAGE


def test_count_tokens_is_relayed(gw, mu):
    m = mu()
    g = gw(m)
    assert g.post(count_tokens(), "/v1/messages/count_tokens").json() == {"input_tokens": 11}
    assert m.reqs[0].body == count_tokens()


def test_every_split_offset(gw, mu):
    """Two writes, cut at each byte of the wire: the usage event never reaches the client."""
    events = [chat_events(("é",))[1], usage_event(5, 1, 2), b"data: [DONE]\n\n"]
    wire = stream_head() + b"".join(b"%x\r\n%s\r\n" % (len(e), e) for e in events) + b"0\r\n\r\n"
    want, state, m = events[0] + events[2], {"at": 1}, mu()

    async def script(x):
        await x.send(wire[:state["at"]])
        await x.pause(0.001)
        await x.send(wire[state["at"]:])
    m.script = script
    g, body = gw(m), chat(stream=True)
    with g.conn() as c:
        for at in range(1, len(wire)):
            state["at"] = at
            reply = c.request(body=body).read_reply()
            assert reply.body == want and reply.end == "complete", f"cut at {at}"
    n = len(wire) - 1
    assert g.tokens() == (5 * n, n, 2 * n)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_small_chunks(gw, mu, size):
    g = gw(mu(sse(chat_events(("你好", "x"), usage=USAGE), split=size)))
    reply = g.post(chat(stream=True))
    assert reply.body == b"".join(chat_events(("你好", "x"))) and g.tokens() == USAGE


def test_crlf_events_and_comments(gw, mu):
    def crlf(events):
        return [e.replace(b"\n", b"\r\n") for e in events]
    events = [b": hello\n\n"] + chat_events(usage=USAGE)
    want = [b": hello\n\n"] + chat_events()
    g = gw(mu(sse(crlf(events))))
    assert g.post(chat(stream=True)).body == b"".join(crlf(want))
    assert g.tokens() == USAGE


def test_usage_together_with_a_choice_is_not_taken_out(gw, mu):
    """Some engines put usage on the last content chunk: that event belongs to the client."""
    chunk = dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
        {"index": 0, "delta": {"content": "last"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14,
                  "prompt_tokens_details": {"cached_tokens": 7}}})
    events = [b"data: " + chunk + b"\n\n", b"data: [DONE]\n\n"]
    g = gw(mu(sse(events)))
    assert g.post(chat(stream=True)).body == b"".join(events)
    assert g.tokens() == USAGE


def test_continuous_usage_is_counted_once(gw, mu):
    def event(n):
        return b"data: " + dumps({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
            {"index": 0, "delta": {"content": "t"}, "finish_reason": None}],
            "usage": {"prompt_tokens": 11, "completion_tokens": n, "total_tokens": 11 + n}}) + b"\n\n"
    events = [event(1), event(2), event(3), usage_event(11, 3, 7), b"data: [DONE]\n\n"]
    g = gw(mu(sse(events)))
    body = chat(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True})
    assert g.post(body).body == b"".join(events)
    assert g.tokens() == USAGE


def test_large_event_is_relayed(gw, mu):
    big = b"data: " + dumps({"choices": [{"index": 0, "delta": {"content": "x" * 500_000}}]}) + b"\n\n"
    events = [big] + chat_events(usage=USAGE)
    g = gw(mu(sse(events, split=60_000)))
    assert g.post(chat(stream=True)).body == big + b"".join(chat_events())
    poll(lambda: g.tokens() == USAGE, 2, "usage counted")
