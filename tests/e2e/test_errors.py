# SPDX-License-Identifier: Apache-2.0
"""Errors of engines (class err): relayed as they are, counted rightly, retried within bounds."""
import pytest

from kit import auto, chat, chat_json, json_reply, poll, rst_now
from kit import names


@pytest.mark.parametrize("status, after", [(429, b"3"), (503, b"Wed, 21 Oct 2037 07:28:00 GMT")])
@pytest.mark.parametrize("engines", [1, 2])
def test_B069_limits_and_headers_of_the_last_attempt(gw, mu, status, after, engines):
    async def script(x):
        n = sum(m.executions for m in mocks)
        await json_reply(b'{"error": {"message": "attempt %d"} }' % n, status,
                         b"Retry-After: " + after + b"\r\nx-ratelimit-remaining-requests: %d\r\n" % n)(x)
    mocks = [mu(script) for _ in range(engines)]
    reply = gw(*mocks).post(chat())
    n = sum(m.executions for m in mocks)
    assert n <= engines
    assert reply.status == status and reply.body == b'{"error": {"message": "attempt %d"} }' % n
    assert reply.header("retry-after") == after.decode()
    assert reply.header("x-ratelimit-remaining-requests") == str(n)


@pytest.mark.parametrize("status", [529, 520, 499, 598, 500, 501, 505])
def test_B070_unusual_statuses(gw, mu, status):
    body = b'{"odd": %d}' % status
    alone = gw(mu(json_reply(body, status))).post(chat())
    assert alone.status == status and alone.body == body
    bad, good = mu(json_reply(body, status)), mu()
    g = gw(bad, good)
    for i in range(6):
        reply = g.post(chat(f"p{i}"))
        assert (reply.status, reply.body) == (status, body) or reply.status == 200
    assert bad.executions + good.executions <= 12


def test_B070_rejected_by_one_engine_run_by_the_other(gw, mu):
    for status in (502, 503):
        bad, good = mu(json_reply(b"{}", status)), mu()
        g = gw(bad, good, sets={"health.fail_count": 1000})
        for i in range(8):
            assert g.post(chat(f"{status} {i}")).status == 200
        assert good.executions == 8 and bad.executions >= 1


def test_B072_client_errors_do_not_reset_the_failure_streak(gw, mu):
    m = mu()
    g = gw(m, sets={"health.fail_count": 3, "health.open_ms": 600000, "health.interval_ms": 600000})
    for i, status in enumerate((500, 400, 500, 422, 500)):
        assert g.engine(m)["state"] == "up", f"before request {i}"
        m.then(json_reply({"error": {}}, status))
        assert g.post(chat(f"p{i}")).status == status
    poll(lambda: g.engine(m)["state"] != "up", 2, "breaker open")


def test_B072_client_errors_alone_never_open_the_breaker(gw, mu):
    m = mu(json_reply({"error": {}}, 400))
    g = gw(m, sets={"health.fail_count": 2})
    for i in range(10):
        assert g.post(chat(f"p{i}")).status == 400
    assert g.engine(m)["state"] == "up"


def test_B072_success_resets_the_streak(gw, mu):
    m = mu()
    g = gw(m, sets={"health.fail_count": 3, "health.interval_ms": 600000})
    for i, status in enumerate((500, 500, 200, 500, 500, 200)):
        m.then(json_reply(chat_json(), status))
        assert g.post(chat(f"p{i}")).status == status
    assert g.engine(m)["state"] == "up"


def test_B073_attempts_are_bounded(gw, mu):
    mocks = [mu(rst_now()) for _ in range(3)]
    for m in mocks:
        m.probe_close = True
    g = gw(*mocks, sets={"health.fail_count": 100000})
    n = 120
    for i in range(n):
        before = sum(m.executions for m in mocks)
        assert g.post(chat(f"p{i}")).status in (502, 503)
        assert sum(m.executions for m in mocks) - before <= 2
    extra = sum(m.executions for m in mocks) - n
    assert extra <= 10 + 0.15 * n, f"{extra} retries for {n} requests"
    assert g.metric(names.RETRIES) == extra


def test_B073_retry_budget_zero_still_allows_the_least(gw, mu):
    mocks = [mu(rst_now()), mu(rst_now())]
    for m in mocks:
        m.probe_close = True
    g = gw(*mocks, sets={"retry_budget_ratio": 0, "health.fail_count": 100000})
    for i in range(30):
        g.post(chat(f"p{i}"))
    # ten a window are always allowed, and what was running when an engine died is not charged
    assert sum(m.executions for m in mocks) <= 30 + 10 + len(mocks)


def test_all_engines_down_503(gw, mu):
    m = mu()
    g = gw(m, sets={"health.fail_count": 1, "health.open_ms": 600000})
    m.close()
    for i in range(4):
        reply = g.post(chat(f"p{i}"))
        assert reply.status in (502, 503)
    assert reply.status == 503 and int(reply.header("retry-after")) >= 1


def test_breaker_closes_again(gw, mu):
    m = mu(json_reply({"error": {}}, 500))
    g = gw(m, sets={"health.fail_count": 2, "health.open_ms": 100, "health.interval_ms": 100})
    for i in range(3):
        g.post(chat(f"p{i}"))
    m.script = auto()

    def works():
        return g.post(chat("again")).status == 200
    poll(works, 5, "engine back")
    poll(lambda: g.engine(m)["state"] == "up", 3, "state up")
