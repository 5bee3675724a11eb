# SPDX-License-Identifier: Apache-2.0
"""Self-signed certificates, and a TLS front for a MockUpstream."""
import asyncio
import contextlib
import ssl
import subprocess

from .mu import _Loop


def make_cert(folder, names="DNS:localhost,IP:127.0.0.1,IP:::1"):
    """(cert, key) files of a new self-signed certificate."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost",
                    "-addext", f"subjectAltName={names}"], check=True, capture_output=True)
    return cert, key


def client_context(cert):
    context = ssl.create_default_context(cafile=str(cert))
    return context


class TlsFront:
    """Speaks TLS and passes the plain bytes on to a mock; .url is what the gateway gets."""

    def __init__(self, mock, cert, key):
        self.mock = mock
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cert, key)
        self.server = _Loop.run(self._start())
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"

    async def _start(self):
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.context)

    async def _serve(self, reader, writer):
        try:
            up_reader, up_writer = await asyncio.open_connection(self.mock.host, self.mock.port)
        except OSError:
            writer.close()
            return

        async def pump(source, sink):
            with contextlib.suppress(OSError, ssl.SSLError):
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            sink.close()
        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))

    def close(self):
        _Loop.get().call_soon_threadsafe(self.server.close)
