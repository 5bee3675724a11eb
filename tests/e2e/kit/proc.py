# SPDX-License-Identifier: Apache-2.0
"""The process under test: started with ephemeral ports, looked at through its admin port, and checked
at the end (alive, nothing in flight, exit 0 on SIGTERM, no sanitizer report, no prompt text in its log)."""
import http.client
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import time

from . import names
from .body import MARK
from .raw import Conn
from .wait import T, poll

ROOT = pathlib.Path(__file__).resolve().parents[3]
BAD_OUTPUT = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "LeakSanitizer: detected",
              "runtime error:", "WARNING: ThreadSanitizer", "assertion failed", "ASSERT")
METRIC = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def binary():
    path = pathlib.Path(os.environ.get("SAGA_BIN", ROOT / "build/release/saga"))
    assert path.exists(), f"no binary at {path}: build it, or set SAGA_BIN"
    return str(path.resolve())


def build_kind():
    """release, debug, asan or tsan, from the path of the binary."""
    path = os.environ.get("SAGA_BIN", "release")
    return next((k for k in ("asan", "tsan", "debug") if k in path), "release")


def sanitizer_env():
    env = dict(os.environ)
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0:exitcode=99")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=0")
    env.setdefault("TSAN_OPTIONS", "exitcode=99")
    return env


def split_addr(text):
    """"127.0.0.1:80", "[::1]:80" or "unix:PATH" as Conn takes it."""
    if text.startswith("unix:"):
        return text[5:]
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


