# SPDX-License-Identifier: Apache-2.0
"""The processes that bench/gateway.py measures: how each gateway is started, and what it uses."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time

REPLICAS = 4


class BenchError(Exception):
    """A measurement could not be made; the text says why."""


def read_text(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


# ---- processes ----

def tree(pid):
    """The process and all below it."""
    found, todo = [], [pid]
    while todo:
        at = todo.pop()
        found.append(at)
        try:
            threads = os.listdir(f"/proc/{at}/task")
        except OSError:
            continue
        for thread in threads:
            todo += [int(c) for c in read_text(f"/proc/{at}/task/{thread}/children").split()]
    return found


def tree_cpu_s(pid):
    """utime+stime of the tree, in s: from schedstat (ns) where the kernel has it, else from stat (ticks).

    A thread that ends takes its schedstat with it, so a larger figure in stat wins."""
    total = 0.0
    for at in tree(pid):
        exact = 0
        try:
            threads = os.listdir(f"/proc/{at}/task")
        except OSError:
            threads = []
        for thread in threads:
            exact += int((read_text(f"/proc/{at}/task/{thread}/schedstat").split() or ["0"])[0])
        fields = read_text(f"/proc/{at}/stat").rpartition(")")[2].split()
        ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
        total += exact / 1e9 if exact / 1e9 > ticks - 0.05 else ticks
    return total


def tree_memory_mb(pid, key="VmRSS"):
    """Sum of VmRSS or VmHWM over the tree (pages that processes share count once for each)."""
    total = 0
    for at in tree(pid):
        for line in read_text(f"/proc/{at}/status").splitlines():
            if line.startswith(key + ":"):
                total += int(line.split()[1])
    return total / 1024


def listener_pid(port):
    """The process that listens on a TCP port of this machine, or None."""
    inodes = set()
    for name in ("tcp", "tcp6"):
        for line in read_text(f"/proc/net/{name}").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") in inodes for fd in os.listdir(f"/proc/{pid}/fd")):
                found.append(int(pid))
        except OSError:
            continue
    return min(found, default=None)  # the oldest: a parent of its workers


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post_small(port):
    """One short request; the status code, or 0 when nothing answers."""
    body = b'{"model":"mock","messages":[{"role":"user","content":"hi"}]}'
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n").encode()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as link:
            link.sendall(head + body)
            answer = link.recv(4096)
            return int(answer[9:12]) if len(answer) > 12 else 0
    except (OSError, ValueError):
        return 0


class Process:
    """A child that is ended with everything below it, whatever happens."""

    alive = []

    def __init__(self, command, log, **more):
        self.log = log
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(command, stderr=out, start_new_session=True,
                                          **{"stdin": subprocess.DEVNULL, "stdout": out, **more})
        Process.alive.append(self)

    def stop(self):
        if self in Process.alive:
            Process.alive.remove(self)
        members = tree(self.popen.pid)
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
            try:
                self.popen.wait(3)
            except subprocess.TimeoutExpired:
                pass
        for pid in members:
            if pid != self.popen.pid or self.popen.poll() is None:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.popen.wait()

    def tail(self):
        return read_text(self.log)[-600:].strip()


class Mock:
    def __init__(self, bench, ports):
        command = [bench.tool("bench-mock")] + (["--ports", ports] if ports else ["--replicas", str(REPLICAS)])
        self.process = Process(command, bench.path("mock.log"), stdout=subprocess.PIPE)
        line = self.process.popen.stdout.readline()
        if not line:
            raise BenchError(f"bench-mock did not start: {self.process.tail()}")
        self.ports = json.loads(line)["ports"]
        self.pid = self.process.popen.pid


# ---- gateways ----

class Direct:
    """No gateway: what the machine, the mock and the generator cost by themselves."""

    name, is_ours, can_restart, pid = "direct", False, False, None

    def __init__(self, bench):
        self.port = bench.mock.ports[0]

    def start(self):
        return None

    def stop(self):
        pass

    def tail(self):
        return ""


class Target(Direct):
    """A gateway that somebody else has started."""

    def __init__(self, name, url):
        address = url.split("//")[-1].strip("/")
        self.name, self.is_ours = name, False
        self.port = int(address.rpartition(":")[2])
        self.pid = listener_pid(self.port)
        if self.pid is None or post_small(self.port) != 200:
            raise BenchError(f"target {name}: {url} does not answer a chat request on this machine "
                             "(its engines must be the ports given by --mock-ports)")


class Gateway:
    can_restart = True

    def __init__(self, bench):
        self.bench = bench
        self.process = None
        self.port = 0
        self.pid = None

    def start(self):
        """Starts it; returns the seconds to the first 200, or None when it runs already."""
        if self.process:
            return None
        for _ in range(3):  # another program may take the free port in between
            self.port = free_port()
            command = self.command()
            began = time.monotonic()
            self.process = Process(command, self.bench.path(self.name + ".log"))
            status = 0
            while time.monotonic() - began < 10 and self.process.popen.poll() is None:
                status = post_small(self.port)
                if status == 200:
                    self.pid = self.process.popen.pid
                    return time.monotonic() - began
                time.sleep(0.001)
            tail = self.process.tail()
            self.stop()
        raise BenchError(f"{self.name} did not answer 200 within 10 s (last status {status}): {tail}")

    def stop(self):
        if self.process:
            self.process.stop()
        self.process = self.pid = None

    def tail(self):
        return self.process.tail() if self.process else ""


NGINX_CONF = """
daemon off;
worker_processes 1;
{user}
worker_rlimit_nofile {files};
pid {dir}/nginx.pid;
error_log stderr error;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    client_max_body_size 512m;
    client_body_buffer_size 1m;
    keepalive_requests 1000000000;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    upstream engines {{
        {servers}
        keepalive 256;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://engines;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 3600s;
        }}
    }}
}}
"""


class Nginx(Gateway):
    name, is_ours = "nginx", False

    def command(self):
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        if not program:
            raise BenchError("nginx is not installed; install Debian's nginx-light, or measure without it: "
                             "--gateways saga")
        text = NGINX_CONF.format(
            user="user root;" if os.geteuid() == 0 else "", files=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
            dir=self.bench.dir, port=self.port,
            servers="\n        ".join(f"server 127.0.0.1:{p} max_fails=0;" for p in self.bench.mock.ports))
        with open(self.bench.path("nginx.conf"), "w", encoding="ascii") as file:
            file.write(text)
        return [program, "-e", "stderr", "-p", self.bench.dir, "-c", self.bench.path("nginx.conf")]


class Saga(Gateway):
    name, is_ours = "saga", True

    def command(self):
        command = [self.bench.tool("saga"), "serve", "--listen", f"127.0.0.1:{self.port}",
                   "--admin-listen", "127.0.0.1:0", "--log-level", "warn"]
        for port in self.bench.mock.ports:
            command += ["--engine", f"http://127.0.0.1:{port}"]
        # Like nginx, let every request through at once: the rows are about the path, not about the queue.
        return command + ["--set", "routing.engine_slots=4096"] + self.bench.args.saga_arg
