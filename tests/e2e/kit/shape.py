# SPDX-License-Identifier: Apache-2.0
"""The shape of an error answer that the gateway itself makes."""


def check_error(reply, status, code=None, anthropic=False):
    """An error body of the route's API with the request's id; returns its `error` member."""
    assert reply is not None, "connection ended without an answer"
    assert reply.status == status, f"{reply.status} {reply.body[:300]!r}"
    assert reply.end == "complete", reply.end
    assert (reply.header("content-type") or "").startswith("application/json")
    body = reply.json()
    error = body["error"]
    assert isinstance(error["message"], str) and error["message"]
    assert isinstance(error["type"], str) and error["type"]
    assert body["request_id"] == reply.header("x-request-id")
    if anthropic:
        assert body["type"] == "error"
    else:
        assert "code" in error and "param" in error
    if code:
        assert error["code"] == code, error
    return error


def check_busy(reply):
    """A 503 of ours that says when to come again."""
    check_error(reply, 503)
    assert int(reply.header("retry-after")) >= 1
