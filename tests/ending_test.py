#!/usr/bin/env python3
"""Whatever railbed and its scripts start ends with them. Each program is ended at a random moment of its life by a random one of:
the signals that ask, SIGKILL, SIGKILL of the process that does its work, its terminal closed, its reader gone. What is left is
looked for: processes, network namespaces, mounts, files, listening sockets.

    RAILBED=build/release/railbed tests/ending_test.py [--rounds N] [--seed N] [--only NAME] [--lab]

A round ends each program once. Needs root: the programs run in mounts and a network of this test's own, where all that is left is
theirs; and it is the parent of every process that lost its own (PR_SET_CHILD_SUBREAPER)."""
import argparse
import collections
import contextlib
import ctypes
import fcntl
import os
import pathlib
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

import guardian
from untree import untree

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = str(pathlib.Path(os.environ.get("RAILBED", ROOT / "build/release/railbed")).resolve())
INSIDE = "RAILBED_ENDING_INSIDE"
PATIENCE = 90  # seconds until it has ended and all must be gone: a limit, not an expectation
ASKING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
WAYS = (*ASKING, "SIGKILL", "worker", "terminal", "reader")
PEERS = ROOT / "bench/peers"
# Programs that a script calls and that would take long or reach out: each starts another one that would outlive it.
STUB = "#!/bin/sh\nsetsid sleep 600 &\nsleep 600\n"
MINUTE = "600"

Program = collections.namedtuple("Program", "name words life needs ways environment", defaults=((), WAYS, {}))


def run(*words):
    subprocess.run(words, check=True)


