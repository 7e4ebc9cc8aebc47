#!/usr/bin/env python3
"""A day of `railbed monitor` among strangers, in as many minutes as it takes: a stranger a second, 86,400 in all, who open
connections and say nothing, end no handshake, trickle, send garbage and headers that are too long, guess passwords, and ask
for pages and events that they do not take. They come from the same address as Prometheus, so nothing tells its scrapes from
them, one each 15 of their seconds, over a connection that it kept or a new one. Each is answered at the first try. Memory and
open files are at the end what they were when all had come. One half of the day the service has TLS and passwords, the other
neither."""
import argparse
import base64
import collections
import http.client
import multiprocessing
import os
import pathlib
import random
import resource
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
MACHINE = ROOT / "tests/machines/h100-cable-error"
PATIENCE = 120
DAY = 86400
BETWEEN_SCRAPES = 15
ATTACKERS = 3
HELD = 800  # by each attacker: together more than there are places
SECONDS_A_SECOND = 800  # at most: a day in 108 s
WARM = 0.3  # of the time
UNIT = 256  # MiB that systemd and Kubernetes give the monitor
MOST = 160  # MiB
GROWTH = 6.0  # MiB: what an allocator keeps, not what leaks
PASSWORD = "secret"
HASH = "$2b$10$IjlYkt60G9W9YmApj/F8JeKjS6UuZ0UC2QGHEIcgtusckt2WGBvO2"


def basic(word):
    return "Authorization: Basic " + base64.b64encode(f"prometheus:{word}".encode()).decode() + "\r\n"


def asking(path, headers=""):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def readers_context():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def client_hello():
    said = ssl.MemoryBIO()
    hand = readers_context().wrap_bio(ssl.MemoryBIO(), said, server_hostname="localhost")
    try:
        hand.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return said.read()


