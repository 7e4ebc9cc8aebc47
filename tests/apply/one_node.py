"""A node of a test's own: a mount namespace with an empty /etc, /var/lib and /mnt, and a real `railbed agent` as root in it, which is
spoken to in frames (docs/reference/agent-protocol.md). Nothing outside of the namespace changes."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import time

RAILBED = str(pathlib.Path(os.environ["RAILBED"]).resolve())
STRANGER = 65534  # a user who is not root
READY, REQUEST, ANSWER = 1, 2, 3
MOUNTS = ("mount --make-rprivate / && mount -t tmpfs none /var/lib && mount -t tmpfs -o mode=755 none /etc && "
          "mount -t tmpfs -o mode=755 none /mnt")


def run_inside(script, name, mounts=MOUNTS, **environment):
    """Runs `script NAME` in a new mount namespace; its exit code and what it printed. 77: there can be none here."""
    done = subprocess.run(["unshare", "-m", "--kill-child", "--", "sh", "-c", f"{{ {mounts}; }} || exit 77; exec \"$@\"", "sh",
                           sys.executable, script, name], capture_output=True, text=True, env=os.environ | environment)
    return done.returncode, done.stdout + done.stderr


def run_all(script, tests, **environment):
    """Each function of `tests` in a namespace of its own; the exit code for all."""
    if len(sys.argv) == 2:
        tests[sys.argv[1]]()
        return 0
    if os.geteuid() != 0:
        print("skipped: only root gives files to other users and mounts")
        return 77
    failed = 0
    for name in tests:
        began = time.monotonic()
        code, text = run_inside(script, name, **environment)
        if code == 77:
            print("skipped: no mount namespace can be made here")
            return 77
        failed += code != 0
        print(f"{'ok' if code == 0 else 'FAILED'}: {name}, {time.monotonic() - began:.1f} s" + ("" if code == 0 else "\n" + text))
    return 1 if failed else 0


class Agent:
    def __init__(self, **how):
        self.process = subprocess.Popen([RAILBED, "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)
        self.number = 0
        while self.read()[0] != READY:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.process.stdout.read(count - len(data))
            if not more:
                raise EOFError("the agent has ended")
            data += more
        return data

    def read(self):
        head = self.exactly(16)
        kind, number, length = head[5], *struct.unpack(">II", head[8:])
        return kind, number, self.exactly(length)

    def ask(self, method, **asked):
        """The answer; an error is a dict with `text`."""
        self.number += 1
        body = json.dumps({"method": method, "deadline_ms": 60000}).encode() + b"\n" + json.dumps(asked).encode()
        self.process.stdin.write(b"\0RBF" + struct.pack(">BBHII", 1, REQUEST, 0, self.number, len(body)) + body)
        self.process.stdin.flush()
        while True:
            _, number, body = self.read()
            if number == self.number:
                return json.loads(body)

    def state(self, name):
        return self.ask("apply.look", id=name).get("state")

    def wait_for(self, name, *states, seconds=20):
        end = time.monotonic() + seconds
        while (state := self.state(name)) not in states:
            assert time.monotonic() < end, f"{name} is {state} after {seconds} s, not one of {states}"
            time.sleep(0.05)
        return state

    def stage(self, name, files, seconds=10):
        """`files`: (path, content now or None, content afterwards or None)."""
        edits = [{"path": path, "before": before if before is None else "t" + before, "after": after if after is None else "t" + after,
                  "mode": 0o644, "aside": False} for path, before, after in files]
        return self.ask("apply.stage", id=name, who="a@b", cluster="c", seconds=seconds, stays=False, family="debian", titles=["t"],
                        files=edits, steps=[])

    def roll_back(self, name, target, discard=False):
        return self.ask("apply.rollback", id=name, who="a@b", cluster="c", target=target, seconds=10, discard=discard)

    def carry_out(self, staged):
        """From the answer of stage() or roll_back() to the end; an error stays one."""
        if "state" not in staged:
            return staged
        name = staged["id"]
        self.ask("apply.switch", id=name)
        if self.wait_for(name, "switched", "reverted") == "switched":
            self.ask("apply.decide", id=name, commit=True)
        self.wait_for(name, "committed", "reverted")
        return self.ask("apply.look", id=name)


def put(path, text):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(path).write_text(text)


def text_of(path):
    """None where it is not there."""
    try:
        return pathlib.Path(path).read_text()
    except FileNotFoundError:
        return None


def as_stranger(script):
    return subprocess.run(["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups", "sh", "-c", script],
                          capture_output=True, text=True)
