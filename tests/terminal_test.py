#!/usr/bin/env python3
"""What a plain terminal shows. With LANG=C every command prints ASCII alone; in a window of 40 columns no line is torn within a
word, save commands, which stay whole to be copied, and words that are longer than the window."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unittest
from concurrent.futures import ThreadPoolExecutor

import guardian

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = str(pathlib.Path(os.environ["RAILBED"]).resolve())
COLUMNS = 40
PAIR = str(ROOT / "examples/v100-pair.yaml")
SICK = str(ROOT / "examples/sick-pair")
BACK = str(ROOT / "tests/sessions/runs/back-to-back.json")
SWITCH = str(ROOT / "tests/sessions/runs/switch.json")

# None needs hardware or another machine.
RUNS = [
    ["verify", "--root", SICK], ["verify", f"{SICK}/cluster.yaml", "--root", SICK, "--all"], ["verify", "--root", SICK, "--junit"],
    ["verify", "--root", SICK, "--prom"], ["verify", "--root", "nowhere"],
    ["report", "--root", SICK, "-o", "page.html"], ["report", "--run", BACK, "-o", "runs.html"],
    ["facts", "--root", f"{SICK}/gpu01.tree"], ["facts", "--root", f"{SICK}/gpu01.tree", "--topology"],
    ["check", PAIR], ["check", str(ROOT / "examples/rail-optimised-1000.yaml")], ["rules"], ["explain", "rdma.pfc"],
    ["explain", "xid"], ["explain", "xid", "79"], ["explain", "--nccl-log", str(ROOT / "tests/nccl/error-4-acs.log")],
    ["nccl", "--root", f"{SICK}/gpu01.tree"], ["nccl", "--log", str(ROOT / "tests/nccl/error-12.log")],
    ["plan", f"{SICK}/cluster.yaml", "--root", SICK], ["render", PAIR], ["launch", "torchrun", PAIR, "--no-look", "--", "train.py"],
    ["autoinstall", PAIR, "gpuserver1"], ["compare", BACK, SWITCH], ["runs", "--store", "runs.sqlite"], ["runs", "show", BACK],
    ["advise", "matrix", "--gpu", "T4", "--nic", "ConnectX-4", "--os", "rhel 9"], ["advise", "rails", "--nodes", "8", "--rails", "2"],
    ["advise", "gpus"], ["advise", "gpus", "V100", "B200"],
    ["advise", "switch", "--nodes", "3"], ["advise", "upgrades", "--root", SICK],
    ["predict", "--gpu", "H100", "--nodes", "2", "--nic", "8x400ib"], ["predict", "latency"], ["predict", "network"],
    ["predict", "experts", "--gpu", "H100", "--nodes", "2", "--nic", "8x400ib"], ["predict", "train"], ["events", "--state", str(ROOT / "tests/sessions/events")], ["job", "show", "4711", "--dir", str(ROOT / "tests/sessions/jobs")],
    ["job", "show", "--dir", str(ROOT / "tests/sessions/jobs")], ["top", "--once", "--root", f"{SICK}/gpu01.tree"],
    ["monitor", "--once", "--root", f"{SICK}/gpu01.tree"], ["completion", "bash"], ["tour"],
    ["bench", "tcp", "localhost", "localhost", "--seconds", "0.1", "--warm-up", "0", "--no-store"],
]
# Made to be copied or read by a program: their lines stay whole.
WHOLE = {"render", "launch", "autoinstall", "completion", "monitor", "top", "--junit", "--prom"}


def environment(**more):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "LC_", "LANG", "XDG_", "COLUMNS"))}
    return keep | {"PATH": f"{os.path.dirname(RAILBED)}:{os.environ['PATH']}", "TERM": "dumb"} | more


def helps(words=()):
    """Each command and each subcommand, with --help."""
    text = subprocess.run([RAILBED, *words, "--help"], check=True, capture_output=True, text=True, timeout=60).stdout
    found = [[*words, "--help"]]
    # railbed's own commands stand in groups.
    listed = text.partition("Subcommands:")[2].split("\n\n")[0] if words else text
    for name in re.findall(r"^  ([a-z][a-z-]*)(?: .*)?$", listed, re.M):
        found += helps([*words, name])
    return found


def commands():
    return RUNS + helps()


def printed(words, folder, **more):
    done = subprocess.run([RAILBED, *words], cwd=folder, env=environment(HOME=folder, **more), capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout + done.stderr


def on_terminal(words, folder):
    """What a terminal of 40 columns is sent."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    process = subprocess.Popen([RAILBED, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=its, stderr=its,
                               env=environment(HOME=folder, LC_ALL="C.UTF-8"))
    os.close(its)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    process.wait(timeout=120)
    return said.decode()


def torn(text):
    """The lines that the terminal would break within a word."""
    for line in text.replace("\r\n", "\n").split("\n"):
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line.rpartition("\r")[2])
        if len(shown) > COLUMNS and len(shown.split()) > 1 and not shown.lstrip().startswith("$ "):
            yield shown


class Terminal(unittest.TestCase):
    def each(self, judge, chosen):
        def one(words):
            with tempfile.TemporaryDirectory() as folder:
                return words, judge(words, folder)
        with ThreadPoolExecutor(max_workers=4) as workers:
            wrong = [(words, found) for words, found in workers.map(one, chosen) if found]
        self.assertEqual(wrong, [])

    def test_ascii_where_the_locale_is_c(self):
        def judge(words, folder):
            code, text = printed(words, folder, LANG="C")
            if code in (70, -6, -11):
                return f"exit code {code}"
            return [line for line in text.splitlines() if not line.isascii()][:3]
        self.each(judge, commands())

    def test_json_means_the_same(self):
        import json
        with tempfile.TemporaryDirectory() as folder:
            words = ["verify", "--root", SICK, "--json"]
            plain, utf8 = printed(words, folder, LANG="C")[1], printed(words, folder, LC_ALL="C.UTF-8")[1]
        self.assertTrue(plain.isascii())
        self.assertFalse(utf8.isascii())
        self.assertEqual(json.loads(plain), json.loads(utf8))

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([RAILBED, "rules"], stdout=full, stderr=subprocess.PIPE, env=environment(LANG="C"), timeout=60)
        self.assertEqual((done.returncode, done.stderr),
                         (3, b"railbed: standard output cannot be written: No space left on device\n"))

    def test_no_word_is_torn_in_40_columns(self):
        self.each(lambda words, folder: list(torn(on_terminal(words, folder)))[:3],
                  [words for words in commands() if not WHOLE & set(words) or words[-1] == "--help"])

    def test_what_is_copied_stays_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["launch", "torchrun", PAIR, "--no-look", "--", "train.py"]
            self.assertEqual(on_terminal(words, folder).replace("\r\n", "\n"), printed(words, folder, LC_ALL="C.UTF-8")[1].decode())


if __name__ == "__main__":
    guardian.begin()
    unittest.main()
