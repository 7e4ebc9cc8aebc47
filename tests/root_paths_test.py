#!/usr/bin/env python3
"""Root goes through the door (base/trusted_path.h) to whatever other users could have prepared.

Each command that may run as root runs twice under strace in a mount namespace with a /var/lib, /opt, /run, /tmp, /dev/shm, /root and
/home of its own. The first time those are clean, and the paths that railbed opens, writes, renames or runs there are collected. The
second time another user has put a link at each of them, to a folder of secrets. Then each call of railbed's own processes below those
folders must be of one name in a folder that is open already, without following a link; no descriptor may lead to the secrets, which stay
as they are; and nothing of them is printed. Needs root and strace; `-v` lists each call."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = str(pathlib.Path(os.environ["RAILBED"]).resolve())
STRANGER = 65534
WATCHED = ("/var/lib", "/opt", "/run", "/tmp", "/dev/shm", "/root", "/home")
SECRET = "S3CR3T-0f-r00t"
# Calls that look at what a path is and take nothing from it, and those that act on it.
LOOKS = {"access", "faccessat", "faccessat2", "stat", "lstat", "newfstatat", "statx", "readlink", "readlinkat", "statfs", "getcwd", "chdir",
         "getxattr", "lgetxattr", "listxattr", "llistxattr"}
PROBLEMS = "ENOENT", "ENOTDIR"

YAML = """railbed: 1
cluster: c
fabric: ethernet
nodes: [{name: good, local: true}]
rails: [{name: r, subnet: 127.0.0.0/8, interface: lo, first_address: 127.0.0.1}]
"""
# As root types them, or as a timer and a unit start them. {work} is root's folder, {theirs} one of another user's.
COMMANDS = {
    "facts": ["facts", "--json"],
    "verify": ["verify", "{work}/c.yaml"],
    "verify --prom": ["verify", "--prom", "--output", "{theirs}/railbed.prom"],
    "capture": ["capture", "--output", "{theirs}/m.tree"],
    "capture --force": ["capture", "--force", "--output", "{theirs}/forced.tree"],
    "report": ["report", "--root", "/", "--output", "{theirs}/page.html"],
    "init": ["init", "localhost", "--output", "{theirs}/new.yaml"],
    "render": ["render", "{work}/os.yaml", "--to", "{theirs}/rendered"],
    "plan": ["plan", "{work}/c.yaml"],
    "apply": ["apply", "{work}/c.yaml", "--only", "hosts", "--yes", "--timeout", "30"],
    "history": ["history", "{work}/c.yaml"],
    "rollback": ["rollback", "{work}/c.yaml", "--yes"],
    "fix": ["fix", "{work}/c.yaml", "--yes"],
    "recover": ["agent", "--recover", "all", "--booting"],
    "monitor --once": ["monitor", "--once"],
    "monitor": ["monitor", "--listen", "127.0.0.1:0"],
    "events": ["events"],
    "job begin": ["job", "begin", "--id", "1"],
    "job end": ["job", "end", "--id", "1"],
    "job show": ["job", "show"],
    "monitor files": ["monitor", "files", "{work}/c.yaml", "--output", "{theirs}/files"],
    "bench tcp": ["bench", "tcp", "localhost", "localhost", "--seconds", "0.2"],
    "bench storage": ["bench", "storage", "{theirs}", "--seconds", "1"],
    "runs": ["runs"],
    "prove": ["prove", "{work}/c.yaml", "--output", "{theirs}/proof.html"],
    "tour": ["tour", "{theirs}/tour"],
    "nccl": ["nccl", "--log", "{theirs}/nccl.log"],
    "check": ["check", "{theirs}/c.yaml"],
    "self-check": ["self-check"],
    "predict": ["predict", "--gpu", "H100", "--nic", "8x400ib"],
    "launch": ["launch", "torchrun", "{work}/os.yaml", "--no-look", "--", "train.py"],
    "hostkeys": ["hostkeys", "{work}/c.yaml"],
}


def is_roots(path):
    """Nobody but root can change it, or what is on the way there, and no link is on the way."""
    while True:
        status = os.lstat(path)
        if status.st_uid != 0 or status.st_mode & 0o22 and not status.st_mode & 0o1000 or os.path.islink(path):
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


class Trace:
    """What railbed's own processes did with paths below WATCHED."""

    def __init__(self, text):
        self.calls, self.led_to = [], []
        programs, pending = {}, {}
        for line in text.splitlines():
            match = re.match(r"(\d+) +(.*)", line)
            if not match:
                continue
            pid, rest = match[1], match[2]
            if rest.endswith("<unfinished ...>"):
                pending[pid] = rest[: -len("<unfinished ...>")]
                continue
            if (resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", rest)):
                rest = pending.pop(pid, "") + resumed[1]
            call = re.match(r"(\w+)\((.*)\) += (-?\d+)(.*)", rest)
            if not call:
                continue
            name, arguments, result, tail = call[1], call[2], int(call[3]), call[4]
            programs.setdefault(pid, "railbed" if not programs else "?")
            if name in ("clone", "clone3", "fork", "vfork") and result > 0:
                programs[str(result)] = programs[pid]
                continue
            own = programs[pid] == "railbed"
            if name in ("execve", "execveat") and result == 0:
                path = (re.search(r'"((?:[^"\\]|\\.)*)"', arguments) or [None, ""])[1]
                program = "railbed" if os.path.basename(path).startswith("railbed") or path == "/proc/self/exe" else path
                programs[pid] = program
                if program != "railbed" and not own:
                    continue
            if own or name in ("execve", "execveat"):
                self.add(name, arguments, result, tail)

    def add(self, name, arguments, result, tail):
        if (fd := re.match(r"<(/[^>]*)>", tail)) and result >= 0:
            self.led_to.append((name, fd[1]))
        if name in LOOKS or "O_PATH" in arguments and "O_NOFOLLOW" in arguments:
            return
        if result < 0 and any(problem in tail for problem in PROBLEMS):
            return
        if name.startswith("exec"):
            # A program is run by its path: all that is on the way is root's (checked by the bootstrap script, or it is this very program).
            path = re.search(r'"((?:[^"\\]|\\.)*)"', arguments)[1]
            if path.startswith(tuple(one + "/" for one in WATCHED)):
                self.calls.append((name, path, is_roots(path), path))
            return
        for folder, text in re.findall(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"', arguments):
            path = os.path.join(folder or "/", text)
            if not path.startswith(tuple(one + "/" for one in WATCHED)):
                continue
            by_door = bool(folder) and "/" not in text and text not in ("", "..") and (
                not name.startswith("open") or "O_NOFOLLOW" in arguments or text == ".")
            self.calls.append((name, os.path.normpath(path), by_door, arguments[:160]))


def run(name, folder, seconds=60):
    words = [word.format(work="/root/settings", theirs="/var/lib/theirs") for word in COMMANDS[name]]
    trace = folder / "trace"
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", "LD_BIND_NOW": "1"}
    began = subprocess.Popen(["strace", "-f", "-qq", "-y", "-s", "4096", "-e", "trace=%file,clone,clone3,fork,vfork", "-o", str(trace), RAILBED,
                              *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/",
                             env=environment, start_new_session=True)
    if name == "monitor":
        time.sleep(8)
        os.killpg(began.pid, signal.SIGTERM)
    try:
        output = began.communicate(timeout=seconds)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(began.pid, signal.SIGKILL)
        output = began.communicate()[0].decode(errors="replace")
        print(f"{name}: did not end in {seconds} s")
    return began.returncode, output, Trace(trace.read_text(errors="replace"))


def fresh():
    """Clean folders, and what the commands need."""
    for folder in WATCHED:
        for one in pathlib.Path(folder).iterdir():
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
    os.makedirs("/root/settings")
    pathlib.Path("/root/settings/c.yaml").write_text(YAML)
    pathlib.Path("/root/settings/os.yaml").write_text(YAML + "expect: {os: ubuntu 24.04, gpus: 8}\n")
    os.makedirs("/var/lib/theirs")
    pathlib.Path("/var/lib/theirs/nccl.log").write_text("n1:1:1 [0] NCCL INFO NCCL version 2.21.5\n")
    pathlib.Path("/var/lib/theirs/c.yaml").write_text(YAML)
    for path in ("/var/lib/theirs", "/var/lib/theirs/nccl.log", "/var/lib/theirs/c.yaml"):
        shutil.chown(path, STRANGER, STRANGER)


def plant(paths):
    """A link of another user's at each path; the folders on its way are root's where root's own are. Those that cannot be planted,
    because a folder on the way is a link by now, are reached through that."""
    planted = 0
    for path in sorted(paths, key=len):
        if path.startswith("/root/settings") or os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path) and not os.path.isdir(path):
            os.unlink(path)
        if os.path.lexists(path):
            continue
        os.symlink("/mnt/secret" + ("/file" if "." in os.path.basename(path) else ""), path)
        os.lchown(path, STRANGER, STRANGER)
        planted += 1
    return planted


def secrets():
    return {str(path): (path.lstat().st_ino, path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
            for path in pathlib.Path("/mnt/secret").rglob("*")}


def main():
    verbose = os.environ.get("VERBOSE") == "1"
    folder = pathlib.Path("/mnt")
    (folder / "secret").mkdir()
    for name in ("file", "runs.sqlite", "journal"):
        (folder / "secret" / name).write_text(SECRET + "\n")
    kept, found, paths, doors, all_calls, tried = secrets(), [], set(), 0, 0, 0
    for turn in ("clean", "hostile"):
        for name in COMMANDS:
            fresh()
            planted = plant(paths) if turn == "hostile" else 0
            code, output, trace = run(name, folder)
            if code == 64 and turn == "clean" and name not in ("rollback", "hostkeys"):  # nothing was applied there; no ssh is asked
                found.append(f"{name}: {output[:300]}")
            if code not in (0, 1, 2, 3, 64, -15, 143):
                found.append(f"{turn}: {name} ended with {code}: {output[-300:]}")
            if SECRET in output:
                found.append(f"{turn}: {name} prints a secret")
            found += [f"{turn}: {name}: {call} leads to {to}" for call, to in trace.led_to if to.startswith("/mnt/secret")]
            found += [f"{turn}: {name}: not by the door: {call}({arguments})" for call, _, door, arguments in trace.calls if not door]
            if turn == "clean":
                paths |= {path for _, path, _, _ in trace.calls}
            tried += planted
            all_calls += len(trace.calls)
            doors += sum(door for _, _, door, _ in trace.calls)
            if verbose:
                print(f"{turn}: {name}: exit {code}, {len(trace.calls)} calls, {planted} links")
            if secrets() != kept:
                found.append(f"{turn}: {name} changed the secrets")
                kept = secrets()
    print("\n".join(dict.fromkeys(found)) if not verbose else "\n".join(found))
    print(f"{len(COMMANDS)} commands, {len(paths)} paths, {tried} links planted, {all_calls} calls, {doors} of them by the door")
    return 1 if found or all_calls < 100 or tried < 20 else 0


if __name__ == "__main__":
    if "INSIDE" in os.environ:
        sys.exit(main())
    if os.geteuid() != 0 or not shutil.which("strace"):
        print("skipped: needs root and strace")
        sys.exit(77)
    # The program itself may be below one of the folders that are replaced.
    script = ("mount --make-rprivate / && mount -t tmpfs -o mode=755 none /mnt && mkdir /mnt/bin && cp \"$RAILBED\" /mnt/bin/railbed && "
              "cp \"$0\" /mnt/bin/test.py && mkdir /mnt/etc && cp -a /etc/. /mnt/etc && mount --bind /mnt/etc /etc && "
              "for one in /var/lib /opt /run /root /home; do mount -t tmpfs -o mode=755 none $one; done && "
              "for one in /tmp /dev/shm; do mount -t tmpfs -o mode=1777 none $one; done || exit 77; "
              "RAILBED=/mnt/bin/railbed exec \"$1\" /mnt/bin/test.py")
    python = os.path.realpath(sys.executable)
    if python.startswith(WATCHED):
        python = shutil.which("python3", path="/usr/bin:/bin") or python
    done = subprocess.run(["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "--", "sh", "-c", script, os.path.abspath(__file__), python],
                          env=os.environ | {"INSIDE": "1", "VERBOSE": "1" if "-v" in sys.argv else ""})
    sys.exit(done.returncode)
