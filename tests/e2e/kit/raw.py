# SPDX-License-Identifier: Apache-2.0
"""A client that writes and reads raw bytes, and tells a complete answer from a broken one."""
import json
import socket
import ssl
import struct
import time
from dataclasses import dataclass, field

from .wait import T


def request_bytes(method="POST", target="/v1/chat/completions", body=b"", headers=(), host="gw",
                  chunked=None):
    """A request. headers: (name, value) pairs, text or bytes; chunked: chunk sizes instead of a length."""
    lines = [f"{method} {target} HTTP/1.1".encode(), b"Host: " + host.encode()]
    names = {_b(n).lower() for n, _ in headers}
    if body and b"content-type" not in names:
        lines.append(b"Content-Type: application/json")
    if chunked:
        lines.append(b"Transfer-Encoding: chunked")
    elif (body or method == "POST") and b"content-length" not in names:
        lines.append(b"Content-Length: %d" % len(body))
    lines += [_b(n) + b": " + _b(v) for n, v in headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + (chunk_up(body, chunked) if chunked else body)


def _b(text):
    return text if isinstance(text, bytes) else str(text).encode("utf-8")


def chunk_up(body, sizes):
    sizes = [sizes] if isinstance(sizes, int) else sizes
    out, at, i = [], 0, 0
    while at < len(body):
        piece = body[at:at + sizes[i % len(sizes)]]
        out.append(b"%x\r\n%s\r\n" % (len(piece), piece))
        at, i = at + len(piece), i + 1
    return b"".join(out) + b"0\r\n\r\n"


@dataclass
class Reply:
    status: int
    reason: str
    headers: list  # [(lower-case name, value)]
    head: bytes
    head_at: float
    body: bytes = b""
    end: str = "open"  # open, complete, truncated (FIN too early), reset
    pieces: list = field(default_factory=list)  # [(time, bytes)] as they were read
    source: object = None  # the generator that reads the body

    def header(self, name):
        return next((v for n, v in self.headers if n == name.lower()), None)

    def all(self, name):
        return [v for n, v in self.headers if n == name.lower()]

    def json(self):
        return json.loads(self.body)

    @property
    def is_stream(self):
        return (self.header("content-type") or "").startswith("text/event-stream")


class Conn:
    """One client connection. addr is (host, port) or a path of a unix socket."""

    def __init__(self, addr, timeout=15.0, rcvbuf=None, tls=None):
        family = socket.AF_UNIX if isinstance(addr, str) else (
            socket.AF_INET6 if ":" in addr[0] else socket.AF_INET)
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(T(timeout))
        self.sock.connect(addr)
        if family != socket.AF_UNIX:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.sock = tls.wrap_socket(self.sock, server_hostname="localhost")
        self.buf, self.fin, self.was_reset = b"", False, False
        self.head_request = False

    def send(self, data, pieces=None, gap=0.0):
        """Sends data; pieces: write sizes (the last repeats), with a gap of seconds between."""
        if pieces is None:
            self.sock.sendall(data)
            return
        sizes, at, i = ([pieces] if isinstance(pieces, int) else list(pieces)), 0, 0
        while at < len(data):
            size = sizes[min(i, len(sizes) - 1)]
            self.sock.sendall(data[at:at + size])
            at, i = at + size, i + 1
            if gap:
                time.sleep(gap)

    def request(self, method="POST", target="/v1/chat/completions", body=b"", headers=(), **how):
        self.head_request = method == "HEAD"
        self.send(request_bytes(method, target, body, headers, **how))
        return self

    def _fill(self):
        """More bytes into buf; False at the end of the connection."""
        if self.fin:
            return False
        try:
            data = self.sock.recv(1 << 18)
        except (ConnectionResetError, BrokenPipeError):
            self.was_reset, data = True, b""
        except ssl.SSLError:  # ended without close_notify: no proper end
            self.was_reset, data = True, b""
        if not data:
            self.fin = True
            return False
        self.buf += data
        return True

    def read_head(self, interim=False):
        """Status line and headers of the next answer; None if the connection ended first."""
        while True:
            while b"\r\n\r\n" not in self.buf:
                if not self._fill():
                    assert not self.buf, f"connection ended inside a head: {self.buf[:200]!r}"
                    return None
            head, self.buf = self.buf.split(b"\r\n\r\n", 1)
            first, *lines = head.decode("latin-1").split("\r\n")
            version, status, *reason = first.split(" ", 2)
            assert version in ("HTTP/1.1", "HTTP/1.0"), f"not a status line: {first!r}"
            pairs = [(n.lower(), v.strip()) for n, _, v in (line.partition(":") for line in lines)]
            reply = Reply(int(status), "".join(reason), pairs, head, time.monotonic())
            if reply.status >= 200 or interim:
                return reply

    def body_pieces(self, reply):
        """Decoded pieces of the body as they come; sets reply.end when there are no more. May be left
        and taken up again."""
        if reply.source is None:
            reply.source = self._body_pieces(reply)
        return reply.source

    def _body_pieces(self, reply):
        if self.head_request or reply.status in (204, 304) or reply.status < 200:
            reply.end = "complete"
            return
        if "chunked" in (reply.header("transfer-encoding") or "").lower():
            source = self._chunks()
        elif reply.header("content-length") is not None:
            source = self._sized(int(reply.header("content-length")))
        else:
            source = self._until_end()
        try:
            for piece in source:
                reply.pieces.append((time.monotonic(), piece))
                reply.body += piece
                yield piece
            reply.end = "complete"
        except EOFError:
            reply.end = "reset" if self.was_reset else "truncated"

    def _need(self):
        if not self._fill():
            raise EOFError

    def _sized(self, left):
        while left:
            if not self.buf:
                self._need()
            piece, self.buf = self.buf[:left], self.buf[left:]
            left -= len(piece)
            yield piece

    def _until_end(self):
        while self.buf or self._fill():
            piece, self.buf = self.buf, b""
            yield piece
        if self.was_reset:
            raise EOFError

    def _line(self):
        while b"\r\n" not in self.buf:
            self._need()
        line, self.buf = self.buf.split(b"\r\n", 1)
        return line

    def _chunks(self):
        while True:
            line = self._line()
            assert line, "empty chunk-size line"
            left = int(line.split(b";")[0], 16)
            if left == 0:
                while self._line():
                    pass
                return
            yield from self._sized(left)
            end = self._line()
            assert end == b"", f"no end of line after a chunk: {end[:80]!r}"

    def read_reply(self):
        """The next answer, whole; None if the connection ended without one."""
        reply = self.read_head()
        if reply is not None:
            for _ in self.body_pieces(reply):
                pass
        return reply

    def read_until(self, reply, mark):
        """Reads body pieces until mark is in the body; False if the body ended before."""
        for _ in self.body_pieces(reply):
            if mark in reply.body:
                return True
        return mark in reply.body

    def read_to_end(self):
        """All bytes until the peer closes."""
        while self._fill():
            pass
        out, self.buf = self.buf, b""
        return out

    def closed_by_peer(self):
        """Waits until the peer closes; False if bytes came or time ran out."""
        try:
            return not self._fill()
        except TimeoutError:
            return False

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def rst(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
