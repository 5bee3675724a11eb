# SPDX-License-Identifier: Apache-2.0
"""A model that follows a plan: the same request always gets the same step of it, as retries need."""
import re
from dataclasses import dataclass

from kit import cut, json_reply, rst_now, sse

import wire

CALL_ID = re.compile(rb"call_[0-9]{8}")
CUT_AFTER = 2  # events: a part that no client keeps


@dataclass
class Seen:
    """A request that reached the engine."""
    rec: object  # kit Record
    task: str  # key of its plan, None for an auxiliary request
    step: int
    results: list  # texts of the tool results in it
    fault: str = None  # how it was made to fail

    @property
    def first_call(self):
        """Id of the first tool call of the conversation, which tells two equal tasks apart."""
        return CALL_ID.search(self.rec.body)[0]

    @property
    def request_id(self):
        return self.rec.header("x-request-id")


class Model:
    """plans: {task: [step, ...]}, a step a list of wire.Call, the last one a text. A request belongs to the task
    whose name stands in a text of the user; how many tool results it has tells the step. A request without
    tools, or of no task, is auxiliary and gets a short text."""

    def __init__(self, plans):
        self.plans, self.seen, self.faults, self.crowds = plans, [], {}, {}

    def fail(self, task, step, *kinds):
        """That step fails so often, in these ways: "500", "503", "rst" (no byte), "cut" (the
        stream, before anything in it is whole), "cut late"."""
        self.faults[task, step] = list(kinds)

    def together(self, task, step, count):
        """That step is answered only when so many requests of it have come."""
        self.crowds[task, step] = count

    def of(self, task):
        return [s for s in self.seen if s.task == task]

    async def script(self, x):
        path, body = x.rec.path, x.rec.json()
        asked = wire.read(path, body)
        task = next((t for t in self.plans if any(t in text for text in asked.texts)), None) if asked.tools else None
        step = self.step_of(task, len(asked.results))
        faults = self.faults.get((task, step))
        seen = Seen(x.rec, task, step, asked.results, faults.pop(0) if faults else None)
        self.seen.append(seen)
        while sum((s.task, s.step) == (task, step) for s in self.seen) < self.crowds.get((task, step), 0):
            await x.pause(0.01)
        wanted = self.plans[task][step] if task else "A short title"
        if isinstance(wanted, str):
            text, calls = wanted, []
        else:
            text, calls = f"Step {step}.", [c.bound(asked.results) for c in wanted]
        await self.answer(x, wire.write(path, body, text, calls), seen.fault)

    def step_of(self, task, results):
        """The first step that needs more results than there are."""
        have = 0
        for at, step in enumerate(self.plans.get(task, ())):
            have += 0 if isinstance(step, str) else len(step)
            if isinstance(step, str) or have > results:
                return at
        return 0

    async def answer(self, x, reply, fault):
        if fault in ("500", "503"):
            script = json_reply({"error": {"message": "made to fail", "type": "server_error"}}, int(fault))
        elif fault == "rst":
            script = rst_now()
        elif fault == "cut":
            script = cut(reply[:CUT_AFTER])
        elif fault == "cut late":
            script = cut(reply[:len(reply) // 2])
        elif isinstance(reply, list):
            script = sse(reply)
        else:
            script = json_reply(reply)
        await script(x)
