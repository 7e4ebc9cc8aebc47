#!/usr/bin/env python3
"""A node that lies: every command that talks to nodes meets one, and neither the terminal nor a file takes harm.

This script is also the node: as `ssh` in front of PATH it speaks the agent's frames (docs/reference/agent-protocol.md), and
what it says holds escape sequences, C1 controls, direction overrides and line breaks in every string.
"""
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import guardian
import watched

ROOT = pathlib.Path(__file__).resolve().parent.parent
POISON = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202ereversed\u2066\nssh: {config: /tmp/evil}\r\x00\x7f"
NAMES = {"name", "hostname", "address", "pci_address", "parent", "netdev", "master", "device", "missing", "kind", "family", "table"}
TYPED = re.compile("[0-9a-fA-F:./]+")  # addresses: poisoned, they are refused as such
MEMORY = 512 << 20
HANGS = 180  # seconds; the guard against a command that never ends, no judgement of speed
OUTPUT = 64 << 10  # bytes that a command prints of one node that lies, however much it sends
DOCUMENT = 256 << 10  # likewise, where it prints every finding for a program
# Seconds: each wait of a command has its own end (docs/reference/agent-protocol.md); these are the longest together.
ENDS = 300
READY, REQUEST, ANSWER, ERROR = 1, 2, 3, 4
LONG = "lo ng" * (1 << 18)


# The node

def poisoned(value, names, key=""):
    """Every string with poison behind it; names of things and what has a form of its own only if `names`."""
    if isinstance(value, dict):
        return {own: poisoned(child, names, key if own == "value" else own) for own, child in value.items()}
    if isinstance(value, list):
        return [poisoned(child, names, key) for child in value]
    keep = not isinstance(value, str) or (not names and (key in NAMES or TYPED.fullmatch(value)))
    return value if keep else value + POISON


def send(kind, number, body):
    sys.stdout.buffer.write(b"\0RBF" + struct.pack(">BBHII", 1, kind, 0, number, len(body)) + body)
    sys.stdout.buffer.flush()


def answer_of(mode, method):
    facts = json.loads(pathlib.Path(os.environ["EVIL_FACTS"]).read_text())
    text = json.dumps({"kind": "unavailable", "text": POISON + method + POISON})
    if method == "facts":
        if mode == "huge":
            return ANSWER, b'{"version":1,"collectors":[' + b"{}," * (2 << 20) + b"{}]}"
        return ANSWER, json.dumps(poisoned(facts, mode == "names")).encode()
    if method == "clock":
        return ANSWER, (b"[" + b"1," * (30 << 20) + b"1]" if mode == "huge" else b'{"nanoseconds":%d}' % time.time_ns())
    if method == "hello":
        return ANSWER, json.dumps({"version": "0" + POISON, "architecture": "x86_64", "pid": 1, "node": POISON}).encode()
    if method.startswith("launch.") and mode in ("liar", "texts"):
        return ANSWER, json.dumps({"output": [{"error": True, "lines": POISON + "\n"}, {"lines": POISON}], "status": 1}).encode()
    if mode == "liar":
        lie = {key: POISON for key in ("session", "library", "error", "step", "cause", "stage", "remedy", "token", "text")}
        lie |= {"port": 65535, "ended": True, "results": [POISON, "{}", json.dumps({"text": POISON})], "trouble": POISON,
                "printed": POISON, "devices": [{"name": POISON}], "failure": {"stage": POISON, "cause": POISON}}
        if method.startswith("bench.burn."):
            lie |= {"names": [POISON] * 100, "gpus": [
                {"ordinal": i, "name": POISON, "address": POISON, "trouble": POISON, "began": True, "fault_count": 1, "samples": 1,
                 "tallies": [{"skipped": POISON}, {"rate": 1e300, "work": -1}] * 9, "faults": [{"of": POISON, "bits": POISON}] * 99,
                 "slowdowns": [{"reason": POISON, "samples": 9}]} for i in range(100)]}
        return ANSWER, json.dumps(lie).encode()
    return ERROR, text.encode()


