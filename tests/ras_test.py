#!/usr/bin/env python3
"""railbed nccl --ras: a stand-in for NCCL's RAS service answers with the texts of tests/ras/, and exit code, first line and JSON
are what they should be; so they are where nothing listens, where what listens is silent, and where it is something else."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

import guardian

ROOT = pathlib.Path(__file__).resolve().parent
RAILBED = os.environ["RAILBED"]


def answer_of(name):
    return (ROOT / "ras" / name).read_text()


class Service:
    """Gives each connection the next of `answers`, and the last one again; None is silence."""

    def __init__(self, *answers):
        self.answers = answers
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        number = 0
        while True:
            guest, _ = self.listener.accept()
            with guest:
                guest.settimeout(5)
                try:
                    number += self.play(guest, self.answers[min(number, len(self.answers) - 1)])
                except OSError:
                    pass

    @staticmethod
    def play(guest, answer):
        for line in guest.makefile("r"):
            line = line.strip()
            if answer is None:
                continue
            if line.startswith("CLIENT PROTOCOL"):
                guest.sendall(b"SERVER PROTOCOL 2\n")
            elif line == "SET FORMAT json" and answer.startswith("{"):
                guest.sendall(b"OK\n")
            elif line == "VERBOSE STATUS":
                guest.sendall(answer.encode())
                return 1
            else:
                guest.sendall(b"ERROR: Unknown command " + line.encode() + b"\n")
        return 1


class Raw:
    """Sends each connection the chunks, with a pause before each, whatever is asked."""

    def __init__(self, chunks, pause=0):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, args=(chunks, pause), daemon=True).start()

    def serve(self, chunks, pause):
        while True:
            guest, _ = self.listener.accept()
            with guest:
                try:
                    for chunk in chunks:
                        time.sleep(pause)
                        guest.sendall(chunk)
                except OSError:
                    pass


def ask(*words):
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run([RAILBED, "nccl", "--ras", *words], capture_output=True, text=True, timeout=120,
                              env=os.environ | {"HOME": home, "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout, done.stderr


def faults():
    def expect(what, held, seen):
        if not held:
            yield f"{what}: {seen}"

    lag, alike = answer_of("lag-2.29.json"), answer_of("lag-2.29.json").replace('"AllReduce": 11', '"AllReduce": 12')
    # name, answers, exit code, how the first line begins
    cases = [
        ("lag in JSON", [lag], 2, "rank 3 on 10.50.0.2 (GPU 1, process 4003) has not entered AllReduce 12, in which the 3 others wait"),
        ("lag in text", [answer_of("lag-2.26.txt")], 2, "rank 21 on 10.20.0.3 (GPU 5, process 70215) has not entered AllReduce 18412"),
        ("it goes on", [lag, alike], 0, "no rank lags: all launched the same collectives, and launch more"),
        ("all alike", [alike], 0, "no rank lags: in each of 1 communicators"),
        ("stopped", [answer_of("stopped-2.29.json")], 2, "process 4003 on 10.50.0.2 (rank 3 of 4, GPU 1) does not answer"),
        ("stopped, a comma forgotten", [answer_of("stopped-2.28.json")], 2, "process 4003 on 10.50.0.2 (rank 3 of 4, GPU 1) does not answer"),
        ("stopped once", [answer_of("stopped-2.29.json"), alike], 0, "no rank lags"),
        ("first process silent", [None, lag], 2, "rank 3"),
        ("others go on", [lag, lag.replace('"AllReduce": 12', '"AllReduce": 13')], 1, "rank 3 on 10.50.0.2 (GPU 1, process 4003) launched no collective"),
    ]
    at_once = futures.ThreadPoolExecutor(8).map(lambda case: ask(Service(*case[1]).address, "--apart", "1"), cases)
    for (name, _, code, line), (got, out, err) in zip(cases, at_once):
        yield from expect(name, got == code and out.startswith(line), (got, out, err))
    got, out, err = ask(Service(lag).address, "--apart", "1", "--json")
    document = json.loads(out)
    yield from expect("JSON", got == 2 and document["verdict"]["lags"][0]["behind"][0]["pid"] == 4003 and
                      document["answers"]["second"]["processes"] == 4, out[:500])

    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = "127.0.0.1:%d" % gone.getsockname()[1]
    for name, where, words in [("nothing listens", address, "Connection refused"),
                               ("all silent", Service(None).address, "none was answered"),
                               ("answer cut", Service(answer_of("lag-2.26.txt")[:600]).address, "ends early"),
                               ("control characters", Service("\x1b]0;title\x07{").address, "no job summary")]:
        got, out, err = ask(where, "--apart", "1")
        yield from expect(name, got == 3 and not out and words in err and where in err and "\x1b" not in err, (got, out, err))
    # Controls inside of an answer that is read do not reach the terminal; bytes that are no text are refused.
    for form in ([], ["--json"]):
        got, out, err = ask(Service(lag.replace("10.50.0.2", "\\u001b[31m\\u009b2J\\u202e")).address, "--apart", "1", *form)
        yield from expect(f"controls in the answer {form}", got == 2 and not set("\x1b\x9b\u202e") & set(out + err), (got, out, err))
    for name, sent in [("bytes", bytes(range(256)) * 40), ("zeros", bytes(5000)), ("a prompt", b"\x1b[2J\xff\xfe login: ")]:
        got, out, err = ask(Raw([sent]).address, "--apart", "1")
        yield from expect(name, got == 3 and not out and all(one.isprintable() or one == "\n" for one in err), (got, out, err))
    # A slow drip ends by its time, and a flood by its size.
    drip = [b"SERVER PROTOCOL 2\n", b"no\n", *[b"x"] * 400]
    cases = [("drip of a greeting", [b"x"] * 400, 0.1, "none was answered"),
             ("drip of an answer", drip, 0.1, "does not answer"),
             ("flood", [b"SERVER PROTOCOL 2\n", b"no\n", *[b"x" * (1 << 20)] * 40], 0, "longer than 25165824 bytes")]
    began = time.monotonic()
    at_once = futures.ThreadPoolExecutor(8).map(lambda case: ask(Raw(case[1], case[2]).address, "--apart", "1"), cases)
    for (name, _, _, words), (got, out, err) in zip(cases, at_once):
        yield from expect(name, got == 3 and not out and words in err and time.monotonic() - began < 60,
                          (got, out, err, time.monotonic() - began))
    for words in (["node4:0"], ["a b"], [address, "--running"], [address, "--root", "."], [address, "--apart", "0"]):
        got, _, err = ask(*words)
        yield from expect(f"usage {words}", got == 64, (got, err))
    yield from of_this_node(lag)


def of_this_node(lag):
    """Processes of this node say where to ask, and why nothing can answer."""
    if not shutil.which("gcc"):
        print("no gcc: no processes with a libnccl")
        return
    with tempfile.TemporaryDirectory() as folder:
        def rank(version, environment):
            library = os.path.join(folder, version, "libnccl.so.2")
            if not os.path.exists(library):
                os.mkdir(os.path.dirname(library))
                text = f'__attribute__((used)) const char text[] = "NCCL version {version}+cuda12.6";'
                subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=text, text=True, check=True)
            code = "import ctypes, sys, time; ctypes.CDLL(sys.argv[1]); print('ready', flush=True); time.sleep(600)"
            started = subprocess.Popen([sys.executable, "-c", code, library], stdout=subprocess.PIPE, text=True,
                                       env={"PATH": os.environ["PATH"], "HOME": folder, **environment})
            started.stdout.readline()
            return started

        cases = [("no RAS yet", "2.23.4", {}, 3, "has NCCL 2.23.4: RAS came with 2.24"),
                 ("switched off", "2.27.5", {"NCCL_RAS_ENABLE": "0"}, 3, "has NCCL_RAS_ENABLE=0"),
                 ("no address", "2.27.5", {"NCCL_RAS_ADDR": "node4:70000"}, 3, "which is no address"),
                 ("its address", "2.27.5", {"NCCL_RAS_ADDR": Service(lag).address}, 2, "rank 3 on 10.50.0.2")]
        for name, version, environment, code, words in cases:
            started = rank(version, environment)
            try:
                got, out, err = ask("--apart", "1")
            finally:
                started.kill()
                started.wait()
            if got != code or words not in out + err or "\x1b" in out + err:
                yield f"{name}: {got, out, err}"


if __name__ == "__main__":
    guardian.begin()
    found = list(faults())
    print("\n".join(found) or "RAS is asked, and its answers are told apart")
    sys.exit(1 if found else 0)
