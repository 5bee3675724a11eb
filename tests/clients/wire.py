# SPDX-License-Identifier: Apache-2.0
"""The three APIs that clients speak, read into one shape and written from one: a reply is text and tool calls."""
import itertools
import json
from dataclasses import dataclass, field

from kit.sse import DONE, event_bytes

COUNT = itertools.count(1)
USAGE = (900, 20, 700)  # prompt, output, cached tokens


@dataclass
class Call:
    """A tool call; args is a dict, or makes one of the texts of the results so far."""
    name: str
    args: object = field(default_factory=dict)
    namespace: str = None  # Codex groups some tools

    def bound(self, results):
        args = self.args(results) if callable(self.args) else self.args
        return {"id": f"call_{next(COUNT):08d}", "name": self.name, "namespace": self.namespace,
                "args": json.dumps(args)}


@dataclass
class Asked:
    """What a request holds: texts of the user, tool results in order, names of the tools on offer."""
    texts: list
    results: list
    tools: list


def text_of(content):
    """The text of a string or of a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(p.get("text") or "" for p in content or [] if isinstance(p, dict))


def read(path, body):
    return {"/v1/chat/completions": read_chat, "/v1/responses": read_responses,
            "/v1/messages": read_messages}[path](body)


def read_chat(body):
    of = {role: [text_of(m.get("content")) for m in body["messages"] if m["role"] == role]
          for role in ("user", "tool")}
    return Asked(of["user"], of["tool"], [t["function"]["name"] for t in body.get("tools") or []])


def read_responses(body):
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    texts = [text_of(i.get("content")) for i in items if i.get("role") == "user"]
    results = [text_of(i["output"]) for i in items if i.get("type") == "function_call_output"]
    names = [inner.get("name") for t in body.get("tools") or [] for inner in t.get("tools") or [t]]
    return Asked(texts, results, [n for n in names if n])


def read_messages(body):
    parts = []
    for message in body["messages"]:
        content = message["content"]
        if message["role"] == "user":
            parts += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return Asked([p["text"] for p in parts if p["type"] == "text"],
                 [text_of(p.get("content")) for p in parts if p["type"] == "tool_result"],
                 [t["name"] for t in body.get("tools") or []])


def write(path, body, text, calls):
    """The answer to this request: a list of events if it asked for a stream, else an object."""
    chat, streamed = path == "/v1/chat/completions", bool(body.get("stream"))
    if chat:
        return (chat_events if streamed else chat_object)(body["model"], text, calls)
    if path == "/v1/responses":
        return responses_events(body["model"], text, calls) if streamed else \
            response_object(body["model"], text, calls)
    return (messages_events if streamed else message_object)(body["model"], text, calls)


def halves(text):
    """Two pieces, as deltas come."""
    return [text[:len(text) // 2], text[len(text) // 2:]]


# --- chat completions ---
def chat_usage():
    prompt, output, cached = USAGE
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": cached}}


def chat_call(call, index=None):
    out = {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["args"]}}
    return out if index is None else {"index": index, **out}


def chat_object(model, text, calls):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [chat_call(c) for c in calls]
    return {"id": f"chatcmpl-{next(COUNT)}", "object": "chat.completion", "created": 1700000000, "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": chat_usage()}


def chat_events(model, text, calls):
    head = {"id": f"chatcmpl-{next(COUNT)}", "object": "chat.completion.chunk", "created": 1700000000, "model": model}

    def chunk(delta, finish=None):
        return event_bytes({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    out = [chunk({"role": "assistant", "content": ""})] + [chunk({"content": t}) for t in halves(text)]
    for i, call in enumerate(calls):
        first, rest = halves(call["args"])
        out.append(chunk({"tool_calls": [chat_call({**call, "args": first}, i)]}))
        out.append(chunk({"tool_calls": [{"index": i, "function": {"arguments": rest}}]}))
    out.append(chunk({}, "tool_calls" if calls else "stop"))
    return out + [event_bytes({**head, "choices": [], "usage": chat_usage()}), DONE]


# --- responses ---
def response_items(text, calls):
    message = {"type": "message", "id": f"msg_{next(COUNT)}", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": text, "annotations": []}]}
    out = [message] if text else []
    for call in calls:
        space = {"namespace": call["namespace"]} if call["namespace"] else {}
        out.append({"type": "function_call", "id": f"fc_{next(COUNT)}", "call_id": call["id"], **space,
                    "name": call["name"], "arguments": call["args"], "status": "completed"})
    return out


def response_object(model, text, calls):
    prompt, output, cached = USAGE
    return {"id": f"resp_{next(COUNT)}", "object": "response", "created_at": 1700000000, "status": "completed",
            "model": model, "output": response_items(text, calls), "parallel_tool_calls": True, "tool_choice": "auto",
            "tools": [], "usage": {
                "input_tokens": prompt, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": output,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt + output}}


def responses_events(model, text, calls):
    done, out = response_object(model, text, calls), []

    def add(kind, **more):
        out.append(event_bytes({"type": kind, "sequence_number": len(out), **more}, kind))
    add("response.created", response={**done, "status": "in_progress", "output": []})
    for i, item in enumerate(done["output"]):
        at = {"output_index": i, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            add("response.output_item.added", output_index=i, item={**item, "status": "in_progress", "content": []})
            add("response.content_part.added", content_index=0, part={**part, "text": ""}, **at)
            for piece in halves(text):
                add("response.output_text.delta", content_index=0, delta=piece, logprobs=[], **at)
            add("response.output_text.done", content_index=0, text=text, logprobs=[], **at)
            add("response.content_part.done", content_index=0, part=part, **at)
        else:
            add("response.output_item.added", output_index=i, item={**item, "status": "in_progress", "arguments": ""})
            for piece in halves(item["arguments"]):
                add("response.function_call_arguments.delta", delta=piece, **at)
            add("response.function_call_arguments.done", arguments=item["arguments"], name=item["name"], **at)
        add("response.output_item.done", output_index=i, item=item)
    add("response.completed", response=done)
    return out


# --- messages ---
def message_usage():
    prompt, output, cached = USAGE
    return {"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0,
            "output_tokens": output}


def message_object(model, text, calls):
    blocks = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": c["id"], "name": c["name"], "input": json.loads(c["args"])} for c in calls]
    return {"id": f"msg_{next(COUNT)}", "type": "message", "role": "assistant", "model": model, "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": message_usage()}


def messages_events(model, text, calls):
    whole, out = message_object(model, text, calls), []

    def add(kind, **more):
        out.append(event_bytes({"type": kind, **more}, kind))
    add("message_start", message={**whole, "content": [], "stop_reason": None})
    for i, block in enumerate(whole["content"]):
        if block["type"] == "text":
            add("content_block_start", index=i, content_block={"type": "text", "text": ""})
            deltas = [{"type": "text_delta", "text": t} for t in halves(block["text"])]
        else:
            add("content_block_start", index=i, content_block={**block, "input": {}})
            deltas = [{"type": "input_json_delta", "partial_json": t} for t in halves(json.dumps(block["input"]))]
        for delta in deltas:
            add("content_block_delta", index=i, delta=delta)
        add("content_block_stop", index=i)
    add("message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None},
        usage={"output_tokens": USAGE[1]})
    add("message_stop")
    return out
