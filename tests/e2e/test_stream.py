# SPDX-License-Identifier: Apache-2.0
"""Streams, one test per known failure case (class stream): bytes, ends, silence, encodings."""
import gzip
import json
import shutil
import socket
import subprocess

import pytest

from kit import (PeerGone, T, chat, chat_events, chat_json, cut, dumps, is_error_event, json_reply,
                 parse_sse, poll, raw_reply, responses, responses_events, sse, stream_head, usage_event)
from kit import names

ASK = {"stream": True, "stream_options": {"include_usage": True}}
CJK = chat_events(("你好，世界", "🙂🚀", "ｅｎｄé"), usage=(11, 3, 7))


def assert_cut_is_visible(reply):
    """Design 11: an error event and no [DONE], or an end that no client takes for a good one."""
    if reply.end == "complete":
        events = parse_sse(reply.body)
        assert is_error_event(events[-1]), reply.body[-300:]
    assert b"[DONE]" not in reply.body


def test_B001_one_byte_writes(gw, mu):
    g = gw(mu(sse(CJK, wire_split=1)))
    reply = g.post(chat(**ASK))
    assert reply.body == b"".join(CJK) and reply.end == "complete"
    assert g.tokens() == (11, 3, 7)


def test_B001_every_split_offset(gw, mu):
    events = chat_events(("你🙂",), usage=(5, 1, 0), done=True)
    wire = stream_head() + b"".join(b"%x\r\n%s\r\n" % (len(e), e) for e in events) + b"0\r\n\r\n"
    m, state = mu(), {"at": 1}

    async def script(x):
        await x.send(wire[:state["at"]])
        await x.pause(0.001)
        await x.send(wire[state["at"]:])
    m.script = script
    g, body, want = gw(m), chat(**ASK), b"".join(events)
    with g.conn() as c:
        for at in range(1, len(wire)):
            state["at"] = at
            reply = c.request(body=body).read_reply()
            assert reply.body == want and reply.end == "complete", f"split at {at}"
    n = len(wire) - 1
    assert g.tokens() == (5 * n, n, 0)


def test_B003_usage_without_blank_line_and_data_over_two_lines(gw, mu):
    last = usage_event(21, 4, 9)
    head, tail = last[:-2].split(b'"choices"', 1)
    two_lines = head + b'\ndata: "choices"' + tail + b"\n\n"
    for events, total in ((chat_events(done=False) + [last[:-2]], 1), (chat_events(done=False) + [two_lines], 1)):
        g = gw(mu(sse(events)))
        reply = g.post(chat(**ASK))
        assert reply.body == b"".join(events) and reply.end == "complete"
        poll(lambda: g.tokens() == (21 * total, 4 * total, 9 * total), 2, "usage counted")


def test_B004_comments_before_the_first_token(gw, mu):
    events = [b": PROCESSING\n\n"] * 5 + chat_events(usage=(11, 3, 7))
    reply = gw(mu(sse(events, gap=0.05))).post(chat(**ASK))
    assert b"data: :" not in reply.body
    seen = parse_sse(reply.body)
    assert [e.data for e in seen if e.data][-1] == "[DONE]"
    assert [e.data for e in seen if e.data] == [e.data for e in parse_sse(b"".join(events)) if e.data]


def test_B006_silence_with_early_keepalive(gw, mu):
    events = chat_events(usage=(11, 3, 7))
    g = gw(mu(sse(events, delay=1.2)), sets={"stream_keepalive": "early", "stream_keepalive_ms": 150})
    reply = g.post(chat(**ASK))
    assert reply.status == 200 and reply.end == "complete"
    times = [reply.head_at] + [t for t, _ in reply.pieces]
    assert max(b - a for a, b in zip(times, times[1:])) < T(0.5)
    seen = parse_sse(reply.body)
    assert len([e for e in seen if e.comments]) >= 3
    assert [e.data for e in seen if e.data] == [e.data for e in parse_sse(b"".join(events))]


