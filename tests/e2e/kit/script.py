# SPDX-License-Identifier: Apache-2.0
"""Ready-made scripts of a MockUpstream. Each call returns an `async def script(x)`."""
import json

from . import sse as _sse

STREAM_HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n")


def models_body(models, owned_by="vllm"):
    return json.dumps({"object": "list", "data": [
        {"id": m, "object": "model", "created": 1700000000, "owned_by": owned_by, "root": m,
         "parent": None, "max_model_len": 131072} for m in models]}).encode()


def stream_head(headers=b""):
    return STREAM_HEAD[:-2] + headers + b"\r\n"


def raw_reply(data, then=None):
    """Exactly these bytes; then: None (keep), "fin" or "rst"."""
    async def script(x):
        await x.send(data)
        if then:
            getattr(x, then)()
    return script


def json_reply(obj, status=200, headers=b"", delay=0.0, ctype=b"application/json"):
    """A body with Content-Length; obj is bytes or something to encode."""
    body = obj if isinstance(obj, bytes) else json.dumps(obj).encode()

    async def script(x):
        if delay:
            await x.pause(delay)
        await x.send(b"HTTP/1.1 %d Status\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s"
                     % (status, ctype, len(body), headers, body))
    return script


def sse(events, gap=0.0, split=None, split_gap=0.0, headers=b"", delay=0.0, wire_split=None):
    """A chunked event stream. One chunk per event; split: chunks of this size over all bytes instead;
    wire_split: write sizes over the wire bytes (framing included)."""
    async def script(x):
        if delay:
            await x.pause(delay)
        data = b"".join(events)
        if wire_split:
            wire = stream_head(headers) + b"".join(b"%x\r\n%s\r\n" % (len(e), e) for e in events)
            return await x.send(wire + b"0\r\n\r\n", split=wire_split, gap=split_gap)
        await x.send(stream_head(headers))
        pieces = events if split is None else [data[i:i + split] for i in range(0, len(data), split)]
        for piece in pieces:
            x.mark()
            await x.chunk(piece)
            await x.pause(gap if split is None else split_gap)
        return await x.end()
    return script


def auto(gap=0.0, delay=0.0, texts=("Hel", "lo", "!")):
    """Answers as an engine does, by route and by what was asked."""
    async def script(x):
        req = x.rec.json()
        usage = (11, 3, 7)
        asked = bool((req.get("stream_options") or {}).get("include_usage"))
        path = x.rec.path
        if path == "/v1/messages/count_tokens":
            return await json_reply({"input_tokens": 11})(x)
        if req.get("stream"):
            events = {"/v1/responses": lambda: _sse.responses_events(texts),
                      "/v1/messages": lambda: _sse.messages_events(texts),
                      "/v1/completions": lambda: _sse.completion_events(texts, usage if asked else None),
                      }.get(path, lambda: _sse.chat_events(texts, usage if asked else None))()
            return await sse(events, gap=gap, delay=delay)(x)
        return await json_reply(_sse.chat_json("".join(texts), usage), delay=delay)(x)
    return script


def hang(after=b""):
    """Sends these bytes, then nothing until the gateway closes."""
    async def script(x):
        if after:
            await x.send(after)
        await x.pause(3600)
    return script


def rst_now():
    """Read the request, ran it, died without a byte."""
    async def script(x):
        x.rst()
    return script


def cut(events, how="rst", headers=b"", gap=0.01):
    """A stream that breaks off after these events: "rst", or "fin" without the final chunk."""
    async def script(x):
        await x.send(stream_head(headers))
        for event in events:
            await x.chunk(event)
        await x.pause(gap)
        getattr(x, how)()
    return script
