#!/usr/bin/env python3
"""An apply, then its rollback, cut off at random moments beside hostile neighbours: another user who exchanges folders for links in a
loop, a person who adds lines to the same files, a disk that is full for a while, clocks that jump. After each round the node is as it was
before or as it shall be, no line of the person is lost, and nothing was written outside.

`failures_test.py [ROUNDS [SEED]]`; needs root. ROUNDS is 12 in the suite, of up to two failures each."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from one_node import RAILBED, STRANGER, Agent, put, run_inside, text_of

OLD_HOSTS = "127.0.0.1 localhost\n"
BLOCK = "# railbed begin: written from cluster.yaml, sha256 0\n10.77.0.1 n1-r0\n# railbed end\n"
OLD = {"/etc/hosts": OLD_HOSTS, "/etc/a.conf": "old a\n" * 2000, "/etc/gone.conf": "old gone\n", "/etc/made.d/made.conf": None}
NEW = {"/etc/hosts": OLD_HOSTS + BLOCK, "/etc/a.conf": "new a\n" * 2000, "/etc/gone.conf": None, "/etc/made.d/made.conf": "new\n"}
SECONDS = 5  # that a node waits for its decision

# The wall clock of each process is up to ten years off, differently at each start.
CLOCK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long off(void) {
  static long seconds;
  if (seconds == 0) { unsigned s = getpid() * 2654435761u; seconds = (long)(s % 631152000u) - 315576000; }
  return seconds;
}
int clock_gettime(clockid_t id, struct timespec* at) {
  const int failed = syscall(SYS_clock_gettime, id, at);
  if (!failed && id == CLOCK_REALTIME) at->tv_sec += off();
  return failed;
}
time_t time(time_t* out) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (out) *out = at.tv_sec;
  return at.tv_sec;
}
"""

# The other user's loop: whatever is his becomes a link to /mnt/victim and a folder again.
NEIGHBOUR = """
mkdir -p /var/lib/theirs/d /tmp/x
while :; do
  for one in /var/lib/theirs/d /var/lib/railbed-monitor/apply /tmp/railbed-0; do
    mv "$one" "$one.was" 2>/dev/null; ln -s /mnt/victim "$one" 2>/dev/null
    rm -f "$one" 2>/dev/null; mkdir "$one" 2>/dev/null; rm -rf "$one.was" 2>/dev/null
  done
  ln -sfn /mnt/victim /var/lib/railbed 2>/dev/null; ln -sfn /mnt/victim /var/lib/railbed/apply 2>/dev/null
  ln -s /mnt/victim/x /etc/a.conf.railbed-other~ 2>/dev/null
done
"""


class Person(threading.Thread):
    """Adds a line to a file now and then, as an editor does: some write in place, some rename a new file over the old one."""

    def __init__(self, dice):
        super().__init__(daemon=True)
        self.dice, self.stopped, self.lines = dice, threading.Event(), []

    def run(self):
        while not self.stopped.wait(self.dice.uniform(0.2, 3)):
            path = self.dice.choice(["/etc/hosts", "/etc/hosts", "/etc/a.conf"])
            line = f"10.9.{len(self.lines) >> 8}.{len(self.lines) & 255} p{self.dice.getrandbits(64):x}\n"
            try:
                if self.dice.random() < 0.5:
                    with open(path, "a") as file:  # and no moment between
                        file.write(line)
                else:
                    text = pathlib.Path(path).read_text()
                    put(path + ".swp", text + line)
                    if pathlib.Path(path).read_text() != text:
                        continue  # an editor warns: the file changed on the disk
                    os.rename(path + ".swp", path)
                self.lines.append(line)
            except OSError:
                pass  # it is not there at the moment, or the disk is full: an editor says so

    def end(self):
        self.stopped.set()
        self.join()


def keeper_of(name):
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"--keep\0{name}".encode() in (process / "cmdline").read_bytes():
                return int(process.name)
        except OSError:
            pass
    return None


