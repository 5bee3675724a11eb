# SPDX-License-Identifier: Apache-2.0
"""MockUpstream: an engine whose every byte, delay and failure is scripted by the test.

All of them share one asyncio loop in a thread of their own; sockets are used directly, so that a script
decides how bytes are cut into writes, and whether a connection ends by FIN or RST. A script is
`async def script(x)`, called once per inference request that was read whole; `x` is an Exchange.
Probes (/v1/models, /health, /version, /metrics) are answered by the mock itself."""
import asyncio
import collections
import contextlib
import json
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

from .wait import poll

PROBES = ("/v1/models", "/health", "/version", "/metrics", "/get_server_info", "/get_model_info",
          "/props", "/ping", "/server_info", "/slots", "/")


class PeerGone(Exception):
    """The gateway closed this connection."""


class _Loop:
    """The one loop thread; started with the first mock."""
    loop = None
    lock = threading.Lock()

    @classmethod
    def get(cls):
        with cls.lock:
            if cls.loop is None:
                cls.loop = asyncio.new_event_loop()
                threading.Thread(target=cls.loop.run_forever, daemon=True, name="mu").start()
        return cls.loop

    @classmethod
    def run(cls, coroutine, timeout=30):
        return asyncio.run_coroutine_threadsafe(coroutine, cls.get()).result(timeout)


@dataclass
class Record:
    """One inference request as the mock saw it."""
    conn_id: int
    method: str
    target: str
    headers: list  # [(name as sent, value)], text
    head: bytes
    body: bytes = b""
    at: float = 0.0  # request read whole
    reused: bool = False  # not the first request of its connection
    sent_bytes: int = 0
    ended_at: float = None  # script returned
    closed_at: float = None  # the peer closed the connection while this exchange ran
    error: str = None
    marks: list = field(default_factory=list)

    @property
    def path(self):
        return self.target.partition("?")[0]

    def header(self, name):
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def json(self):
        return json.loads(self.body)


