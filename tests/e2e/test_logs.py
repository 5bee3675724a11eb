# SPDX-License-Identifier: Apache-2.0
"""What must never be logged, and what an id may look like (class logs)."""
import re

import pytest

from kit import (MARK, chat, check_error, cut, dumps, hang, json_reply, poll, rst_now, sse)

BAD_LINE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@pytest.mark.parametrize("level", ["info", "debug"])
def test_B186_prompts_and_answers_are_in_no_log_and_no_metric(gw, mu, level):
    secret = "walrus-answer-5512"
    m = mu(json_reply({"choices": [{"message": {"content": secret}}]}))
    g = gw(m, mu(m.script), sets={"log.level": level, "limits.body_bytes": 20000, "health.fail_count": 1000,
                                  "upstream.first_byte_timeout_ms": 300})
    deny = json_reply({"error": {"message": f"bad prompt {MARK} {secret}"}}, 400)
    boom = json_reply({"error": {"message": f"boom {MARK} {secret}"}}, 500)
    assert g.post(chat("ok")).status == 200
    for script in (deny, boom, hang(), rst_now(), cut([b"data: " + secret.encode()], "rst"),
                   sse([b'data: {"error":{"message":"%s"}}\n\n' % secret.encode()])):
        m.script = script
        for i in range(3):
            g.post(chat(f"p{i}", stream=bool(i % 2), user=MARK))
    g.post(chat("x" * 30000))  # too large
    g.post(b'{"model":"m","messages":[{"role":"user","content":"' + MARK.encode() + b'"}')  # cut
    g.post(b'{"model":"m","messages":"' + MARK.encode() + b'\xff"}')
    g.post(chat("x", model=f"model-{MARK}"))
    g.post(chat("x"), f"/v1/{MARK}?q={MARK}")
    g.post(chat("x"), headers=[("x-session-id", "a\tb" + MARK)])
    g.wait_idle()
    text = g.stderr + g.metrics_text()
    assert secret not in text and MARK not in text


def test_B187_request_id_is_kept_when_it_is_sane(gw, mu):
    m = mu()
    g = gw(m)
    reply = g.post(chat(), headers=[("X-Request-Id", "abc-123_XYZ.7")])
    assert reply.header("x-request-id") == "abc-123_XYZ.7"
    assert m.reqs[0].header("x-request-id") == "abc-123_XYZ.7"
    made = g.post(chat()).header("x-request-id")
    assert made and made != g.post(chat()).header("x-request-id")


@pytest.mark.parametrize("value", [
    b"\x1b[31mred\x1b[0m", b"a%0d%0aX-Evil:1", b"x" * 4000, b"spaces in it", b"quote\"back\\slash", b"\xc3\xa9\xff", b"",
    b"a=b level=error msg=fake"])
def test_B187_odd_request_ids_are_bounded_or_replaced(gw, mu, value):
    g = gw(mu(), sets={"log.level": "debug"})
    reply = g.post(chat(), headers=[("X-Request-Id", value)])
    assert reply.status in (200, 400, 431)
    rid = reply.header("x-request-id")
    assert rid and len(rid) <= 256 and re.fullmatch(r"[A-Za-z0-9._:\-%/+=@]+", rid), rid
    assert reply.header("x-evil") is None
    g.finish()
    for line in g.stderr.splitlines():
        assert not BAD_LINE.search(line.replace("\t", "")), repr(line)
        assert "level=error msg=fake" not in line


def test_B187_request_id_of_64_kb(gw, mu):
    reply = gw(mu()).post(chat(), headers=[("X-Request-Id", "y" * 65536)])
    assert reply.status in (200, 400, 431)
    assert len(reply.header("x-request-id") or "") <= 256


def test_B187_raw_line_ends_in_a_header_do_not_split(gw, mu):
    m = mu()
    c = gw(m).conn()
    body = chat()
    c.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\rX-Evil: 1\r\nContent-Length: %d\r\n\r\n%s"
           % (len(body), body))
    reply = c.read_reply()
    assert reply is None or reply.status == 400
    assert m.executions == 0


def test_B187_same_id_twice_at_once_does_not_mix(gw, mu):
    async def script(x):
        await json_reply(dumps({"tag": x.rec.json()["tag"]}), delay=0.1)(x)
    g = gw(mu(script), mu(script))
    conns = [g.conn().request(body=chat(f"t{i}", tag=i), headers=[("X-Request-Id", "same")]) for i in range(10)]
    assert [c.read_reply().json()["tag"] for c in conns] == list(range(10))


def test_B187_odd_characters_elsewhere_stay_in_one_line(gw, mu):
    g = gw(mu(), sets={"log.level": "debug"})
    for model in ("a\nlevel=error msg=fake", "\x1b[2J", "x" * 5000, "é\u2028"):
        reply = g.post(chat(model=model, user="u\nlevel=error msg=fake"))
        check_error(reply, 404 if len(model) < 1000 else reply.status)
        assert reply.status in (400, 404)
    g.finish()
    for line in g.stderr.splitlines():
        assert not line.startswith("level=error") and not BAD_LINE.search(line.replace("\t", "")), repr(line)


def test_B189_series_stay_bounded(gw, mu):
    g = gw(mu())
    g.post(chat())
    before = len(g.metrics_text().splitlines())
    for i in range(200):
        g.post(chat(f"{i}", model=f"model{i}", user=f"u{i}"), f"/v1/path{i}" if i % 2 else "/v1/chat/completions",
               headers=[("x-session-id", f"s{i}")])
        g.get("/", method=f"M{i}" if i % 50 == 0 else "GET")
    poll(lambda: len(g.metrics_text().splitlines()) < before + 60, 1, "number of series")
