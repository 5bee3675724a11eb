# SPDX-License-Identifier: Apache-2.0
"""TLS on both sides, unix sockets, IPv6."""
import os
import socket
import ssl
import time

import pytest

from kit import T, chat, chat_events, hang, poll, request_bytes, sse
from kit.tls import TlsFront, client_context, make_cert


@pytest.fixture
def cert(tmp_path):
    return make_cert(tmp_path)


def served_by_tls(gw, cert, *engines, **how):
    sets = {"tls.cert_file": cert[0], "tls.key_file": cert[1], **how.pop("sets", {})}
    return gw(*engines, sets=sets, **how)


def test_clients_speak_tls(gw, mu, cert):
    g = served_by_tls(gw, cert, mu(sse(chat_events())))
    c = g.conn(tls=client_context(cert[0]))
    for i in range(3):
        reply = c.request(body=chat(f"p{i}", stream=True)).read_reply()
        assert reply.body == b"".join(chat_events()) and reply.end == "complete"
    assert c.sock.version() in ("TLSv1.2", "TLSv1.3")


def test_large_body_and_small_pieces_over_tls(gw, mu, cert):
    m = mu()
    g = served_by_tls(gw, cert, m)
    body = chat("x" * 3_000_000)
    c = g.conn(tls=client_context(cert[0]))
    c.send(request_bytes(body=body), pieces=[1, 1, 100, 16384, 50000])
    assert c.read_reply().status == 200 and m.reqs[0].body == body


def test_tls_client_leaves(gw, mu, cert):
    m = mu(hang())
    g = served_by_tls(gw, cert, m)
    c = g.conn(tls=client_context(cert[0])).request(body=chat(stream=True))
    m.wait_reqs(1)
    at = time.monotonic()
    c.close()
    assert m.wait_closed() - at < T(0.5)


def test_tls_client_that_does_not_read(gw, mu, cert):
    m = mu(sse([b"data: " + b"x" * 60000 + b"\n\n"] * 80))
    g = served_by_tls(gw, cert, m)
    c, reply = g.open_stream(chat(stream=True), tls=client_context(cert[0]), rcvbuf=65536)
    time.sleep(0.2)
    size = sum(len(p) for p in c.body_pieces(reply))
    assert size == 60008 * 80 and reply.end == "complete"


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\x00" * 300, b""])
def test_plain_or_broken_bytes_on_a_tls_port(gw, mu, cert, data):
    g = served_by_tls(gw, cert, mu())
    c = g.conn()
    c.send(data)
    if data:
        c.read_to_end() if not data.startswith(b"\x16") else c.close()
    assert g.conn(tls=client_context(cert[0])).request(body=chat()).read_reply().status == 200


def test_old_tls_versions_are_refused(gw, mu, cert):
    g = served_by_tls(gw, cert, mu())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    except ValueError:
        pytest.skip("this OpenSSL has no TLS 1.1 to try with")
    with pytest.raises((ssl.SSLError, OSError)):
        g.conn(tls=context)


def test_handshake_that_never_ends_times_out(gw, mu, cert):
    g = served_by_tls(gw, cert, mu(), sets={"limits.header_timeout_ms": 300})
    c = g.conn()
    c.send(b"\x16\x03\x01")
    c.closed_by_peer()
    poll(lambda: g.status()["connections"] == 0, 3, "given up")


def test_engine_speaks_tls(gw, mu, cert):
    m = mu()
    front = TlsFront(m, *cert)
    g = gw(front.url, sets={"tls.upstream_ca_file": cert[0]})
    for i in range(3):
        assert g.post(chat(f"p{i}")).status == 200
    m.script = sse(chat_events())
    assert g.post(chat(stream=True)).body == b"".join(chat_events())
    assert g.post(chat("x" * 2_000_000, stream=True)).end == "complete"
    g.finish()
    front.close()


def test_engine_with_an_unknown_certificate_is_refused(gw, mu, cert):
    m = mu()
    front = TlsFront(m, *cert)
    g = gw(front.url, wait=0)
    reply = g.post(chat())
    assert reply.status in (502, 503) and m.executions == 0
    trusting = gw(front.url, sets={"tls.upstream_verify": False})
    assert trusting.post(chat()).status == 200
    front.close()


def test_engine_with_another_name_is_refused(gw, mu, tmp_path):
    cert = make_cert(tmp_path, "DNS:other.example")
    m = mu()
    front = TlsFront(m, *cert)
    g = gw(front.url, wait=0, sets={"tls.upstream_ca_file": cert[0]})
    assert g.post(chat()).status in (502, 503) and m.executions == 0
    front.close()


def test_unix_socket_for_clients(gw, mu, tmp_path):
    path = str(tmp_path / "gw.sock")
    g = gw(mu(), listen=(f"unix:{path}", "127.0.0.1:0"))
    assert g.conn(path).request(body=chat()).read_reply().status == 200
    g.finish()
    assert not os.path.exists(path), "the socket file stays behind"


def test_unix_socket_left_by_a_dead_process(gw, mu, tmp_path):
    path = str(tmp_path / "gw.sock")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)
    g = gw(mu(), listen=(f"unix:{path}", "127.0.0.1:0"))
    assert g.conn(path).request(body=chat()).read_reply().status == 200


def test_unix_socket_of_an_engine(gw, mu, tmp_path):
    m = mu(path=str(tmp_path / "engine.sock"))
    g = gw(m)
    assert g.post(chat()).status == 200
    assert m.reqs[0].header("host")


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 loopback here")
def test_ipv6_on_both_sides(gw, mu):
    m = mu(host="::1")
    g = gw(m, listen=("[::1]:0",))
    assert g.addr[0] == "::1"
    assert g.post(chat()).status == 200
    assert m.reqs[0].header("host") == f"[::1]:{m.port}"


def test_engine_by_name(gw, mu):
    m = mu()
    g = gw(f"http://localhost:{m.port}")
    assert g.post(chat()).status == 200


def test_engine_with_a_name_that_does_not_resolve(gw, mu):
    g = gw("http://no-such-host.invalid:1", mu(), wait=1)
    for i in range(4):
        assert g.post(chat(f"p{i}")).status == 200


def test_engine_behind_a_path(gw, mu):
    m = mu()
    g = gw(f"{m.url}/", wait=1)
    assert g.post(chat()).status == 200 and m.reqs[0].path == "/v1/chat/completions"
