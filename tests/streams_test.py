#!/usr/bin/env python3
"""What a command does where a standard stream is closed, full, or a pipe that nobody reads: it never crashes; what goes to stderr
changes no exit code; output that is lost is exit 3; a file that it opens never gets the number of a stream that is closed."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from terminal_test import RAILBED, ROOT, commands, environment

AGENT = str(pathlib.Path(sys.argv.pop()).resolve())
LOST = 3
STDIN, STDOUT, STDERR = 0, 1, 2
# And each command without a word more than a person may forget.
MISTAKES = [[], ["no-such-command"], ["verify", "--no-such-option"], ["check"], ["check", "no-such-file.yaml"],
            ["plan", "no-such-file.yaml"], ["agent"]]


def with_stream(words, folder, stream, state):
    """(exit code, stdout) of railbed where one stream is in that state; those that are not read are /dev/null."""
    streams = {STDIN: subprocess.DEVNULL, STDOUT: subprocess.PIPE, STDERR: subprocess.DEVNULL}
    opened = []
    if state == "full":
        opened = [os.open("/dev/full", os.O_WRONLY)]
        streams[stream] = opened[0]
    elif state == "no reader":
        reader, writer = os.pipe()
        os.close(reader)
        opened = [writer]
        streams[stream] = writer
    close = "" if state != "closed" else f" {stream}{'<' if stream == STDIN else '>'}&-"
    done = subprocess.run(["sh", "-c", f'exec "$0" "$@"{close}', RAILBED, *words], cwd=folder, env=environment(HOME=folder, LC_ALL="C.UTF-8"),
                          stdin=streams[STDIN], stdout=streams[STDOUT], stderr=streams[STDERR], timeout=120)
    for one in opened:
        os.close(one)
    return done.returncode, done.stdout or b""


STATES = [(STDIN, "closed"), (STDOUT, "closed"), (STDOUT, "full"), (STDOUT, "no reader"), (STDERR, "closed"), (STDERR, "full"),
          (STDERR, "no reader")]


def wrong_with(words):
    """What is not as it has to be, by stream and state."""
    with tempfile.TemporaryDirectory() as folder:
        usual, text = with_stream(words, folder, None, None)
    wrong = []
    for stream, state in STATES:
        with tempfile.TemporaryDirectory() as folder:
            code, _ = with_stream(words, folder, stream, state)
        right = {usual}
        if stream == STDOUT and text and words != ["agent"]:  # an agent's controller sees for itself that frames are missing
            right = {LOST}
        if state == "no reader":  # a reader who leaves ends a command, as `head` does
            right |= {usual, -signal.SIGPIPE}
        if code not in right:
            wrong.append((stream, state, code, usual))
    return wrong


def target_of(link):
    try:
        return os.readlink(link)
    except OSError:
        return None


class Streams(unittest.TestCase):
    def test_no_stream_ends_a_command(self):
        with ThreadPoolExecutor(max_workers=2) as workers:
            chosen = commands() + MISTAKES
            wrong = [(words, found) for words, found in zip(chosen, workers.map(wrong_with, chosen)) if found]
        self.assertEqual(wrong, [])

    def test_a_mistake_without_stderr_is_a_mistake(self):
        self.assertEqual(with_stream(["no-such-command"], ".", STDERR, "closed")[0], 64)

    def test_nothing_gets_the_number_of_a_closed_stream(self):
        # An agent gives its standard output away and keeps its standard error.
        for program in RAILBED, AGENT:
            with tempfile.TemporaryDirectory() as folder:
                process = subprocess.Popen(["sh", "-c", f'exec "$0" agent {STDERR}>&-', program], cwd=folder, stdin=subprocess.PIPE,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(HOME=folder))
                # While it starts, the loader may hold the number for a moment.
                limit = time.monotonic() + 60
                while (found := target_of(f"/proc/{process.pid}/fd/{STDERR}")) != "/dev/null" and time.monotonic() < limit:
                    time.sleep(0.01)
                process.stdin.close()
                process.wait(timeout=60)
                self.assertEqual(found, "/dev/null", program)

    def test_no_command_prints_to_stderr_by_what_throws(self):
        found = [str(path) for path in (ROOT / "src").rglob("*.cc")
                 if "testing" not in path.parts and "fmt::print(stderr" in path.read_text()]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