def test_B006_silence_then_429_with_early_keepalive(gw, mu):
    body = {"error": {"message": "slow down", "type": "rate_limit_error", "param": None, "code": "x"}}
    g = gw(mu(json_reply(body, 429, b"Retry-After: 7\r\n", delay=0.6)),
           sets={"stream_keepalive": "early", "stream_keepalive_ms": 100})
    reply = g.post(chat(**ASK))
    assert reply.status == 200 and reply.is_stream and reply.end == "complete"
    events = parse_sse(reply.body)
    assert any(e.comments for e in events) and is_error_event(events[-1])
    assert b"[DONE]" not in reply.body
    assert g.outcomes().get(names.OK, 0) == 0


def test_B006_silence_then_429_without_keepalive(gw, mu):
    g = gw(mu(json_reply({"error": {"message": "slow down"}}, 429, b"Retry-After: 7\r\n", delay=0.3)))
    reply = g.post(chat(**ASK))
    assert reply.status == 429 and reply.header("retry-after") == "7"


def test_B007_responses_stream_without_done(gw, mu):
    events = responses_events()
    m = mu(sse(events))
    g = gw(m, sets={"health.fail_count": 1})
    for _ in range(3):
        reply = g.post(responses(stream=True), "/v1/responses")
        assert reply.body == b"".join(events) and reply.end == "complete"
    assert g.engine(m)["state"] == "up"
    poll(lambda: g.outcomes() == {names.OK: 3}, 3, "counted")
    assert g.tokens() == (33, 6, 21)


@pytest.mark.parametrize("how", ["rst", "fin"])
def test_B008_upstream_dies_after_three_deltas(gw, mu, how):
    g = gw(mu(cut(chat_events()[:3], how)))
    reply = g.post(chat(**ASK))
    assert reply.status == 200 and b"".join(chat_events()[:3]) in reply.body
    assert reply.end == "complete" and is_error_event(parse_sse(reply.body)[-1])
    assert_cut_is_visible(reply)
    assert names.OK not in g.outcomes()


def test_B008_stream_with_content_length_too_long(gw, mu):
    data = b"".join(chat_events())
    g = gw(mu(raw_reply(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s"
                        % (len(data) + 10, data[:-14]), "fin")))
    assert_cut_is_visible(g.post(chat(**ASK)))
    assert names.OK not in g.outcomes()


def test_B008_json_with_content_length_too_long(gw, mu):
    data = dumps(chat_json())
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
    g = gw(mu(raw_reply(head + data[:-10], "fin")))
    reply = g.post(chat())
    assert reply is None or reply.end in ("truncated", "reset") or reply.status == 502
    assert names.OK not in g.outcomes()


def test_B008_json_chunked_without_final_chunk(gw, mu):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    g = gw(mu(raw_reply(head + b"5\r\n{\"a\":\r\n", "fin")))
    reply = g.post(chat())
    assert reply is None or reply.end in ("truncated", "reset") or reply.status == 502


@pytest.mark.parametrize("dialect, target", [("messages", "/v1/messages"), ("responses", "/v1/responses")])
def test_B008_error_event_in_the_shape_of_the_route(gw, mu, dialect, target):
    import kit
    events = getattr(kit, f"{dialect}_events")()[:3]
    reply = gw(mu(cut(events, "rst"))).post(getattr(kit, dialect)(stream=True), target)
    last = parse_sse(reply.body)[-1]
    assert reply.end == "complete" and last.name == "error"
    assert last.json()["type"] == "error"
    if dialect == "messages":
        assert last.json()["error"]["type"] and last.json()["error"]["message"]