class Service:
    """A monitor of a captured machine, with TLS and a password, or with neither."""

    def __init__(self, folder, has_tls):
        self.port, self.has_tls = free_port(), has_tls
        self.context = readers_context() if has_tls else None
        self.known = basic(PASSWORD) if has_tls else ""
        words = ["--listen", f"127.0.0.1:{self.port}", "--state", folder / ("tls" if has_tls else "plain")]
        if has_tls:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                            "/CN=localhost", "-keyout", folder / "key", "-out", folder / "cert"], check=True, stderr=subprocess.DEVNULL)
            (folder / "key").chmod(0o600)
            (folder / "web.yml").write_text("tls_server_config: {cert_file: cert, key_file: key}\nbasic_auth_users: {prometheus: %s}\n" % HASH)
            words += ["--web-config", folder / "web.yml"]
        self.process = subprocess.Popen([RAILBED, "monitor", MACHINE / "cluster.yaml", "--root", MACHINE / "gpu01.tree", "--node", "gpu01", *words],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def connect(self, receive_buffer=0, patience=PATIENCE):
        one = socket.socket()
        if receive_buffer:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        one.settimeout(patience)
        one.connect(("127.0.0.1", self.port))
        return one

    def shake_hands(self, one):
        return self.context.wrap_socket(one) if self.has_tls else one

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def processor_seconds(self):
        return sum(map(int, pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


# What a stranger does. Each returns the connection, which is then held.
HELLO = client_hello()


def says_nothing(service):
    return service.connect()


def ends_no_handshake(service):
    one = service.connect()
    one.sendall(HELLO)
    return one


def ends_no_record(service):
    one = service.connect()
    one.sendall(HELLO + b"\x17\x03\x03\x41\x00" + b"a" * 16000)
    return one


def talks_nonsense(service):
    one = service.connect()
    one.sendall(random.choice((b"\0\xff\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", random.randbytes(3000))))
    return one


def trickles(service):
    one = service.shake_hands(service.connect())
    one.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
    return one


def says_too_much(service):
    one = service.shake_hands(service.connect())
    one.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 9000)
    return one


def guesses(service):
    one = service.shake_hands(service.connect())
    one.sendall(asking("/metrics", basic(str(random.random()))))
    return one


def takes_no_answer(service):
    one = service.shake_hands(service.connect(4096))
    one.sendall(asking("/metrics", service.known))
    return one


# With TLS only who knows the password comes so far: a page that somebody left open.
def takes_no_events(service):
    one = service.shake_hands(service.connect(4096))
    one.sendall(asking("/live", service.known))
    return one


STRANGERS = {  # and how many of a hundred
    True: {says_nothing: 35, ends_no_handshake: 15, ends_no_record: 15, talks_nonsense: 15, trickles: 5, says_too_much: 5, guesses: 5, takes_no_events: 5},
    False: {says_nothing: 35, trickles: 20, talks_nonsense: 15, says_too_much: 10, takes_no_answer: 10, takes_no_events: 10},
}


# The clock goes on by a second with each stranger.
def besiege(service, clock, over, seed):
    random.seed(seed)
    ways = STRANGERS[service.has_tls]
    held = collections.deque()
    began = time.monotonic()
    come = 0
    while not over.is_set():
        try:
            one = random.choices(list(ways), list(ways.values()))[0](service)
            one.setblocking(False)
            held.append(one)
        except OSError:
            pass  # it was hung up on meanwhile
        if held:
            try:
                random.choice(held).send(b"a")
            except OSError:
                pass
        if len(held) > HELD:
            held.popleft().close()
        come += 1
        with clock.get_lock():
            clock.value += 1
        time.sleep(max(0.0, began + come * ATTACKERS / SECONDS_A_SECOND - time.monotonic()))


class Prometheus:
    """Keeps its connection as Prometheus' does: one that was closed meanwhile is replaced, and nothing is tried again."""

    def __init__(self, service):
        self.service, self.connection, self.longest, self.answered = service, None, 0.0, 0

    def connect(self):
        kept = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        kept.sock = self.service.shake_hands(self.service.connect())
        return kept

    def scrape(self, is_new):
        began = time.monotonic()
        if is_new or self.connection is None or select.select([self.connection.sock], [], [], 0)[0]:
            if self.connection:
                self.connection.close()
            self.connection = self.connect()
        name, _, value = self.service.known.strip().partition(": ")
        self.connection.request("GET", "/metrics", headers={name: value} if name else {})
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200 and b"railbed_build_info" in body, answer.status
        self.answered += 1
        self.longest = max(self.longest, time.monotonic() - began)

    def looks_at_the_page(self):
        one = self.service.shake_hands(self.service.connect())
        one.sendall(asking("/live", self.service.known))
        heard = b""
        while b"\ndata: " not in heard:
            more = one.recv(4096)
            assert more, heard
            heard += more
        one.close()
        assert heard.startswith(b"HTTP/1.1 200 "), heard


def first_scrape(service):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return Prometheus(service).scrape(True)
        except (OSError, AssertionError):
            assert service.process.poll() is None and time.monotonic() < end
            time.sleep(0.2)


def settle(service, files):
    end = time.monotonic() + PATIENCE
    while service.files() > files and time.monotonic() < end:
        time.sleep(0.5)
    return service.files()


def endure(service, strangers):
    first_scrape(service)
    files, at_rest, began = service.files(), service.memory(), time.monotonic()
    clock, over = multiprocessing.Value("l", 0), multiprocessing.Event()
    attackers = [multiprocessing.Process(target=besiege, args=(service, clock, over, seed), daemon=True) for seed in range(ATTACKERS)]
    for one in attackers:
        one.start()
    try:
        prometheus, warm, most = Prometheus(service), None, 0.0
        for number, due in enumerate(range(0, strangers, BETWEEN_SCRAPES)):
            while clock.value < due:
                time.sleep(0.001)
            prometheus.scrape(number % 2 == 0)
            if number % 100 == 50:
                prometheus.looks_at_the_page()
            if number % 20 == 0:
                most = max(most, service.memory())
            if warm is None and due > WARM * strangers:
                warm = service.memory()
        after = service.memory()
        assert all(one.is_alive() for one in attackers)
        prometheus.connection.close()
    finally:
        over.set()
        for one in attackers:
            one.join(PATIENCE)
            one.kill()
    took, came = time.monotonic() - began, clock.value
    at_end = settle(service, files)
    print(f"{'TLS and passwords' if service.has_tls else 'plain'}: {came} strangers in {took:.0f} s ({service.processor_seconds():.0f} s of a processor); "
          f"{prometheus.answered} scrapes answered, the longest after {prometheus.longest * 1000:.0f} ms; memory {at_rest:.1f} MiB before, "
          f"{warm:.1f} MiB when all had come, {after:.1f} MiB at the end, {most:.1f} MiB at most; {files} files open before, {at_end} after", flush=True)
    assert service.process.poll() is None
    assert max(most, after) < MOST < UNIT, "its unit would come near its limit"
    assert after - warm < GROWTH, "it grows"
    assert at_end <= files + 3, "files stay open"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--strangers", type=int, default=DAY)
    chosen = options.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard) if hard != resource.RLIM_INFINITY else 4096, hard))
    with tempfile.TemporaryDirectory() as name:
        for has_tls in (True, False):
            service = Service(pathlib.Path(name), has_tls)
            try:
                endure(service, chosen.strangers // 2)
            finally:
                service.process.kill()
                service.process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