class Saga:
    """One `saga serve`. engines: MockUpstreams or URLs; sets: {key: value} of --set."""

    def __init__(self, tmp, engines=(), sets=None, args=(), listen=("127.0.0.1:0",), wait=None,
                 nofile=None, env=None, preopened=False, command="serve"):
        self.dir = tmp
        self.ready_file = tmp / "ready.json"
        self.stderr_file = tmp / "stderr.log"
        self.conns, self.checked, self.proc = [], False, None
        self.urls = [e if isinstance(e, str) else e.url for e in engines]
        argv = [binary(), command]
        for addr in listen:
            argv += ["--listen", addr]
        if command == "serve":
            argv += ["--admin-listen", "127.0.0.1:0"]
            sets = {"drain_timeout_ms": 4000, **(sets or {})}
        argv += ["--ready-file", str(self.ready_file)]
        for url in self.urls:
            argv += ["--engine", url]
        for key, value in (sets or {}).items():
            argv += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
        if command == "serve":
            argv += shlex.split(os.environ.get("SAGA_SERVE_ARGS", ""))
        self.argv = argv + list(args)
        self.env = {**sanitizer_env(), **(env or {})}
        self.nofile, self.command = nofile, command
        self.wait = len(self.urls) if wait is None else wait
        self.start()

    def start(self):
        limit = self.nofile

        def before_exec():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limit:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        with open(self.stderr_file, "wb") as log:
            self.proc = subprocess.Popen(self.argv, stderr=log, stdout=log, stdin=subprocess.DEVNULL,
                                         env=self.env, preexec_fn=before_exec)
        poll(lambda: self.ready_file.exists() or self.proc.poll() is not None, 10, "ready file")
        assert self.proc.poll() is None, f"ended at start: {self.proc.returncode}\n{self.stderr}"
        ready = json.loads(self.ready_file.read_text())
        self.listen = [split_addr(a) for a in ready["listen"]]
        self.addr = self.listen[0]
        self.admin = split_addr(ready["admin"]) if ready.get("admin") else None
        if self.command == "serve" and self.wait:
            poll(lambda: len(self.up()) >= self.wait, 10, f"{self.wait} engines up: {self.argv}")

    # --- looking at it ---
    @property
    def pid(self):
        return self.proc.pid

    @property
    def stderr(self):
        return self.stderr_file.read_text(errors="replace")

    @property
    def base(self):
        return f"http://{self.addr[0]}:{self.addr[1]}"

    @property
    def admin_base(self):
        return f"http://{self.admin[0]}:{self.admin[1]}"

    def admin_call(self, method, path, body=None, headers=None):
        """(status, text) of an admin request."""
        conn = http.client.HTTPConnection(*self.admin, timeout=T(5))
        try:
            conn.request(method, path, body, headers or {})
            reply = conn.getresponse()
            return reply.status, reply.read().decode()
        finally:
            conn.close()

    def admin_json(self, path):
        status, text = self.admin_call("GET", path)
        assert status == 200, f"{path}: {status} {text}"
        return json.loads(text)

    def status(self):
        return self.admin_json(names.STATUS)

    def in_flight(self):
        return self.status()["in_flight"]

    def engines(self):
        got = self.admin_json(names.ENGINES)
        return got["engines"] if isinstance(got, dict) else got

    def engine(self, which):
        """The engine with this name, or of this mock."""
        name = which if isinstance(which, str) else f"e{self.urls.index(which.url)}"
        return next(e for e in self.engines() if e["name"] == name)

    def up(self):
        return [e for e in self.engines() if e["state"] == "up"]

    def metrics_text(self):
        status, text = self.admin_call("GET", "/metrics")
        assert status == 200
        return text

    def metric(self, name, **labels):
        """Sum over the series of this name whose labels have these values."""
        total = 0.0
        for line in self.metrics_text().splitlines():
            m = METRIC.match(line)
            if m and m[1] == name:
                have = dict(LABEL.findall(m[2] or ""))
                if all(have.get(k) == v for k, v in labels.items()):
                    total += float(m[3])
        return total

    def outcomes(self):
        """{outcome: count} of finished client requests."""
        out = {}
        for line in self.metrics_text().splitlines():
            m = METRIC.match(line)
            if m and m[1] == names.REQUESTS:
                labels = dict(LABEL.findall(m[2] or ""))
                if labels.get("route") not in names.NOT_INFERENCE:
                    key = labels.get(names.OUTCOME, "")
                    out[key] = out.get(key, 0) + int(float(m[3]))
        return {k: v for k, v in out.items() if v}

    def tokens(self):
        return tuple(int(self.metric(names.TOKENS, **{names.KIND: k}))
                     for k in (names.PROMPT, names.OUTPUT, names.CACHED))

    def wait_idle(self, timeout=5):
        poll(lambda: self.in_flight() == 0, timeout, "nothing in flight")

    def proc_status(self, field):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+)", text, re.M)[1])

    def rss_kb(self):
        return self.proc_status("VmRSS")

    def cpu_s(self):
        parts = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    # --- talking to it ---
    def conn(self, addr=None, **how):
        c = Conn(addr or self.addr, **how)
        self.conns.append(c)
        return c

    def post(self, body, target="/v1/chat/completions", headers=(), **how):
        """One request on a connection of its own, and its whole answer."""
        with self.conn() as c:
            return c.request("POST", target, body, headers, **how).read_reply()

    def get(self, target, method="GET", headers=()):
        with self.conn() as c:
            return c.request(method, target, headers=headers).read_reply()

    def get_or_none(self, target):
        """The status of a GET, None if nobody answers."""
        try:
            reply = self.get(target)
        except OSError:
            return None
        return reply and reply.status

    def open_stream(self, body, target="/v1/chat/completions", headers=(), **how):
        """(connection, answer whose body is not yet read)."""
        c = self.conn(**how)
        return c, c.request("POST", target, body, headers).read_head()

    # --- ending it ---
    def signal(self, sig=signal.SIGTERM):
        self.proc.send_signal(sig)

    def wait_exit(self, timeout=10):
        return self.proc.wait(T(timeout))

    def finish(self):
        """Ends the process and checks that all was well; safe to call twice."""
        if self.checked:
            return
        self.checked = True
        for c in self.conns:
            c.close()
        try:
            assert self.proc.poll() is None, f"died: {self.proc.returncode}\n{self.stderr[-4000:]}"
            if self.command == "serve":
                self.wait_idle()
                assert MARK not in self.metrics_text(), "prompt text in a metric"
            self.signal()
            code = self.wait_exit()
            assert code == 0, f"exit {code} after SIGTERM\n{self.stderr[-4000:]}"
        finally:
            self.kill()
            self.check_output()

    def expect_exit(self, code=0, timeout=10):
        """The test ended it by itself."""
        self.checked = True
        got = self.wait_exit(timeout)
        assert got == code, f"exit {got}, expected {code}\n{self.stderr[-4000:]}"
        self.check_output()

    def check_output(self):
        text = self.stderr
        for bad in BAD_OUTPUT:
            assert bad not in text, f"{bad!r} on stderr:\n{text[text.index(bad):][:6000]}"
        assert MARK not in text, "prompt text in the log"

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()
            time.sleep(0)
