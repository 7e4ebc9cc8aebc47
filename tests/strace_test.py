#!/usr/bin/env python3
"""Looking changes nothing: under strace, `railbed verify` of this machine opens nothing for writing, creates, removes,
renames and changes nothing, and writes only to its own output and to pipes and sockets of its own children."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import guardian

RAILBED = str(pathlib.Path(os.environ["RAILBED"]).resolve())
# strace's %file is every call that takes a file name; these act on descriptors besides.
CALLS = "%file,write,writev,pwrite64,pwritev,pwritev2,ftruncate,fchmod,fchown,fallocate,fsetxattr,fremovexattr,sendfile,splice"
LOOKS = {"access", "chdir", "execve", "execveat", "faccessat", "faccessat2", "fstatat64", "getcwd", "getxattr", "lgetxattr",
         "listxattr", "lstat", "newfstatat", "open", "openat", "openat2", "readlink", "readlinkat", "stat", "statfs", "statx"}
WRITES = {"write", "writev", "pwrite64", "pwritev", "pwritev2", "sendfile", "splice"}
# Devices that are opened to be asked, never to be changed: opening them for reading and writing is the only way to ask.
ASKED = re.compile(r'"/dev/(null|nvidia[^"]*|infiniband/uverbs\d+)"')


def complaints(trace, own):
    """What of the trace is no mere look. `own`: paths that are the run's own output."""
    for line in trace.splitlines():
        match = re.match(r"\d+ +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)", line)
        if not match:
            continue  # signals and exits
        call, rest = match.groups()
        if "resumed>" in line:
            continue  # judged where it began
        if call in WRITES:
            target = re.match(r"\d+<(.*?)>[,)]?", rest)
            to = target[1] if target else rest
            if not (to.startswith(("pipe:", "socket:", "UNIX", "unix:", "anon_inode:", "/dev/null")) or to in own):
                yield line
        elif call in ("open", "openat", "openat2"):
            if re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)", rest) and not ASKED.search(rest):
                yield line
        elif call not in LOOKS:
            yield line


def trace_of(folder, *words):
    trace, output = folder / "trace", folder / "output"
    with open(output, "wb") as out:
        done = subprocess.run(["strace", "-f", "-qq", "-y", "-s", "300", "-e", f"trace={CALLS}", "-o", str(trace), *words],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=120, cwd=folder)
    return done.returncode, trace.read_text(errors="replace"), {str(output)}


def main():
    if not shutil.which("strace"):
        print("strace is not here: scripts/install-packages test", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(os.path.realpath(name))
        code, trace, own = trace_of(folder, RAILBED, "verify", "--all")
        if code not in (0, 1, 2, 3) or "/proc/cpuinfo" not in trace or "execve" not in trace:
            print(f"railbed ended with {code}; {len(trace)} bytes of trace show no look at this machine", file=sys.stderr)
            return 1
        found = list(complaints(trace, own))
        # The test can fail: each of these changes something.
        for changes in ("touch thing", "mkdir new", "mv thing old", "rm thing", "chmod 600 thing", "echo x >> thing"):
            (folder / "thing").touch()
            _, bad, _ = trace_of(folder, "sh", "-c", changes)
            if not list(complaints(bad, set())):
                found.append(f"this test does not notice: {changes}")
    print("\n".join(found[:20]) if found else f"{trace.count(chr(10))} calls, and none that changes anything")
    return 1 if found else 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