def disturb(dice, name, clock):
    """One failure at a random moment, and what a boot does after it."""
    time.sleep(dice.uniform(0, 0.25) if dice.random() < 0.7 else dice.uniform(0, SECONDS + 1))
    kind = dice.choice(["kill", "kill", "full", "both", "recover"])
    if kind in ("full", "both"):
        file = os.open("/mnt/d/fill", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for size in (1 << 20, 4096, 1):
            try:
                while os.write(file, b"x" * size):
                    pass
            except OSError:
                pass
        os.close(file)
        time.sleep(dice.uniform(0, SECONDS + 2))
    if kind in ("kill", "both") and (keeper := keeper_of(name)):
        os.kill(keeper, signal.SIGKILL)
    if os.path.exists("/mnt/d/fill"):
        os.unlink("/mnt/d/fill")
    if kind != "full":
        subprocess.run([RAILBED, "agent", "--recover", "all", *(["--booting"] if dice.random() < 0.5 else [])], capture_output=True, env=clock)
    return kind


def without(text, lines):
    for line in lines:
        text = text.replace(line, "")
    return text


def one_change(dice, agent, clock, staged):
    """Carries it out with one failure; its last state, None where it was not staged."""
    if "state" not in staged:
        return None, staged.get("text", "")
    name = staged["id"]
    agent.ask("apply.switch", id=name)
    trouble = threading.Thread(target=disturb, args=(dice, name, clock))
    trouble.start()
    end = time.monotonic() + SECONDS + 8
    while agent.state(name) not in ("switched", "reverting", "reverted", "committed", "dropped") and time.monotonic() < end:
        time.sleep(0.02)
    if dice.random() < 0.6:
        time.sleep(dice.uniform(0, 1))
        agent.ask("apply.decide", id=name, commit=True)
    trouble.join()
    subprocess.run([RAILBED, "agent", "--recover", name], capture_output=True, env=clock)
    return agent.wait_for(name, "committed", "reverted", "dropped", seconds=60), ""


def check_node(wanted, person, where):
    """The node is as wanted, but for the person's lines, and each of them is somewhere."""
    for path, content in wanted.items():
        now = text_of(path)
        assert (None if now is None else without(now, person.lines)) == content, f"{where}: {path} holds {now!r:.300}"
    everything = "".join(text_of(path) or "" for path in map(str, pathlib.Path("/etc").rglob("*")) if os.path.isfile(path))
    lost = [line for line in person.lines if line not in everything]
    assert not lost, f"{where}: lost {lost}"
    left = [str(path) for path in pathlib.Path("/etc").rglob("*railbed-*~") if "railbed-edited~" not in path.name]
    assert not left, f"{where}: {left} is left"
    assert not os.listdir("/mnt/victim"), f"{where}: root wrote outside: {os.listdir('/mnt/victim')}"


def one_round(number, dice, clock, counts):
    for path, content in OLD.items():
        if content is None:
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        else:
            put(path, content)
    for path in pathlib.Path("/etc").glob("*railbed-edited~"):
        path.unlink()
    names = [f"2026{dice.randint(1, 12):02}{dice.randint(1, 28):02}T{dice.randint(0, 23):02}0000Z-{number:04x}"[:21] for _ in range(2)]
    names[1] = names[1][:-1] + ("f" if names[1][-1] != "f" else "e")
    person = Person(random.Random(dice.getrandbits(32)))
    with Agent(env=clock) as agent:
        staged = agent.stage(names[0], [(path, OLD[path], NEW[path]) for path in OLD], seconds=SECONDS)
        assert staged.get("state") == "staged", staged
        person.start()
        try:
            state, _ = one_change(dice, agent, clock, staged)
        finally:
            person.end()
        counts[state] = counts.get(state, 0) + 1
        check_node(NEW if state == "committed" else OLD, person, f"round {number}, {names[0]} {state}")
        if state != "committed":
            return
        # Lines that the rollback cannot tell apart make it refuse, which is tried, too.
        back = agent.roll_back(names[1], names[0])
        if "text" in back:
            assert any(line.strip() in back["text"] for line in person.lines), back
            counts["refused"] = counts.get("refused", 0) + 1
            return
        state, _ = one_change(dice, agent, clock, back)
        counts[f"rollback {state}"] = counts.get(f"rollback {state}", 0) + 1
        check_node(OLD if state == "committed" else NEW, person, f"round {number}, rollback {names[1]} {state}")


def main():
    rounds, seed = (int(os.environ[name]) for name in ("ROUNDS", "SEED"))
    dice, counts = random.Random(seed), {}
    os.mkdir("/mnt/d")
    subprocess.run("mount -t tmpfs -o size=60M,mode=755 none /mnt/d && mkdir /mnt/d/etc /mnt/d/lib && mount --bind /mnt/d/etc /etc && "
                   "mount --bind /mnt/d/lib /var/lib && mount -t tmpfs none /tmp && mkdir -m 777 /mnt/victim", shell=True, check=True)
    os.mkdir("/mnt/tools")
    put("/mnt/tools/clock.c", CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", "/mnt/tools/clock.so", "/mnt/tools/clock.c"], check=True)
    clock = os.environ | {"LD_PRELOAD": "/mnt/tools/clock.so"}
    for folder in ("/var/lib/theirs", "/var/lib/railbed-monitor"):
        os.mkdir(folder)
        shutil.chown(folder, STRANGER, STRANGER)
    neighbour = subprocess.Popen(["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups", "sh", "-c", NEIGHBOUR],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for number in range(rounds):
            one_round(number, dice, clock, counts)
    finally:
        neighbour.kill()
        neighbour.wait()
        print(f"{rounds} rounds, seed {seed}: {counts}")


if __name__ == "__main__":
    if "INSIDE" in os.environ:
        sys.exit(main())
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    rounds = sys.argv[1] if len(sys.argv) > 1 else "12"
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(1 << 30))
    code, text = run_inside(__file__, "", INSIDE="1", ROUNDS=rounds, SEED=seed)
    print(text)
    sys.exit(code)
