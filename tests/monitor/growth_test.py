#!/usr/bin/env python3
"""`railbed monitor` is scraped thousands of times, over one connection and over new ones, with questions that nobody should ask
among them; its memory and its open files are at the end what they were after the first thousand. `--scrapes 100000` for a person.
"""
import argparse
import http.client
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
MACHINE = ROOT / "tests/machines/h100-cable-error"
PATIENCE = 120
WARM = 1000
GROWTH = 2.0  # MiB: what an allocator keeps, not what leaks
GARBAGE = (b"\0\xff\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def begin(folder, port):
    return subprocess.Popen([RAILBED, "monitor", MACHINE / "cluster.yaml", "--root", MACHINE / "gpu01.tree", "--node", "gpu01",
                             "--listen", f"127.0.0.1:{port}", "--state", folder / "state"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def connect(port):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            one = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            one.connect()
            return one
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)


def scrape(connection):
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200 and b"railbed_build_info" in body, answer.status
    return len(body)


def talk_nonsense(port, number):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as one:
        one.sendall(GARBAGE[number % len(GARBAGE)])


# A hundred over each connection.
def scrapes(port, count):
    connection = connect(port)
    for number in range(count):
        if number % 100 == 99:
            connection.close()
            talk_nonsense(port, number // 100)
            connection = connect(port)
        scrape(connection)
    connection.close()


def memory(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def files(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scrapes", type=int, default=5000)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        port = free_port()
        process = begin(pathlib.Path(name), port)
        try:
            scrapes(port, WARM)
            before, open_before = memory(process), files(process)
            scrapes(port, chosen.scrapes)
            time.sleep(1)
            after, open_after = memory(process), files(process)
            print(f"{WARM} scrapes: {before:.1f} MiB, {open_before} files; {chosen.scrapes} more: {after:.1f} MiB, {open_after} files")
            assert process.poll() is None
            assert after - before < GROWTH, "it grows"
            assert open_after <= open_before + 3, "files stay open"
        finally:
            process.kill()
            process.wait()
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
