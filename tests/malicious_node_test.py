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
import time
import unittest

import guardian
import watched

ROOT = pathlib.Path(__file__).resolve().parent.parent
POISON = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202ereversed\u2066\nssh: {config: /tmp/evil}\r\x00\x7f"
NAMES = {"name", "hostname", "address", "pci_address", "parent", "netdev", "master", "device", "missing", "kind", "family", "table"}
TYPED = re.compile("[0-9a-fA-F:./]+")  # addresses: poisoned, they are refused as such
MEMORY = 512 << 20
HANGS = 180  # seconds; the guard against a command that never ends, no judgement of speed
READY, REQUEST, ANSWER, ERROR = 1, 2, 3, 4


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
        return ANSWER, json.dumps(lie).encode()
    return ERROR, text.encode()


def be_the_node():
    mode = os.environ["EVIL_MODE"]
    sys.stderr.write(POISON)
    sys.stdout.buffer.write(("Welcome " + POISON.replace("\x00", "")).encode())
    if mode == "garbage":
        sys.stdout.buffer.write(b"\0RBF" + os.urandom(4096))
        return
    if mode == "ends":
        sys.exit(255)
    send(READY, 0, b"")
    while True:
        head = sys.stdin.buffer.read(16)
        if len(head) < 16:
            return
        kind, number, length = head[5], *struct.unpack(">II", head[8:])
        body = sys.stdin.buffer.read(length)
        if kind == REQUEST:
            method = json.loads(body.split(b"\n")[0])["method"]
            send(*(lambda found: (found[0], number, found[1]))(answer_of(mode, method)))


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
    "launch": ("launch", "torchrun", "cluster.yaml", "--exec", "--", "train.py"),
    "bench tcp": ("bench", "tcp", "evil1", "evil2", "--cluster", "cluster.yaml"),
    "bench rdma": ("bench", "rdma", "evil1", "evil2", "--cluster", "cluster.yaml", "--json"),
    "bench pairs": ("bench", "pairs", "cluster.yaml"),
    "bench ladder": ("bench", "ladder", "evil1", "evil2", "--cluster", "cluster.yaml"),
    "bench storage": ("bench", "storage", "cluster.yaml", "--dir", "/tmp"),
    "bench train": ("bench", "train", "cluster.yaml"),
    "bench gpu": ("bench", "gpu", "cluster.yaml"),
    "bench collectives": ("bench", "collectives", "cluster.yaml"),
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
        cls.facts = subprocess.run([cls.railbed, "facts", "--json", "--root",
                                    ROOT / "tests/machines/v100-cx3pro/gpuserver1.tree"], capture_output=True, check=True).stdout

    def meet(self, mode):
        for name, words in COMMANDS.items():
            with self.subTest(mode=mode, command=name), tempfile.TemporaryDirectory() as home:
                self.run_one(mode, words, pathlib.Path(home))

    def run_one(self, mode, words, home):
        (home / "bin").mkdir()
        (home / "bin/ssh").write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} --node\n")
        (home / "bin/ssh").chmod(0o755)
        (home / "facts.json").write_bytes(self.facts)
        work = home / "work"
        work.mkdir()
        (work / "cluster.yaml").write_text(CLUSTER)
        environment = os.environ | {"PATH": f"{home}/bin:{os.environ['PATH']}", "HOME": str(home), "EVIL_MODE": mode,
                                    "EVIL_FACTS": str(home / "facts.json"), "XDG_STATE_HOME": str(home / "state")}
        before = {one for one in home.rglob("*")}
        code, memory = watched.run(f"{mode}, {' '.join(words[:2])}", [self.railbed, *words], home / "out", HANGS, cwd=work,
                                   env=environment, start_new_session=True)
        self.assertIn(code, (0, 1, 2, 3, 64), (home / "out").read_text(errors="replace")[-2000:])
        self.assertLess(memory, MEMORY)
        if mode == "texts" and words[0] in ("verify", "prove"):
            self.assertNotIn("gave no facts", (home / "out").read_text(errors="replace"), "the poison was not taken in")
        if mode == "liar" and words[0] == "prove":
            self.assertRegex((home / "out").read_text(errors="replace"), r"(?m)^kept as run", "a line inside a line")
        # railbed writes what it was told to, and what is its own.
        written = {one for one in home.rglob("*") if one.is_file()} - before
        hashes = home / ".cache/railbed/agent-hashes.json"  # of this very program
        allowed = {home / "out", work / "report.html", work / "new.yaml", work / "measurements.json", hashes}
        own = {home / "state", home / ".cache/railbed/ssh"}  # the history, and how ssh keeps connections
        self.assertFalse({one for one in written - allowed if not own & set(one.parents)}, written)
        for one in (written & allowed) | {work / "cluster.yaml"}:
            text = one.read_bytes().decode()  # UTF-8, or else it is an error
            found = watched.FORBIDDEN.search(text)
            self.assertIsNone(found, f"{one.name}: {text[max(0, (found or re.search('', text)).start() - 80):][:160]!r}")
            if one.suffix == ".yaml":
                self.assertNotRegex(text, r"(?m)^ssh:")

    def test_poison_in_every_text(self):
        self.meet("texts")

    def test_poison_in_every_name(self):
        self.meet("names")

    def test_answers_that_are_lies(self):
        self.meet("liar")

    def test_answers_beyond_all_bounds(self):
        self.meet("huge")

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
