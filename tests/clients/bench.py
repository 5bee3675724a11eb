# SPDX-License-Identifier: Apache-2.0
"""A gateway in front of a planned model, clients run through it, and what receipts and sessions say of them."""
import itertools
import os
import signal
import subprocess

from kit import MARK, T

from model import Model


class Running:
    """A client that works on a prompt; its output goes to a file."""

    def __init__(self, client, gateway, folder, prompt, **how):
        for sub in ("home", "work"):
            (folder / sub).mkdir(parents=True, exist_ok=True)
        argv, env = client.command(gateway, folder / "home", f"{MARK} {prompt}", **how)
        self.output_file = folder / "output"
        with open(self.output_file, "wb") as out:
            self.proc = subprocess.Popen(argv, env=env, cwd=folder / "work", stdin=subprocess.DEVNULL, stdout=out,
                                         stderr=subprocess.STDOUT, start_new_session=True)

    @property
    def output(self):
        return self.output_file.read_text(errors="replace")

    def wait(self, seconds=120):
        try:
            code = self.proc.wait(T(seconds))
        except subprocess.TimeoutExpired as e:
            raise AssertionError(f"no end after {T(seconds):.0f} s: {self.output[-3000:]}") from e
        finally:
            self.kill()
        assert code == 0, f"exit {code}: {self.output[-3000:]}"
        return self.output

    def kill(self):
        try:
            os.killpg(self.proc.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.proc.wait()


class Bench:
    def __init__(self, gw, mu, tmp, plans):
        self.model = Model(plans)
        self.mock = mu(self.model.script)
        self.gateway = gw(self.mock)
        self.tmp, self.count, self.started = tmp, itertools.count(), []

    def start(self, client, prompt, folder=None, **how):
        folder = folder or f"client{next(self.count)}"
        self.started.append(Running(client, self.gateway, self.tmp / folder, prompt, **how))
        return self.started[-1]

    def run(self, client, prompt, **how):
        return self.start(client, prompt, **how).wait()

    def close(self):
        for running in self.started:
            running.kill()

    def receipts(self, seen):
        """The receipts of these requests, each once: an attempt that the gateway made again is in the same one."""
        ids = dict.fromkeys(s.request_id for s in seen)
        return [self.gateway.admin_json(f"/saga/v1/receipts/{i}") for i in ids]

    def receipts_of(self, task):
        return self.receipts(self.model.of(task))

    def auxiliary(self):
        return self.receipts(self.model.of(None))

    def sessions(self):
        """{name: row} of GET /saga/v1/sessions, once nothing is in flight."""
        self.gateway.wait_idle()
        return {s["session"]: s for s in self.gateway.admin_json("/saga/v1/sessions")}

    def detail(self, name):
        """GET /saga/v1/sessions/ID: that session and those it started, with their graphs."""
        self.gateway.wait_idle()
        return self.gateway.admin_json(f"/saga/v1/sessions/{name}")["sessions"]