class _Conn:
    def __init__(self, mu, sock, conn_id):
        self.mu, self.sock, self.id = mu, sock, conn_id
        self.loop = asyncio.get_running_loop()
        self.buf, self.eof, self.closed_at = bytearray(), False, None
        self.changed, self.hold, self.held = asyncio.Event(), False, asyncio.Event()
        self.dead = False
        self.loop.add_reader(sock, self._readable)

    def _readable(self):
        if self.hold:  # something came, and is left unread in the kernel
            self.loop.remove_reader(self.sock)
            with contextlib.suppress(OSError):
                self.mu.unread_closed += bool(self.sock.recv(1, socket.MSG_PEEK))
            self.held.set()
            return
        try:
            data = self.sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.buf += data
        else:
            self.eof, self.closed_at = True, time.monotonic()
            self.loop.remove_reader(self.sock)
        self.changed.set()

    async def more(self):
        """Waits for bytes; False at the end."""
        if self.eof or self.dead:
            return False
        self.changed.clear()
        await self.changed.wait()
        return not (self.eof and not self.buf)

    async def take_until(self, mark):
        while mark not in self.buf:
            if not await self.more() or self.eof and mark not in self.buf:
                return None
        at = self.buf.index(mark) + len(mark)
        data = bytes(self.buf[:at])
        del self.buf[:at]
        return data

    async def take(self, n):
        while len(self.buf) < n:
            if not await self.more() or self.eof and len(self.buf) < n:
                return None
        data = bytes(self.buf[:n])
        del self.buf[:n]
        return data

    def close(self, rst=False):
        if self.dead:
            return
        self.dead = True
        self.loop.remove_reader(self.sock)
        if rst:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        self.changed.set()

    async def read_request(self):
        head = await self.take_until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [(n, v.strip(" \t")) for n, _, v in (line.partition(":") for line in lines)]
        rec = Record(self.id, method, target, headers, head)
        if (rec.header("expect") or "").lower() == "100-continue":
            await self.loop.sock_sendall(self.sock, b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in (rec.header("transfer-encoding") or "").lower():
            rec.body = await self.read_chunks()
        else:
            rec.body = await self.take(int(rec.header("content-length") or 0))
        if rec.body is None:
            return None
        rec.at = time.monotonic()
        return rec

    async def read_chunks(self):
        out = bytearray()
        while True:
            line = await self.take_until(b"\r\n")
            if line is None:
                return None
            size = int(line.split(b";")[0], 16)
            if size == 0:
                return bytes(out) if await self.take_until(b"\r\n") is not None else None
            data = await self.take(size + 2)
            if data is None:
                return None
            out += data[:-2]


class Exchange:
    """One request and its answer, given to a script."""

    def __init__(self, mu, conn, rec):
        self.mu, self.conn, self.rec = mu, conn, rec

    async def send(self, data, split=None, gap=0.0):
        """Writes data; split: sizes of the writes (last one repeats) with a gap of seconds between."""
        if split is None:
            return await self._write(data)
        sizes = [split] if isinstance(split, int) else list(split)
        at, i = 0, 0
        while at < len(data):
            size = sizes[min(i, len(sizes) - 1)]
            await self._write(data[at:at + size])
            at, i = at + size, i + 1
            await asyncio.sleep(gap)
        return None

    async def _write(self, data):
        if self.conn.eof or self.conn.dead:
            raise PeerGone
        try:
            if len(data) <= 65536:
                await self.conn.loop.sock_sendall(self.conn.sock, data)
                self.rec.sent_bytes += len(data)
            else:  # counted as it goes: a test watches how far a slow client lets us get
                for at in range(0, len(data), 65536):
                    piece = data[at:at + 65536]
                    await self.conn.loop.sock_sendall(self.conn.sock, piece)
                    self.rec.sent_bytes += len(piece)
        except OSError as e:
            self.conn.closed_at = self.conn.closed_at or time.monotonic()
            raise PeerGone from e

    async def chunk(self, data, **how):
        await self.send(b"%x\r\n%s\r\n" % (len(data), data), **how)

    async def end(self):
        await self.send(b"0\r\n\r\n")

    async def pause(self, seconds):
        """Sleeps; PeerGone as soon as the gateway closes."""
        end = time.monotonic() + seconds
        while not self.conn.eof and not self.conn.dead:
            left = end - time.monotonic()
            if left <= 0:
                return
            self.conn.changed.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.conn.changed.wait(), left)
        raise PeerGone

    async def wait_for(self, event):
        """Waits for a threading.Event of the test (polled), or PeerGone."""
        while not event.is_set():
            await self.pause(0.005)

    def rst(self):
        self.conn.close(rst=True)

    def fin(self):
        self.conn.close()

    def mark(self):
        self.rec.marks.append(time.monotonic())


