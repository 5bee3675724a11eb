# SPDX-License-Identifier: Apache-2.0
"""Server-sent events: the ones engines send, and a strict parser for what a client got."""
import json
from dataclasses import dataclass, field

DONE = b"data: [DONE]\n\n"


@dataclass
class Event:
    name: str = ""
    data: str = ""
    comments: list = field(default_factory=list)

    def json(self):
        return json.loads(self.data)


def parse_sse(raw):
    """Events of a finished stream, strictly: UTF-8, and nothing but the standard's fields."""
    text = raw.decode("utf-8", errors="strict").replace("\r\n", "\n")
    events = []
    for block in text.split("\n\n"):
        event, data = Event(), []
        for line in filter(None, block.split("\n")):
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "":
                event.comments.append(value)
            elif name == "data":
                data.append(value)
            elif name == "event":
                event.name = value
            elif name not in ("id", "retry"):
                raise AssertionError(f"not a line of an event stream: {line!r}")
        event.data = "\n".join(data)
        if data or event.name or event.comments:
            events.append(event)
    return events


def is_error_event(event):
    """An error in the shape of OpenAI chat, OpenAI responses or Anthropic messages."""
    if event.name == "error":
        return True
    try:
        obj = json.loads(event.data)
    except ValueError:
        return False
    return isinstance(obj, dict) and ("error" in obj and obj["error"] or obj.get("type") == "error")


def event_bytes(obj, name=None):
    head = f"event: {name}\n" if name else ""
    return (head + "data: " + json.dumps(obj, ensure_ascii=False) + "\n\n").encode()


def _usage(prompt, output, cached):
    return {"prompt_tokens": prompt, "total_tokens": prompt + output, "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": cached}}


def _chunk(choices, model="m", **more):
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000,
            "model": model, "choices": choices, **more}


def usage_event(prompt=11, output=3, cached=7, model="m"):
    return event_bytes(_chunk([], model, usage=_usage(prompt, output, cached)))


def chat_events(texts=("Hel", "lo", "!"), usage=None, done=True, model="m", finish="stop"):
    """Events of a chat stream; usage = (prompt, output, cached) adds the closing usage event."""
    out = [event_bytes(_chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}}], model))]
    out += [event_bytes(_chunk([{"index": 0, "delta": {"content": t}, "finish_reason": None}], model))
            for t in texts]
    out.append(event_bytes(_chunk([{"index": 0, "delta": {}, "finish_reason": finish}], model)))
    if usage:
        out.append(usage_event(*usage, model=model))
    return out + ([DONE] if done else [])


def chat_json(text="Hello!", usage=(11, 3, 7), model="m"):
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text},
                         "finish_reason": "stop"}], "usage": _usage(*usage)}


def completion_events(texts=("a", "b"), usage=None, model="m"):
    base = {"id": "cmpl-1", "object": "text_completion", "created": 1700000000, "model": model}
    out = [event_bytes({**base, "choices": [{"index": 0, "text": t, "finish_reason": None}]}) for t in texts]
    if usage:
        out.append(event_bytes({**base, "choices": [], "usage": _usage(*usage)}))
    return out + [DONE]


def responses_events(texts=("Hel", "lo"), usage=(11, 2, 7), model="m"):
    """A stream of the Responses API: named events, no [DONE]."""
    resp = {"id": "resp_1", "object": "response", "model": model, "status": "in_progress", "output": []}
    out = [event_bytes({"type": "response.created", "response": resp}, "response.created")]
    out += [event_bytes({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
                   "content_index": 0, "delta": t}, "response.output_text.delta") for t in texts]
    prompt, output, cached = usage
    done = {**resp, "status": "completed", "usage": {
        "input_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output,
        "input_tokens_details": {"cached_tokens": cached}}}
    return out + [event_bytes({"type": "response.completed", "response": done}, "response.completed")]


def messages_events(texts=("Hel", "lo"), usage=(11, 2, 7), model="m"):
    """A stream of the Anthropic Messages API."""
    prompt, output, cached = usage
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
             "usage": {"input_tokens": prompt - cached, "cache_read_input_tokens": cached,
                       "cache_creation_input_tokens": 0, "output_tokens": 0}}
    out = [event_bytes({"type": "message_start", "message": start}, "message_start"),
           event_bytes({"type": "content_block_start", "index": 0,
                  "content_block": {"type": "text", "text": ""}}, "content_block_start")]
    out += [event_bytes({"type": "content_block_delta", "index": 0,
                   "delta": {"type": "text_delta", "text": t}}, "content_block_delta") for t in texts]
    out += [event_bytes({"type": "content_block_stop", "index": 0}, "content_block_stop"),
            event_bytes({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                   "usage": {"output_tokens": output}}, "message_delta"),
            event_bytes({"type": "message_stop"}, "message_stop")]
    return out
