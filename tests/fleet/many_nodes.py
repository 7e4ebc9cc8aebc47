"""Many nodes that are none: a program that stands in for ssh, srun or kubectl is each node's connection and agent at once, and
answers with facts of a composed machine of tests/machines, with names and addresses of its own. Slurm and Kubernetes say of the
dead ones that they are down.

    with ManyNodes(60, dead=3, hanging=3) as nodes:
        done = nodes.verify("--launcher", "slurm")
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MACHINE = ROOT / "tests/machines/h100-cx7"

# What stands in for programs that are asked about nodes: each line that they know, behind the nonce that its format begins with.
SINFO = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
exec sed "s/^/${2%%|*}|/" "$RAILBED_MANY/sinfo.txt"
"""
# Until the end of the input, which the command waits for.
SALLOC = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
SLURM_JOB_ID=1 exec "$@"
"""
KUBECTL = """#!/bin/sh
what=$1
kind=$2
if [ "$what" = exec ]; then
  while [ "$2" != -- ]; do shift; done
  exec ssh -- "$1" -
fi
while [ "$1" != -o ]; do shift; done
format=${2#*]\\}}
exec sed "s/^/${format%%|*}|/" "$RAILBED_MANY/$kind.txt"
"""


class Looked(typing.NamedTuple):
    printed: str
    code: int
    wall: float  # seconds
    seconds: float  # of a processor, of railbed alone
    seconds_all: float  # and of the stand-ins
    megabytes: float  # that the largest of them had at once, which is railbed


def tree_of(template, name, number):
    """The composed gpu01, with this name and the addresses of node `number`."""
    high, low = divmod(number, 256)
    text = template.replace("gpu01", name)
    for was, now in ((r"94:6d:ae:00:01:", f"94:6d:ae:{high:02x}:{low:02x}:"), (r"946d:ae03:0001:", f"946d:ae03:{number:04x}:"),
                     (r"aeff:fe00:01", f"aeff:fe{high:02x}:{low:02x}"), (r"(ffff:0a0\d):0001", rf"\1:{number:04x}"),
                     (r"02:00:00:02:00:01", f"02:00:00:02:{high:02x}:{low:02x}"), (r'"10\.(\d)\.0\.1","prefixlen":24', rf'"10.\1.{high}.{low}","prefixlen":16'),
                     (r'"192\.168\.0\.1"', f'"192.168.{high}.{low}"')):
        text = re.sub(was, now, text)
    return text


class ManyNodes:
    def __init__(self, count, dead=0, hanging=0, faults=()):
        """`faults`: (share of the nodes as 1 in N, text of a tree that is replaced, by what)."""
        self.names = [f"gpu{number:05}" for number in range(1, count + 1)]
        # Spread over the list, as they would be.
        sick = self.names[::max(1, count // max(1, dead + hanging))][:dead + hanging]
        self.hanging = sick[::max(1, len(sick) // hanging)][:hanging] if hanging else []
        self.dead = [name for name in sick if name not in self.hanging]
        self.faults = faults
        self.railbed = os.environ["RAILBED"]

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="railbed-many-"))
        self._stand_in()
        template = (MACHINE / "gpu01.tree").read_text()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda pair: self._make(template, *pair), enumerate(self.names, 1)))
        yaml = (MACHINE / "cluster.yaml").read_text()
        yaml = re.sub(r"nodes:\n(  - .*\n)+", f"nodes:\n  - gpu[{self.names[0][3:]}-{self.names[-1][3:]}]\n", yaml)
        yaml = re.sub(r"\.0\.0/24", ".0.0/16", yaml).replace("cluster: h100-pair", "cluster: many").replace("checkpoint_path: /scratch", "")
        (self.folder / "cluster.yaml").write_text(yaml)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def _stand_in(self):
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("ssh", "srun"):
            (programs / name).symlink_to(pathlib.Path(os.environ["FLEET_MANY_AGENTS"]).resolve(strict=True))
        for name, script in {"sinfo": SINFO, "salloc": SALLOC, "kubectl": KUBECTL}.items():
            (programs / name).write_text(script)
            (programs / name).chmod(0o755)
        down = set(self.dead)
        for what, line, line_of_dead in (
                ("sinfo", "{0}|idle|main*|none", "{0}|down*|main*|Not responding"),
                ("pods", *["{0}|{0}||agent||Running|True|||"] * 2),
                ("nodes", "{0}||True|kubelet is posting ready status", "{0}||Unknown|Kubelet stopped posting node status.")):
            lines = [(line_of_dead if name in down else line).format(name) + "\n" for name in self.names]
            (self.folder / f"{what}.txt").write_text("".join(lines))

    def _make(self, template, number, name):
        if name in self.dead:
            return
        if name in self.hanging:
            (self.folder / f"{name}.hangs").touch()
            return
        for every, was, now in self.faults:
            if number % every == 0:
                template = template.replace(was, now)
        tree = self.folder / f"{name}.tree"
        tree.write_text(tree_of(template, name, number))
        facts = subprocess.run([self.railbed, "facts", "--json", "--root", tree], check=True, capture_output=True).stdout
        (self.folder / f"{name}.json").write_bytes(facts)
        tree.unlink()

    def words(self, *more):
        return [self.railbed, "verify", str(self.folder / "cluster.yaml"), *more]

    def environment(self):
        return os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "RAILBED_MANY": str(self.folder)}

    def verify(self, *more):
        """What it printed and cost. Its stand-ins are children that it waits for, so `seconds_all` counts them, and `seconds` does
        not; it is taken a twentieth of a second before the end, at most."""
        began = time.monotonic()
        process = subprocess.Popen(self.words(*more), env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        own = [0.0]
        watcher = threading.Thread(target=watch, args=(process.pid, own))
        watcher.start()
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        took = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        watcher.join()
        return Looked(printed, process.returncode, took, own[0], used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def watch(pid, own):
    """The processor time of the process alone, as long as it is there."""
    while True:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return
        if fields[0] == "Z":
            return
        own[0] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        time.sleep(0.05)