class MockUpstream:
    def __init__(self, script=None, models=("m",), host="127.0.0.1", path=None, backlog=4096,
                 owned_by="vllm"):
        from .script import auto
        self.script, self.models, self.owned_by = script or auto(), list(models), owned_by
        self.next_scripts = collections.deque()  # used up first, one per request
        self.reqs, self.probes = [], []  # Records
        self.health_status, self.health_delay = 200, 0.0
        self.probe_close = False  # answer probes with Connection: close
        self.idle_close = None  # seconds after which an idle kept connection is closed
        self.close_on_reuse = False  # a second request is left unread and the connection reset
        self.conns, self.accepted, self.unread_closed = {}, 0, 0
        self.backlog, self.host, self.unix_path = backlog, host, path
        self.port = 0
        self.sock = None
        self.open()

    # --- from the test's thread ---
    @property
    def url(self):
        if self.unix_path:
            return f"unix:{self.unix_path}"
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    @property
    def executions(self):
        return len(self.reqs)

    @property
    def running(self):
        return sum(1 for r in list(self.reqs) if r.ended_at is None)

    def then(self, *scripts):
        self.next_scripts.extend(scripts)
        return self

    def wait_reqs(self, n, timeout=5.0):
        """The first n requests, once they are there."""
        poll(lambda: len(self.reqs) >= n, timeout, f"{n} requests at the mock, has {len(self.reqs)}")
        return self.reqs[:n]

    def wait_closed(self, i=0, timeout=5.0):
        """The time when the gateway closed the connection of request i."""
        self.wait_reqs(i + 1, timeout)
        return poll(lambda: self.reqs[i].closed_at, timeout, f"connection of request {i} closed")

    def open(self):
        _Loop.run(self._open())

    def close(self):
        """Stops listening and resets all connections: the engine is dead."""
        _Loop.run(self._close())

    def drop_idle(self):
        """Closes all connections that have no request running."""
        _Loop.run(self._drop_idle())

    # --- in the loop ---
    async def _open(self):
        family = (socket.AF_UNIX if self.unix_path else
                  socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        if self.unix_path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.unix_path)
            self.sock.bind(self.unix_path)
        else:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.sock.bind((self.host, self.port))
            self.port = self.sock.getsockname()[1]
        self.sock.listen(self.backlog)
        asyncio.get_running_loop().add_reader(self.sock, self._accept)

    async def _close(self):
        if self.sock:
            asyncio.get_running_loop().remove_reader(self.sock)
            self.sock.close()
            self.sock = None
        for conn in list(self.conns.values()):
            conn.close(rst=True)

    async def _drop_idle(self):
        busy = {r.conn_id for r in self.reqs if r.ended_at is None}
        for conn in list(self.conns.values()):
            if conn.id not in busy:
                conn.close()

    def _accept(self):
        for _ in range(256):
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            sock.setblocking(False)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.accepted += 1
            conn = _Conn(self, sock, self.accepted)
            self.conns[conn.id] = conn
            asyncio.get_running_loop().create_task(self._serve(conn))

    async def _serve(self, conn):
        served = 0
        try:
            while not conn.dead:
                if served and self.close_on_reuse:
                    conn.hold = True
                    await conn.held.wait()
                    return
                if served and self.idle_close is not None and not conn.buf:
                    try:
                        await asyncio.wait_for(conn.more(), self.idle_close)
                    except asyncio.TimeoutError:
                        return
                rec = await conn.read_request()
                if rec is None:
                    return
                rec.reused = served > 0
                served += 1
                if not await self._answer(conn, rec):
                    return
        finally:
            conn.close()
            self.conns.pop(conn.id, None)

    async def _answer(self, conn, rec):
        x = Exchange(self, conn, rec)
        try:
            if rec.path in PROBES and rec.method in ("GET", "HEAD"):
                self.probes.append(rec)
                return await self._probe(x)
            self.reqs.append(rec)
            script = self.next_scripts.popleft() if self.next_scripts else self.script
            await script(x)
        except PeerGone:
            rec.closed_at = conn.closed_at or time.monotonic()
            return False
        except Exception as e:  # a bug of the test: shown by the fixture
            rec.error = repr(e)
            return False
        finally:
            rec.ended_at = time.monotonic()
        return not conn.dead

    async def _probe(self, x):
        from .script import models_body
        status, ctype, body = 200, b"application/json", b"{}"
        if x.rec.path == "/health":
            if self.health_delay:
                await x.pause(self.health_delay)
            status, body = self.health_status, b""
        elif x.rec.path == "/v1/models":
            body = models_body(self.models, self.owned_by)
        elif x.rec.path == "/version":
            body = b'{"version":"0.32.0"}'
        elif x.rec.path == "/metrics":
            ctype, body = b"text/plain", b"vllm:num_requests_running{model_name=\"m\"} 0.0\n"
        else:
            status, body = 404, b'{"detail":"Not Found"}'
        close = b"Connection: close\r\n" if self.probe_close else b""
        await x.send(b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s"
                     % (status, ctype, len(body), close, body))
        return not self.probe_close


class Blackhole:
    """Turns a mock into a host that drops SYNs: nobody accepts and the kernel's queue is full."""

    def __init__(self, mu):
        self.mu, self.fillers = mu, []

    def __enter__(self):
        _Loop.run(self._stop_accepting())
        self.mu.drop_idle()
        for _ in range(4096):
            s = socket.socket()
            s.settimeout(0.15)
            self.fillers.append(s)
            try:
                s.connect((self.mu.host, self.mu.port))
            except (TimeoutError, OSError):
                return self
        raise AssertionError("the listen queue never filled")

    def __exit__(self, *_):
        for s in self.fillers:
            s.close()
        _Loop.run(self._accept_again())

    async def _stop_accepting(self):
        asyncio.get_running_loop().remove_reader(self.mu.sock)

    async def _accept_again(self):
        if self.mu.sock:
            asyncio.get_running_loop().add_reader(self.mu.sock, self.mu._accept)