def test_B010_three_ends_three_outcomes(gw, mu):
    m = mu(sse(chat_events(), gap=0.02))
    g = gw(m, sets={"health.fail_count": 2})
    assert g.post(chat(stream=True)).end == "complete"
    m.then(cut(chat_events()[:3], "rst"))
    g.post(chat(stream=True))
    m.then(sse(chat_events(["x"] * 500), gap=0.01))
    c, reply = g.open_stream(chat(stream=True))
    assert c.read_until(reply, b"data:")
    c.rst()
    want = {names.OK: 1, names.UPSTREAM_ABORT: 1, names.CLIENT_CANCEL: 1}
    poll(lambda: g.outcomes() == want, 3, "three outcomes")
    for _ in range(4):  # a client that leaves says nothing about the engine
        m.then(sse(chat_events(["x"] * 500), gap=0.01))
        c, reply = g.open_stream(chat(stream=True))
        c.rst()
    g.wait_idle()
    assert g.engine(m)["state"] == "up"


@pytest.mark.parametrize("how", ["end", "fin"])
def test_B011_empty_stream_is_no_success(gw, mu, how):
    async def script(x):
        await x.send(stream_head())
        await x.pause(0.01)
        if how == "end":
            await x.end()
        else:
            x.fin()
    g = gw(mu(script))
    reply = g.post(chat(**ASK))
    events = parse_sse(reply.body) if reply.is_stream else []
    assert reply.status == 502 or reply.end != "complete" or events and is_error_event(events[-1])
    assert names.OK not in g.outcomes()


def test_B011_stream_of_only_done_is_no_success(gw, mu):
    g = gw(mu(sse([b"data: [DONE]\n\n"])))
    g.post(chat(**ASK))
    poll(g.outcomes, 2, "an outcome")
    assert names.OK not in g.outcomes()


@pytest.mark.parametrize("status", [400, 401, 422, 429, 503])
def test_B012_error_status_of_a_stream_request(gw, mu, status):
    body = b'{"error": {"message": "no",  "type": "x", "code": %d}}' % status
    reply = gw(mu(json_reply(body, status))).post(chat(**ASK))
    assert reply.status == status and reply.body == body and reply.end == "complete"
    assert reply.header("content-type") == "application/json"


def test_B013_first_event_is_an_error(gw, mu):
    events = [b": hi\n\n", b'data: {"error": {"message": "overloaded", "type": "x", "code": 503}}\n\n']
    m = mu(sse(events))
    g = gw(m, mu(sse(events)))
    reply = g.post(chat(**ASK))
    assert reply.body.startswith(b"".join(events))
    poll(g.outcomes, 2, "an outcome")
    assert names.OK not in g.outcomes()


def test_B014_events_pass_as_they_are_sent(gw, mu):
    async def script(x):
        await x.send(stream_head())
        for i in range(60):
            x.mark()
            await x.chunk(b'data: {"i":%d,"pad":"%s"}\n\n' % (i, b"p" * 220))
            await x.pause(0.025)
        await x.chunk(b"data: [DONE]\n\n")
        await x.end()
    m = mu(script)
    g = gw(m)
    reply = g.post(chat(**ASK))
    arrived, text = {}, b""
    for at, piece in reply.pieces:
        text += piece
        for i in range(60):
            if i not in arrived and b'"i":%d,' % i in text:
                arrived[i] = at
    late = sorted(arrived[i] - m.reqs[0].marks[i] for i in range(60))
    assert late[-2] < T(0.05), f"worst two of 60: {late[-2:]}"
    assert reply.head_at - m.reqs[0].marks[0] < T(0.05)


def test_B015_anti_buffering_headers_once(gw, mu):
    for headers in (b"", b"X-Accel-Buffering: yes\r\nCache-Control: max-age=60\r\n"):
        reply = gw(mu(sse(chat_events(), headers=headers))).post(chat(**ASK))
        assert reply.all("x-accel-buffering") == ["no"]
        assert len(reply.all("cache-control")) == 1 and "no-cache" in reply.header("cache-control")