def drip(number, flood):
    """An answer that never ends: a byte at a time, or behind answers that nobody asked for."""
    if not flood:
        sys.stdout.buffer.write(b"\0RBF" + struct.pack(">BBHII", 1, ANSWER, 0, number, 4096))
    while True:
        if flood:
            send(ANSWER, number + 1_000_000, b"{}" * 8)
        else:
            sys.stdout.buffer.write(b" ")
            sys.stdout.buffer.flush()
            time.sleep(0.2)


def long_answer(method):
    """Texts as long as they are taken in, and errors of a megabyte."""
    if method == "facts":
        facts = json.loads(pathlib.Path(os.environ["EVIL_FACTS"]).read_text())
        return ANSWER, json.dumps(unread(facts)).encode()
    if method in ("clock", "hello"):
        return answer_of("texts", method)
    if method == "apply.history":
        return ANSWER, json.dumps({"applies": [{"id": str(i), "why": LONG[:15_000], "titles": [LONG[:100]] * 1000} for i in range(8)]}).encode()
    if method.startswith("apply."):
        return ANSWER, json.dumps({"id": "1", "state": "reverted", "why": LONG[:200_000], "log": LONG[:200_000]}).encode()
    if method.startswith("bench."):
        text = LONG[:15_000]
        return ANSWER, json.dumps({"error": text, "failure": {"stage": text, "cause": text, "remedy": text}, "trouble": text, "ended": True,
                                   "session": text, "library": text, "printed": text}).encode()
    return ERROR, json.dumps({"kind": "unavailable", "text": LONG}).encode()


def unread(value):
    """Facts of which none could be read, each with a reason of 32 KiB while there is room."""
    if isinstance(value, dict) and "value" in value and "from" in value:
        unread.left -= 1
        return {"missing": "denied", "why": "no " * (11_000 if unread.left > 0 else 100), "from": value["from"]}
    if isinstance(value, dict):
        return {key: unread(child) for key, child in value.items()}
    return [unread(child) for child in value] if isinstance(value, list) else value


unread.left = 150


def apply_answer(method):
    """evil1 does what it is asked; evil2 has always only just begun."""
    kept = pathlib.Path(os.environ["EVIL_FACTS"]).with_name("decided")
    state = {"apply.stage": "staged", "apply.rollback": "staged", "apply.switch": "switching"}.get(method, "switched")
    if method == "apply.decide":
        kept.touch()
    if kept.exists():
        state = "reverted"
    return ANSWER, json.dumps({"id": "1", "state": "switching" if "evil2" in sys.argv else state,
                               "decision": "revert" if kept.exists() else None}).encode()


def be_the_node():
    mode = os.environ["EVIL_MODE"]
    sys.stderr.write(POISON)
    sys.stdout.buffer.write(("Welcome " + POISON.replace("\x00", "")).encode())
    if mode == "garbage":
        sys.stdout.buffer.write(b"\0RBF" + os.urandom(4096))
        return
    if mode == "ends":
        sys.exit(255)
    real = None
    if mode == "switching":  # all but its applies is this machine's
        real = subprocess.Popen([os.environ["RAILBED"], "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        threading.Thread(target=lambda: [sys.stdout.buffer.write(piece) and sys.stdout.buffer.flush()
                                         for piece in iter(lambda: os.read(real.stdout.fileno(), 65536), b"")], daemon=True).start()
    else:
        send(READY, 0, b"")
    while True:
        head = sys.stdin.buffer.read(16)
        if len(head) < 16:
            return
        kind, number, length = head[5], *struct.unpack(">II", head[8:])
        body = sys.stdin.buffer.read(length)
        method = json.loads(body.split(b"\n")[0])["method"] if kind == REQUEST else ""
        if method:
            with open(pathlib.Path(os.environ["EVIL_FACTS"]).with_name("asked"), "a") as asked:
                asked.write(method + "\n")
        if mode == "switching" and not (method.startswith("apply.") and method not in ("apply.free", "apply.boot")):
            real.stdin.write(head + body)
            real.stdin.flush()
        elif kind == REQUEST:
            if method == os.environ.get("EVIL_METHOD"):
                drip(number, mode == "flood")
            answer = {"switching": apply_answer, "long": long_answer}.get(mode, lambda one: answer_of(mode, one))(method)
            send(answer[0], number, answer[1])


