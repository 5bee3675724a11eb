# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests are made of: a scriptable upstream, a raw client, the process under test."""
from .body import (MARK, chat, completion, count_tokens, dumps, messages, responses, turn)
from .mu import Blackhole, MockUpstream, PeerGone
from .proc import Saga, binary, build_kind
from .raw import Conn, Reply, request_bytes
from .script import (auto, cut, hang, json_reply, models_body, raw_reply, rst_now, sse, stream_head)
from .shape import check_busy, check_error
from .sse import (Event, chat_events, chat_json, completion_events, is_error_event, messages_events,
                  parse_sse, responses_events, usage_event)
from .wait import T, poll, scale, stays

__all__ = [
    "Blackhole", "Conn", "Event", "MARK", "MockUpstream", "PeerGone", "Reply", "Saga", "T", "auto", "binary",
    "build_kind", "chat", "chat_events", "chat_json", "check_busy", "check_error", "completion",
    "completion_events", "count_tokens", "cut", "dumps", "hang", "is_error_event", "json_reply", "messages",
    "messages_events", "models_body", "parse_sse", "poll", "raw_reply", "request_bytes", "responses",
    "responses_events", "rst_now", "scale", "sse", "stays", "stream_head", "turn", "usage_event",
]
