# SPDX-License-Identifier: Apache-2.0
"""The vendors' Python SDKs, unmodified, against `saga serve --engines sim:2`."""
import concurrent.futures

import anthropic
import openai
import pytest

from kit import Saga, chat, poll
from kit import names

TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
ASK = [{"role": "user", "content": "Say something short."}]


@pytest.fixture(scope="module")
def sim(tmp_path_factory):
    g = Saga(tmp_path_factory.mktemp("sim"), args=["--engines", "sim:2"], wait=2)
    yield g
    g.finish()


@pytest.fixture(scope="module")
def client(sim):
    with openai.OpenAI(base_url=f"{sim.base}/v1", api_key="any", max_retries=0, timeout=30) as c:
        yield c


@pytest.fixture(scope="module")
def claude(sim):
    with anthropic.Anthropic(base_url=sim.base, api_key="any", max_retries=0, timeout=30) as c:
        yield c


@pytest.fixture(scope="module")
def model(client):
    return client.models.list().data[0].id


def test_models(client):
    got = client.models.list()
    assert got.object == "list" and got.data and all(m.object == "model" for m in got.data)


def test_chat(client, model):
    got = client.chat.completions.create(model=model, messages=ASK, max_tokens=8)
    assert got.object == "chat.completion" and got.choices[0].message.content
    assert got.usage.completion_tokens <= 8 and got.usage.prompt_tokens > 0
    assert got.choices[0].finish_reason in ("stop", "length")


def test_chat_stream(client, model):
    stream = client.chat.completions.create(model=model, messages=ASK, max_tokens=8, stream=True)
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert chunks[-1].choices, "an event without choices: usage was not asked for"
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")


def test_chat_stream_with_usage(client, model):
    stream = client.chat.completions.create(model=model, messages=ASK, max_tokens=8, stream=True,
                                            stream_options={"include_usage": True})
    last = list(stream)[-1]
    assert not last.choices and last.usage.total_tokens == last.usage.prompt_tokens + last.usage.completion_tokens


def test_stream_and_json_give_the_same_text(client, model):
    ask = [{"role": "user", "content": "Deterministic, please."}]
    whole = client.chat.completions.create(model=model, messages=ask, max_tokens=12, seed=1).choices[0].message.content
    stream = client.chat.completions.create(model=model, messages=ask, max_tokens=12, seed=1, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == whole


def test_tool_call_and_its_result(client, model):
    first = client.chat.completions.create(model=model, messages=ASK, tools=TOOLS, tool_choice="required", max_tokens=64)
    call = first.choices[0].message.tool_calls[0]
    assert call.function.name == "get_weather" and first.choices[0].finish_reason == "tool_calls"
    answer = [*ASK, first.choices[0].message.model_dump(exclude_none=True),
              {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    second = client.chat.completions.create(model=model, messages=answer, tools=TOOLS, tool_choice="none", max_tokens=8)
    assert second.choices[0].message.content and second.usage.prompt_tokens_details.cached_tokens > 0


def test_tool_call_streamed(client, model):
    stream = client.chat.completions.create(model=model, messages=ASK, tools=TOOLS, tool_choice="required",
                                            max_tokens=64, stream=True)
    name, arguments, finish = "", "", None
    for chunk in stream:
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or []:
                name += call.function.name or ""
                arguments += call.function.arguments or ""
    assert name == "get_weather" and arguments.startswith("{") and finish == "tool_calls"


def test_chat_stream_helper_of_the_sdk(client, model):
    with client.chat.completions.stream(model=model, messages=ASK) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content


def test_completions(client, model):
    got = client.completions.create(model=model, prompt="Once", max_tokens=6)
    assert got.choices[0].text and got.usage.completion_tokens <= 6
    assert "".join(c.choices[0].text for c in client.completions.create(
        model=model, prompt="Once", max_tokens=6, stream=True) if c.choices)


def test_responses(client, model):
    got = client.responses.create(model=model, input="Hello", max_output_tokens=16)
    assert got.status in ("completed", "incomplete") and got.output_text and got.usage.input_tokens > 0


def test_responses_stream(client, model):
    events = list(client.responses.create(model=model, input="Hello", max_output_tokens=16, stream=True))
    assert events[0].type == "response.created"
    assert events[-1].type in ("response.completed", "response.incomplete")
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta")


def test_messages(claude, model):
    got = claude.messages.create(model=model, max_tokens=16, messages=ASK, system="Be short.")
    assert got.type == "message" and got.content[0].text and got.usage.output_tokens <= 16


def test_messages_stream(claude, model):
    with claude.messages.stream(model=model, max_tokens=16, messages=ASK) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text and final.content[0].text == text and final.stop_reason in ("end_turn", "max_tokens")


def test_count_tokens(claude, model):
    assert claude.messages.count_tokens(model=model, messages=ASK).input_tokens > 0


def test_errors_are_the_sdks_own(client, claude):
    with pytest.raises(openai.NotFoundError) as e:
        client.chat.completions.create(model="nobody-serves-this", messages=ASK)
    assert e.value.code == "model_not_found" and e.value.request_id
    with pytest.raises(anthropic.NotFoundError) as e:
        claude.messages.create(model="nobody-serves-this", max_tokens=5, messages=ASK)
    assert e.value.body["error"]["type"] == "not_found_error"


def test_leaving_a_stream_early(sim, client, model):
    stream = client.chat.completions.create(model=model, messages=ASK, max_tokens=4000, stream=True)
    next(iter(stream))
    stream.close()
    sim.wait_idle()


def test_many_at_once(sim, client, model):
    def one(i):
        ask = [{"role": "user", "content": f"number {i}"}]
        return client.chat.completions.create(model=model, messages=ask, max_tokens=8).choices[0].message.content
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        assert all(pool.map(one, range(64)))
    assert sim.outcomes()[names.OK] >= 64


def test_growing_session_hits_the_cache_of_its_engine(sim, client, model):
    talk, engines, cached = [{"role": "user", "content": "start " * 200}], set(), []
    for n in range(5):
        raw = client.chat.completions.with_raw_response.create(model=model, messages=talk, max_tokens=8)
        engines.add(raw.headers["x-saga-engine"])
        got = raw.parse()
        cached.append(got.usage.prompt_tokens_details.cached_tokens / got.usage.prompt_tokens)
        talk += [{"role": "assistant", "content": got.choices[0].message.content}, {"role": "user", "content": f"and {n}"}]
    assert len(engines) == 1 and min(cached[1:]) > 0.7


def test_async_client(sim, model):
    import asyncio

    async def run():
        async with openai.AsyncOpenAI(base_url=f"{sim.base}/v1", api_key="any", max_retries=0) as c:
            stream = await c.chat.completions.create(model=model, messages=ASK, max_tokens=8, stream=True)
            return [chunk async for chunk in stream]
    assert len(asyncio.run(run())) >= 2


def test_sdk_retries_reach_a_result(gw, mu):
    from kit import json_reply
    m = mu().then(json_reply({"error": {"message": "busy"}}, 429, b"Retry-After: 0\r\n"))
    g = gw(m)
    with openai.OpenAI(base_url=f"{g.base}/v1", api_key="any", max_retries=2) as c:
        assert c.chat.completions.create(model="m", messages=ASK).choices[0].message.content
    assert m.executions == 2
    poll(lambda: g.post(chat()).status == 200, 1, "goes on")