def stub(folder, *names, text=STUB):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def copy_of_scripts(folder):
    """The scripts that build and test everything, where what they call is a stand-in."""
    for name in ("quickstart", "check", ".ci/run", "fuzz/run", "scripts/capture-running-job", "tests/guardian.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    stub(folder / "scripts", "install-packages", text="#!/bin/sh\n")
    stub(folder / "tests/lab", "vms")
    stub(folder / "build/fuzz/fuzz", "one_fuzz", "two_fuzz")
    stub(folder / "bin", "cmake", "ctest", "python-of-a-job")
    return {"PATH": f"{folder}/bin:{os.environ['PATH']}", "PYTHON": str(folder / "bin/python-of-a-job")}


def programs(place):
    """What can be ended here. `life`: seconds within which it is ended; `needs`: programs it has to find."""
    stub(place / "bin", "iperf3", "sockperf", "clush", "torchrun")
    untree(ROOT / "tests/machines/h100-cx7/gpu01.tree", place / "machine")
    pair = place / "pair.yaml"
    pair.write_text((ROOT / "examples/local-pair.yaml").read_text())
    alone = place / "alone.yaml"
    alone.write_text("railbed: 1\ncluster: alone\nfabric: ethernet\nnodes: [{name: here, local: true}]\nexpect: {gpus: 1}\n")
    scripts = place / "scripts"
    standing_in = copy_of_scripts(scripts)
    peers = {"PATH": f"{place}/bin:{os.environ['PATH']}"}
    asked_or_killed = tuple(way for way in WAYS if way != "worker")  # railbed is one process
    tests = ROOT / "tests"
    fake_gpu = pathlib.Path(RAILBED).parent / "src/bench/libfake_gpu.so"
    python = sys.executable
    found = [
        Program("peers/tcp", [PEERS / "tcp"], 6, ("sshd", "ip"), environment=peers),
        Program("peers/fleet", [PEERS / "fleet", "--nodes", "3"], 8, ("sshd", "ip"), environment=peers),
        Program("peers/bmc", [PEERS / "bmc", "--bmcs", "3", "--dead", "1"], 6, ("ipmi_sim", "ipmi-sensors")),
        Program("peers/fabric", [PEERS / "fabric", "--leaves", "2", "--hcas", "2", "--spines", "1"], 5, ("ibsim", "opensm", "ibnetdiscover")),
        Program("peers/monitor", [PEERS / "monitor"], 6, ("prometheus-node-exporter",)),
        Program("peers/storage", [PEERS / "storage", "--size", "64M", place / "storage"], 6, ("fio",)),
        Program("peers/thousand", [PEERS / "thousand", "--nodes", "12"], 5, (pathlib.Path(RAILBED).parent / "src/fleet/fleet_many_agents",)),
        Program("slurm_test", [python, tests / "slurm/slurm_test.py"], 12, ("slurmctld", "slurmd", "munged")),
        Program("smash_clp_test", [python, tests / "bmc/smash_clp_test.py"], 6, ("sshd",)),
        Program("probe_test", [python, tests / "monitor/probe_test.py"], 6, ("ip", "curl")),
        Program("watch_test", [python, tests / "fleet/watch_test.py"], 8, ("sshd", "ip")),
        Program("live_page_test", [python, tests / "browser/live_test.py"], 8, ("chromium",)),
        Program("dashboards_test", [python, tests / "monitor/dashboards_test.py"], 8, ("prometheus",)),
        Program("ranks_test", [python, tests / "ranks_test.py", fake_gpu], 5, ("mpirun.openmpi", fake_gpu)),
        Program("burn_test", [python, tests / "burn_test.py", fake_gpu], 6, (fake_gpu,)),
        Program("running_test", [python, tests / "running_test.py"], 5, ("gcc",)),
        *[Program(name, [scripts / name, *more], 3, environment=standing_in)
          for name, *more in (("quickstart",), ("check", "--all"), (".ci/run",), ("fuzz/run", scripts / "build/fuzz", MINUTE),
                              ("scripts/capture-running-job", place / "job"))],
        *[Program(f"railbed {' '.join(word for word in words[:2] if isinstance(word, str))}", [RAILBED, *words], life, needs, asked_or_killed, peers)
          for words, life, needs in (
              (("monitor", "--root", place / "machine", "--node", "gpu01", "--listen", "127.0.0.1:9885", "--state", place / "monitored"), 4, ()),
              (("watch", pair), 4, ()),
              (("bench", "tcp", "here", "there", "--cluster", pair, "--seconds", MINUTE, "--no-store"), 5, ()),
              (("bench", "storage", place / "storage", "--size", "64M", "--seconds", MINUTE, "--no-store"), 5, ("fio",)),
              (("prove", pair, "--seconds", "20", "-o", place / "report.html"), 6, ()),
              (("launch", "torchrun", alone, "--exec", "--", "train.py"), 4, ()),
              (("verify", pair, "--load"), 4, ()))],
    ]
    return found


def lab_programs(place):
    """The virtual machines of the lab, which take longer and a machine of their own."""
    return [Program("peers/rdma", [PEERS / "rdma"], 30, ("qemu-system-x86_64",)),
            Program("vms up", [ROOT / "tests/lab/vms", "up", "--fresh"], 25, ("qemu-system-x86_64",)),
            Program("vms_test", [sys.executable, ROOT / "tests/lab/vms_test.py"], 40, ("qemu-system-x86_64",))]


# ---- what is left

def below(ancestor):
    """{pid: (parent, words)} of all who descend from it and are no zombies."""
    parents, words = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (path / "stat").read_bytes().rsplit(b")", 1)[1].split()[:2]
            parents[int(path.name)] = int(parent)
            if state not in b"ZX":
                words[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:150]
    found, grown = {}, {ancestor}
    while grown:
        grown = {pid for pid, parent in parents.items() if parent in grown}
        found |= {pid: (parents[pid], words[pid]) for pid in grown if pid in words}
    return found


def reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class Traces:
    """What a program may leave on this machine."""

    def __init__(self, folders):
        self.folders = folders
        self.before = self.things()

    def things(self):
        found = {f"file {path}" for folder in self.folders if folder.exists() for path in folder.iterdir()}
        found |= {f"mount {line.split()[4]}" for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()}
        found |= {f"namespace {path.name}" for path in pathlib.Path("/run/netns").glob("*")}
        for kind in ("tcp", "tcp6"):
            rows = [line.split() for line in pathlib.Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
            found |= {f"listener {row[1]}" for row in rows if row[3] == "0A"}
        found |= {f"device {line.split(':')[0].strip()}" for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]}
        return found

    def left(self):
        reap()
        return sorted([f"process {pid}: {words}" for pid, (_, words) in below(os.getpid()).items()] + list(self.things() - self.before))

    def wait_until_gone(self, patience):
        """Waits until nothing is left. A process without words has given its memory back and is ending; on a busy machine that takes
        long."""
        end = time.monotonic() + patience
        while (left := self.left()) and time.monotonic() < end + (60 if all(thing.endswith(": ") for thing in left) else 0):
            time.sleep(0.1)
        return left


# ---- ending one

class Running:
    """A program with a session and, where it is to lose it, a terminal of its own."""

    def __init__(self, program, place, terminal, log):
        self.environment = {**os.environ, "TMPDIR": str(place / "tmp"), "HOME": str(place / "home"), "XDG_RUNTIME_DIR": str(place / "run"),
                            "XDG_STATE_HOME": str(place / "state"), "XDG_CACHE_HOME": str(place / "cache"), "RAILBED": RAILBED, **program.environment}
        self.environment.pop("RAILBED_GUARDED", None)
        self.environment.pop(INSIDE, None)
        self.ours = self.reader = None
        if terminal:
            self.ours, stream = pty.openpty()
        else:
            self.reader, stream = os.pipe()
        words = [str(word) for word in program.words]
        self.process = subprocess.Popen(words, cwd=place, env=self.environment, stdin=stream if terminal else subprocess.DEVNULL, stdout=stream,
                                        stderr=stream if terminal else log, start_new_session=True,
                                        preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if terminal else None)
        os.close(stream)
        os.set_blocking(self.ours if terminal else self.reader, False)

    def wait(self, seconds):
        """Whether it still runs then. Its output is read meanwhile."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            source = self.reader if self.ours is None else self.ours
            with contextlib.suppress(OSError):
                if source is not None:
                    os.read(source, 65536)
            if time.monotonic() > end:
                return True
            time.sleep(0.02)
        return False

    def worker(self):
        """The process that goes on with the program: the guardian's child (guardian.py)."""
        for pid, (parent, _) in below(os.getpid()).items():
            with contextlib.suppress(OSError):
                if parent == os.getpid() and pid != self.process.pid and pathlib.Path(f"/proc/{pid}/comm").read_bytes().strip() == guardian.NAME:
                    return next((child for child, (its, _) in below(pid).items() if its == pid), None)
        return None

    def close(self):
        for each in (self.ours, self.reader):
            if each is not None:
                os.close(each)
        self.ours = self.reader = None

    def end(self, way):
        """Returns how it was ended in the end."""
        if way == "terminal":
            self.close()
            return way
        if way == "reader":
            self.close()
            if self.wait(1):
                self.process.send_signal(signal.SIGTERM)
            return way
        if way == "worker":
            if (worker := self.worker()) is not None:
                os.kill(worker, signal.SIGKILL)
                return way
            way = "SIGKILL"
        self.process.send_signal(getattr(signal, way))
        return way


def end_once(program, place, traces, chance, patience, log):
    """(how it was ended, after how many seconds, what is left)"""
    way, moment = chance.choice(program.ways), chance.uniform(0, program.life)
    running = Running(program, place, way == "terminal", log)
    try:
        way = running.end(way) if running.wait(moment) else f"by itself ({running.process.returncode})"
        asked = way in ASKING
        if running.wait(PATIENCE):
            return way, moment, ["it does not end"]
        # Who is asked is gone only after all of its own.
        return way, moment, traces.left() if asked else traces.wait_until_gone(patience)
    finally:
        running.close()
        for pid in below(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while below(os.getpid()):
            reap()
            time.sleep(0.05)
        reap()


def found(needed):
    return needed.exists() if isinstance(needed, pathlib.Path) else shutil.which(needed, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def enter():
    """Runs this very program again with mounts and a network of its own; what others find in /var/tmp stays theirs."""
    if os.environ.get(INSIDE) is None:
        os.environ[INSIDE] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable, *sys.argv])
    run("ip", "link", "set", "lo", "up")
    for folder in ("/run/netns", "/var/tmp"):
        pathlib.Path(folder).mkdir(exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder)
    run("mount", "--make-shared", "/run/netns")  # as `ip netns add` makes it, so that the first does not count as one more


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options.add_argument("--patience", type=float, default=PATIENCE, help="seconds until nothing may be left (%(default)s)")
    options.add_argument("--only", default="", help="programs whose name holds this text")
    options.add_argument("--lab", action="store_true", help="the virtual machines of the lab, too")
    chosen = options.parse_args()
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("needs root, for mounts and a network of its own", file=sys.stderr)
        return 77
    enter()
    guardian.begin()
    ctypes.CDLL(None).prctl(guardian.PR_SET_CHILD_SUBREAPER, 1)
    print(f"seed {chosen.seed}", flush=True)
    chance = random.Random(chosen.seed)
    place = pathlib.Path(tempfile.mkdtemp())
    for name in ("tmp", "home", "run", "state", "cache", "storage", "log"):
        (place / name).mkdir(mode=0o700)
    (place / "tmp").chmod(0o1777)
    every = programs(place) + (lab_programs(place) if chosen.lab else [])
    every = [one for one in every if chosen.only in one.name]
    for one in every:
        if lacks := [str(needed) for needed in one.needs if not found(needed)]:
            print(f"{one.name}: no {', '.join(lacks)} here")
    every = [one for one in every if all(map(found, one.needs))]
    traces = Traces([place / "tmp", place / "storage", pathlib.Path("/var/tmp")])
    counts, faults = collections.Counter(), []
    for number in range(chosen.rounds):
        for program in every:
            with open(place / "log/last", "wb") as log:
                way, moment, left = end_once(program, place, traces, chance, chosen.patience, log)
            counts[way] += 1
            said = f"{program.name}: {way} after {moment:.2f} s"
            print(f"{said}: {'nothing left' if not left else left}", flush=True)
            if left:
                faults.append((said, left))
                traces.before = traces.things()  # what the next one leaves is its own
                print((place / "log/last").read_text(errors="replace")[-1500:], flush=True)
    print(f"{sum(counts.values())} ends of {len(every)} programs ({', '.join(f'{count} {way}' for way, count in sorted(counts.items()))}): "
          f"{len(faults)} left something")
    return 1 if faults or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
