# SPDX-License-Identifier: Apache-2.0
"""Request bodies. Each holds MARK: it must never be seen in a log line or a metric."""
import json

MARK = "zebra-quartz-7319"


def dumps(obj):
    return json.dumps(obj, ensure_ascii=False).encode()


def turn(prompt, n=0):
    """A list of messages: a user's prompt and n answered follow-ups, each turn extends the last."""
    out = [{"role": "user", "content": f"{MARK} {prompt}"}]
    for i in range(n):
        out.append({"role": "assistant", "content": f"answer {i} to {prompt}"})
        out.append({"role": "user", "content": f"follow-up {i} of {prompt}"})
    return out


def chat(prompt="hello", model="m", n=0, **more):
    return dumps({"model": model, "messages": turn(prompt, n), **more})


def completion(prompt="hello", model="m", **more):
    return dumps({"model": model, "prompt": f"{MARK} {prompt}", **more})


def responses(prompt="hello", model="m", **more):
    return dumps({"model": model, "input": f"{MARK} {prompt}", **more})


def messages(prompt="hello", model="m", **more):
    return dumps({"model": model, "max_tokens": 64, "messages": turn(prompt), **more})


def count_tokens(prompt="hello", model="m"):
    return dumps({"model": model, "messages": turn(prompt)})