@pytest.mark.skipif(not shutil.which("nginx") and not shutil.which("/usr/sbin/nginx"), reason="no nginx here")
def test_B015_stock_nginx_in_front_does_not_buffer(gw, mu, tmp_path):
    g = gw(mu(sse([b"data: {}\n\n"] * 40 + [b"data: [DONE]\n\n"], gap=0.02)))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/err.log; worker_processes 1; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;\n"
        f" fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;\n"
        f" server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {g.base}; proxy_http_version 1.1; }} }} }}\n")
    nginx = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(tmp_path / "nginx.conf"),
                              "-e", str(tmp_path / "start.log")], stderr=subprocess.DEVNULL)
    try:
        def listening():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0
        poll(listening, 5, "nginx")
        reply = g.conn(("127.0.0.1", port)).request(body=chat(**ASK)).read_reply()
        assert reply.end == "complete"
        assert reply.pieces[-1][0] - reply.pieces[0][0] > 0.4, "came in one lump"
    finally:
        nginx.terminate()
        nginx.wait()


def test_B016_accept_encoding_does_not_lump_events(gw, mu):
    async def script(x):
        if any(e in (x.rec.header("accept-encoding") or "") for e in ("gzip", "br", "deflate", "zstd")):
            data = gzip.compress(b"".join(chat_events()))  # an engine's layer that holds all back
            await x.pause(0.5)
            return await sse([data], headers=b"Content-Encoding: gzip\r\n")(x)
        return await sse(chat_events(), gap=0.05)(x)
    reply = gw(mu(script)).post(chat(**ASK), headers=[("Accept-Encoding", "gzip, br")])
    assert reply.header("content-encoding") in (None, "identity")
    assert reply.body == b"".join(chat_events())
    assert reply.pieces[-1][0] - reply.pieces[0][0] > 0.15


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_B017_encoded_json_answer(gw, mu, coding):
    data = gzip.compress(dumps(chat_json())) if coding == "gzip" else bytes(range(256)) * 4
    m = mu(json_reply(data, headers=b"Content-Encoding: %s\r\n" % coding.encode()))
    reply = gw(m).post(chat(), headers=[("Accept-Encoding", coding)])
    assert reply.status == 200 and reply.end == "complete"
    assert reply.header("content-encoding") == coding and reply.body == data
    asked = m.reqs[0].header("accept-encoding")
    assert asked in (None, "identity"), "must be asked for identity, or usage cannot be read"


@pytest.mark.parametrize("status", [429, 500])
def test_B018_encoded_error_answer(gw, mu, status):
    data = gzip.compress(b'{"error": {"message": "no"}}')
    reply = gw(mu(json_reply(data, status, b"Content-Encoding: gzip\r\n"))).post(chat(stream=True))
    assert reply.status == status and reply.end == "complete"
    plain = gzip.decompress(reply.body) if reply.header("content-encoding") == "gzip" else reply.body
    assert json.loads(plain)["error"]["message"] == "no"


def test_B021_cached_tokens_reach_client_and_metric(gw, mu):
    m = mu(json_reply(chat_json(usage=(100, 5, 64))))
    g = gw(m)
    assert g.post(chat()).json()["usage"]["prompt_tokens_details"]["cached_tokens"] == 64
    assert g.tokens() == (100, 5, 64)
    m.script = sse(chat_events(usage=(50, 2, 32)))
    assert b'"cached_tokens": 32' in g.post(chat(**ASK)).body
    assert g.tokens() == (150, 7, 96)


def test_stream_not_read_by_the_mock_again__connection_reused(gw, mu):
    """A finished stream leaves its upstream connection usable."""
    m = mu(sse(chat_events()))
    g = gw(m)
    for _ in range(5):
        assert g.post(chat(stream=True)).end == "complete"
    assert len({r.conn_id for r in m.reqs}) == 1


def test_stream_end_by_close__http_1_0_style_engine(gw, mu):
    """An engine that ends its stream by closing: [DONE] was seen, so it is a good end."""
    data = b"".join(chat_events())

    async def script(x):
        await x.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        await x.send(data)
        try:
            await x.pause(0.02)
        except PeerGone:
            return
        x.fin()
    g = gw(mu(script))
    reply = g.post(chat(**ASK))
    assert reply.body == data and reply.end == "complete"
    poll(lambda: g.outcomes() == {names.OK: 1}, 3, "counted")