# The commands

COMMANDS = {
    "verify": ("verify", "cluster.yaml"),
    "verify --all": ("verify", "cluster.yaml", "--all"),
    "verify --json": ("verify", "cluster.yaml", "--json"),
    "verify --prom": ("verify", "cluster.yaml", "--prom"),
    "verify --junit": ("verify", "cluster.yaml", "--junit"),
    "verify --learn": ("verify", "cluster.yaml", "--learn", "--yes"),
    "prove": ("prove", "cluster.yaml", "-o", "report.html"),
    "plan": ("plan", "cluster.yaml", "--diff"),
    "apply": ("apply", "cluster.yaml", "--yes", "--timeout", "30"),
    "history": ("history", "cluster.yaml"),
    "init": ("init", "evil1", "evil2", "-o", "new.yaml"),
    "init cables": ("init", "evil1", "evil2", "--cables", "--listen", "1", "-o", "new.yaml"),
    "launch": ("launch", "torchrun", "cluster.yaml", "--exec", "--", "train.py"),
    "bench tcp": ("bench", "tcp", "evil1", "evil2", "--cluster", "cluster.yaml"),
    "bench rdma": ("bench", "rdma", "evil1", "evil2", "--cluster", "cluster.yaml", "--json"),
    "bench rdma-cm": ("bench", "rdma-cm", "evil1", "evil2", "--cluster", "cluster.yaml", "--json"),
    "bench pairs": ("bench", "pairs", "cluster.yaml"),
    "bench ladder": ("bench", "ladder", "evil1", "evil2", "--cluster", "cluster.yaml"),
    "bench storage": ("bench", "storage", "cluster.yaml", "--dir", "/tmp"),
    "bench train": ("bench", "train", "cluster.yaml"),
    "bench gpu": ("bench", "gpu", "cluster.yaml"),
    "bench collectives": ("bench", "collectives", "cluster.yaml"),
    "burn": ("burn", "cluster.yaml", "--minutes", "0.1"),
}
CLUSTER = """railbed: 1
cluster: evil
nodes:
  - evil1
  - evil2
rails:
  - {name: rail0, subnet: 10.40.0.0/24, interface: ens6, first_address: 10.40.0.1}
"""


class MaliciousNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.railbed = pathlib.Path(os.environ["RAILBED"]).resolve()
        os.environ["RAILBED"] = str(cls.railbed)  # nodes run in folders of their own
        cls.facts = subprocess.run([cls.railbed, "facts", "--json", "--root",
                                    ROOT / "tests/machines/v100-cx3pro/gpuserver1.tree"], capture_output=True, check=True).stdout

    def meet(self, mode):
        for name, words in COMMANDS.items():
            with self.subTest(mode=mode, command=name), tempfile.TemporaryDirectory() as home:
                self.run_one(mode, words, pathlib.Path(home))

    def run_one(self, mode, words, home, method="", hangs=HANGS):
        """What it printed, and the methods that it asked nodes for."""
        (home / "bin").mkdir()
        (home / "bin/ssh").write_text(f'#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} --node "$@"\n')
        (home / "bin/ssh").chmod(0o755)
        (home / "facts.json").write_bytes(self.facts)
        work = home / "work"
        work.mkdir()
        (work / "cluster.yaml").write_text(CLUSTER)
        environment = os.environ | {"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": str(home), "EVIL_MODE": mode,
                                    "EVIL_FACTS": str(home / "facts.json"), "EVIL_METHOD": method, "XDG_STATE_HOME": str(home / "state")}
        before = {one for one in home.rglob("*")}
        code, memory = watched.run(f"{mode}, {' '.join(words[:2])}", [self.railbed, *words], home / "out", hangs, cwd=work,
                                   env=environment, start_new_session=True)
        self.assertIn(code, (0, 1, 2, 3, 64), (home / "out").read_text(errors="replace")[-2000:])
        self.assertLess(memory, MEMORY)
        if mode == "texts" and words[0] in ("verify", "prove"):
            self.assertNotIn("gave no facts", (home / "out").read_text(errors="replace"), "the poison was not taken in")
        if mode == "liar" and words[0] == "prove" and not method:
            self.assertRegex((home / "out").read_text(errors="replace"), r"(?m)^kept as run", "a line inside a line")
        # railbed writes what it was told to, and what is its own.
        written = {one for one in home.rglob("*") if one.is_file()} - before
        hashes = home / ".cache/railbed/agent-hashes.json"  # of this very program
        ours = {home / "asked", home / "decided"}
        allowed = ours | {home / "out", work / "report.html", work / "new.yaml", work / "measurements.json", hashes}
        own = {home / "state", home / ".cache/railbed/ssh"}  # the history, and how ssh keeps connections
        self.assertFalse({one for one in written - allowed if not own & set(one.parents)}, written)
        for one in (written & allowed) | {work / "cluster.yaml"}:
            text = one.read_bytes().decode()  # UTF-8, or else it is an error
            found = watched.FORBIDDEN.search(text)
            self.assertIsNone(found, f"{one.name}: {text[max(0, (found or re.search('', text)).start() - 80):][:160]!r}")
            if one.suffix == ".yaml":
                self.assertNotRegex(text, r"(?m)^ssh:")
        asked = (home / "asked").read_text().split() if (home / "asked").exists() else []
        return (home / "out").read_text(errors="replace"), asked

    def test_poison_in_every_text(self):
        self.meet("texts")

    def test_poison_in_every_name(self):
        self.meet("names")

    def test_answers_that_are_lies(self):
        self.meet("liar")

    def test_answers_beyond_all_bounds(self):
        self.meet("huge")

    def test_texts_of_megabytes(self):
        for name, words in COMMANDS.items():
            with self.subTest(command=name), tempfile.TemporaryDirectory() as home:
                text, _ = self.run_one("long", words, pathlib.Path(home))
                print(f"long, {name}: {len(text) >> 10} KiB", file=sys.stderr)
                document = {"--json", "--junit", "--prom"} & set(words)
                self.assertLess(len(text), 2 * (DOCUMENT if document else OUTPUT), text[:1000])

    def drips(self, mode):
        """Each method that a command asks for is answered without an end, while all others are lied to."""
        if not os.environ.get("RAILBED_TEST_LONG"):
            self.skipTest("it starves whatever runs beside it: RAILBED_TEST_LONG is not set")
        def one(case):
            name, words, method = case
            with tempfile.TemporaryDirectory() as home:
                began = time.monotonic()
                asked = self.run_one(mode, words, pathlib.Path(home), method, ENDS)[1]
                return name, method, time.monotonic() - began, asked
        with ThreadPoolExecutor(16) as pool:
            cases = []
            for name, _, _, asked in pool.map(one, [(name, words, "nothing") for name, words in COMMANDS.items()]):
                # Sixteen jobs on the slowest disk are waited for, which is longer than any other answer.
                cases += [(name, COMMANDS[name], method) for method in sorted(set(asked)) if method != "bench.storage"]
            self.assertGreater(len(cases), len(COMMANDS))
            for name, method, seconds, _ in pool.map(one, cases):
                print(f"{mode}, {name}, {method}: {seconds:.0f} s", file=sys.stderr)

    def test_answers_that_never_end(self):
        self.drips("liar")

    def test_answers_that_nobody_asked_for(self):
        self.drips("flood")

    def test_a_node_that_is_always_about_to_change(self):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as home:
            text, asked = self.run_one("switching", ("apply", "cluster.yaml", "--only", "hosts", "--yes", "--no-prove", "--timeout", "30"),
                                       pathlib.Path(home))
        self.assertIn("apply.look", asked, text)
        print(f"always switching: {time.monotonic() - began:.0f} s", file=sys.stderr)

    def test_bytes_that_are_no_frames(self):
        self.meet("garbage")
        self.meet("ends")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--node"]:
        try:
            be_the_node()
        except BrokenPipeError:
            pass
    else:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        guardian.begin()
        unittest.main(verbosity=1)
