#!/usr/bin/env python3
"""railbed nccl --ras: a stand-in for NCCL's RAS service answers with the texts of tests/ras/, and exit code, first line and JSON
are what they should be; so they are where nothing listens, where what listens is silent, and where it is something else."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

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
        ("first process silent", [None, lag], 2, "rank 3"),
        ("others go on", [lag, lag.replace('"AllReduce": 12', '"AllReduce": 13')], 1, "rank 3 on 10.50.0.2 (GPU 1, process 4003) launched no collective"),
    ]
    for name, answers, code, line in cases:
        got, out, err = ask(Service(*answers).address, "--apart", "1")
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
    for words in (["node4:0"], ["a b"], [address, "--running"], [address, "--root", "."]):
        got, _, err = ask(*words)
        yield from expect(f"usage {words}", got == 64, (got, err))


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "RAS is asked, and its answers are told apart")
    sys.exit(1 if found else 0)
