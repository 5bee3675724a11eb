# SPDX-License-Identifier: Apache-2.0
"""The kit against itself: mock upstream and raw client agree about bytes, ends and times."""
import socket
import time

import pytest

from kit import (Blackhole, Conn, chat, chat_events, cut, hang, is_error_event, parse_sse, poll, raw_reply,
                 request_bytes, rst_now, sse, stays)
from kit import mu as mu_module


def connect(m, **how):
    return Conn((m.host, m.port), **how)


def test_probes__answered_by_the_mock(mu):
    m = mu(models=("a", "b"))
    with connect(m) as c:
        assert [x["id"] for x in c.request("GET", "/v1/models").read_reply().json()["data"]] == ["a", "b"]
        assert c.request("GET", "/health").read_reply().status == 200
        assert c.request("GET", "/version").read_reply().json() == {"version": "0.32.0"}
    assert m.executions == 0 and len(m.probes) == 3


def test_request__pieces_of_any_size__read_whole(mu):
    m, body = mu(), chat("x" * 3000)
    with connect(m) as c:
        c.send(request_bytes(body=body, headers=[("X-A", "1"), ("x-a", "2")]), pieces=7)
        assert c.read_reply().end == "complete"
        c.send(request_bytes(body=body, chunked=[1, 100, 5]))
        assert c.read_reply().status == 200
    first, second = m.reqs
    assert first.body == second.body == body
    assert first.all("x-a") == ["1", "2"] and not first.reused and second.reused


def test_stream__one_byte_writes__same_bytes(mu):
    events = chat_events(("你好", "🙂"))
    m = mu(sse(events, wire_split=1))
    with connect(m) as c:
        reply = c.request(body=chat(stream=True)).read_reply()
    assert reply.body == b"".join(events) and reply.end == "complete" and reply.is_stream


@pytest.mark.parametrize("how, end", [("rst", "reset"), ("fin", "truncated")])
def test_stream__cut__client_sees_it(mu, how, end):
    m = mu(cut(chat_events()[:2], how))
    with connect(m) as c:
        assert c.request(body=chat(stream=True)).read_reply().end == end


def test_reply__content_length_too_long__truncated(mu):
    m = mu(raw_reply(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789", "fin"))
    with connect(m) as c:
        reply = c.request(body=chat()).read_reply()
    assert reply.end == "truncated" and reply.body == b"0123456789"


def test_rst_now__no_answer__counted_as_execution(mu):
    m = mu(rst_now())
    with connect(m) as c:
        assert c.request(body=chat()).read_reply() is None
    assert m.executions == 1


def test_client_leaves__mock_records_the_time(mu):
    m = mu(hang())
    c = connect(m)
    c.request(body=chat())
    m.wait_reqs(1)
    at = time.monotonic()
    c.rst()
    assert 0 <= m.wait_closed() - at < 1


def test_read_until__continues_where_it_stopped(mu):
    events = chat_events(("aaa", "bbb"))
    m = mu(sse(events, split=5))
    with connect(m) as c:
        reply = c.request(body=chat(stream=True)).read_head()
        assert c.read_until(reply, b"aaa") and reply.end == "open"
        assert not c.read_until(reply, b"never there")
        assert reply.body == b"".join(events) and reply.end == "complete"


def test_idle_close__kept_connection_ends(mu):
    m = mu()
    m.idle_close = 0.05
    with connect(m) as c:
        c.request(body=chat()).read_reply()
        assert c.closed_by_peer()


def test_close_on_reuse__second_request_unread_and_reset(mu):
    m = mu()
    m.close_on_reuse = True
    with connect(m) as c:
        c.request(body=chat()).read_reply()
        assert c.request(body=chat()).read_reply() is None
    assert m.executions == 1 and m.unread_closed == 1


def test_blackhole__connect_hangs__then_works_again(mu):
    m = mu(backlog=0)
    with Blackhole(m):
        s = socket.socket()
        s.settimeout(0.2)
        with pytest.raises(TimeoutError):
            s.connect((m.host, m.port))
        s.close()
    with connect(m) as c:
        assert c.request("GET", "/health").read_reply().status == 200


def test_expect_100__mock_says_continue(mu):
    m, body = mu(), chat()
    with connect(m) as c:
        c.send(request_bytes(body=body, headers=[("Expect", "100-continue")])[:-len(body)])
        assert c.read_head(interim=True).status == 100
        c.send(body)
        assert c.read_reply().status == 200


def test_close__listener_gone__reopen_on_same_port(mu):
    m = mu()
    port = m.port
    m.close()
    with pytest.raises(ConnectionRefusedError):
        connect(m)
    m.open()
    assert m.port == port and connect(m)


def test_script_error__recorded():
    async def broken(x):
        raise ValueError("on purpose")
    m = mu_module.MockUpstream(broken)
    with connect(m) as c:
        c.request(body=chat()).read_reply()
    assert "on purpose" in poll(lambda: m.reqs[0].error, 2, "error")
    m.close()


def test_parse_sse__strict():
    events = parse_sse(b": hi\n\nevent: error\ndata: {\"error\":\ndata: {}}\n\ndata: [DONE]\n\n")
    assert events[0].comments == ["hi"] and is_error_event(events[1]) and events[2].data == "[DONE]"
    with pytest.raises(AssertionError):
        parse_sse(b"nonsense\n\n")
    with pytest.raises(UnicodeDecodeError):
        parse_sse(b"data: \xff\n\n")


def test_poll_and_stays__fail_when_they_must():
    with pytest.raises(AssertionError, match="never"):
        poll(lambda: False, 0.01, "never")
    with pytest.raises(AssertionError):
        stays(lambda: False, 0.01)
