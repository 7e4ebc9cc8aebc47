#!/usr/bin/env python3
"""`railbed top` at a terminal of its own (Python's pty): keys, another size, and the terminal as it was before after q, Ctrl-C and
SIGTERM; and what it prints where there is none."""
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
MACHINE = pathlib.Path(__file__).resolve().parent.parent / "machines/v100-port-down"
PATIENCE = 90
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Top:
    """The program, and what it has written."""

    def __init__(self, state, *words, size=(24, 80), **environment):
        self.person, its = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(its)
        self.its = its
        env = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment}
        self.process = subprocess.Popen([RAILBED, "top", MACHINE / "cluster.yaml", "--root", MACHINE, "--state", state, *words], env=env,
                                        stdin=its, stdout=its, stderr=its, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.written = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.person, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, within=0.2):
        if select.select([self.person], [], [], within)[0]:
            self.written += os.read(self.person, 65536)

    def wait(self, text, since=0):
        end = time.monotonic() + PATIENCE
        while text not in self.written[since:]:
            assert time.monotonic() < end and self.process.poll() is None, (text, self.written[-3000:])
            self.read()
        return len(self.written)

    def press(self, keys):
        since = len(self.written)
        os.write(self.person, keys)
        return since

    def ended(self):
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            self.read()
        self.read()
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.person)
        os.close(self.its)


class AtATerminal(unittest.TestCase):
    def begin(self, *words, **how):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        top = Top(kept.name, *words, **how)
        self.addCleanup(top.close)
        top.wait(ENTER)
        return top

    def is_restored(self, top):
        self.assertTrue(top.written.rstrip().endswith(LEAVE), top.written[-200:])
        self.assertIn(b"\x1b[?25h", top.written)
        self.assertEqual(termios.tcgetattr(top.its), top.before)

    def test_keys(self):
        top = self.begin()
        top.wait(b"FAIL")
        top.wait(b"remedy:", top.press(b"\r"))
        top.wait(b"KEYS", top.press(b"?"))
        top.wait(b"WHAT IS WRONG", top.press(b"?"))
        since = top.press(b"\x1b[B")
        top.wait(b"\x1b[7m>", since)
        self.assertNotEqual(termios.tcgetattr(top.its), top.before)
        top.press(b"q")
        self.assertEqual(top.ended(), 0)
        self.is_restored(top)

    def test_another_size(self):
        top = self.begin()
        top.wait(b"FAIL")
        since = len(top.written)
        top.resize(10, 40)
        top.wait(b"more lines below", since)
        frame = top.written[since:].split(b"\x1b[H")[-1]
        self.assertEqual(frame.count(b"\r\n"), 9)
        top.press(b"q")
        self.assertEqual(top.ended(), 0)

    def test_ctrl_c(self):
        top = self.begin()
        top.wait(b"FAIL")
        top.press(b"\x03")
        self.assertEqual(top.ended(), 0)
        self.is_restored(top)

    def test_sigterm(self):
        top = self.begin()
        top.process.send_signal(signal.SIGTERM)
        self.assertEqual(top.ended(), 0)
        self.is_restored(top)

    def test_no_colour_and_no_unicode(self):
        top = self.begin(NO_COLOR="1", LC_ALL="C")
        top.wait(b"FAIL")
        self.assertNotIn(b"\x1b[31m", top.written)
        self.assertEqual(top.written, bytes(one for one in top.written if one < 0x80))
        top.press(b"q")
        self.assertEqual(top.ended(), 0)


class WithoutATerminal(unittest.TestCase):
    def run_top(self, *words):
        with tempfile.TemporaryDirectory() as state:
            return subprocess.run([RAILBED, "top", MACHINE / "cluster.yaml", "--root", MACHINE, "--state", state, *words],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)

    def test_it_says_what_to_do(self):
        done = self.run_top()
        self.assertEqual(done.returncode, 64)
        self.assertIn("--once", done.stderr)

    def test_once(self):
        done = self.run_top("--once")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("FAIL", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_json(self):
        view = json.loads(self.run_top("--json").stdout)
        self.assertEqual(view["health"], "bad")
        self.assertGreater(len(view["findings"]), 0)

    def test_nobody_answers_there(self):
        done = subprocess.run([RAILBED, "top", "--from", "http://127.0.0.1:1/", "--once"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 3)
        self.assertIn("127.0.0.1:1", done.stderr)


if __name__ == "__main__":
    guardian.begin()
    unittest.main()
