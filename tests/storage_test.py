#!/usr/bin/env python3
"""However `railbed bench storage` ends, its files do not stay: Ctrl-C, SIGTERM, SIGKILL of railbed, of its agent and of
fio. Skips itself without fio."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import guardian

RAILBED = os.environ["RAILBED"]
PATIENCE = 60  # seconds: a limit, not an expectation


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


def start(folder, seconds):
    return subprocess.Popen([RAILBED, "bench", "storage", folder, "--size", "64M", "--seconds", str(seconds), "--json",
                             "--store", f"{folder}.sqlite"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def written(folder):
    return [file for file in pathlib.Path(folder).glob("railbed-storage-*/data.0") if file.stat().st_size > 0]


def processes(word, parent=None):
    """Ids of processes one of whose arguments holds `word`."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes()
            status = (entry / "stat").read_text()
        except OSError:
            continue
        if word.encode() in arguments and parent in (None, int(status.rpartition(")")[2].split()[1])):
            found.append(int(entry.name))
    return found


def fio_on(folder):
    """fio gets its folder by a descriptor of the agent's (/proc/PID/fd/N/.)."""
    found = []
    for pid in processes("--directory="):
        try:
            words = (pathlib.Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
            there = next(word for word in words if word.startswith(b"--directory=")).removeprefix(b"--directory=").decode()
            if os.path.realpath(there).startswith(os.path.realpath(folder)):
                found.append(pid)
        except OSError:
            pass
    return found


def interrupted(folder, number):
    railbed = start(folder, 600)
    wait_for("fio writes", lambda: written(folder))
    railbed.send_signal(number)
    railbed.communicate(timeout=PATIENCE)
    assert railbed.returncode == 3, railbed.returncode
    assert not os.listdir(folder), os.listdir(folder)
    wait_for("fio is gone", lambda: not fio_on(folder))


def railbed_killed(folder):
    railbed = start(folder, 600)
    wait_for("fio writes", lambda: written(folder))
    railbed.kill()
    railbed.communicate(timeout=PATIENCE)
    wait_for("the agent removes its files", lambda: not os.listdir(folder))
    wait_for("fio is gone", lambda: not fio_on(folder))


def fio_killed(folder):
    railbed = start(folder, 600)
    wait_for("fio writes", lambda: written(folder))
    for pid in fio_on(folder):
        os.kill(pid, signal.SIGKILL)
    out, _ = railbed.communicate(timeout=PATIENCE)
    assert railbed.returncode == 2, railbed.returncode
    run = json.loads(out)["places"][0]["answer"]["runs"][0]
    assert "was killed" in run["failure"]["cause"], run
    assert not os.listdir(folder), os.listdir(folder)


def agent_killed_and_swept(folder):
    railbed = start(folder, 600)
    wait_for("fio writes", lambda: written(folder))
    agents = processes("agent", parent=railbed.pid)
    assert agents, "no agent"
    orphans = fio_on(folder)
    for pid in agents + orphans:
        os.kill(pid, signal.SIGKILL)
    out, _ = railbed.communicate(timeout=PATIENCE)
    assert railbed.returncode == 2, railbed.returncode
    assert "agent" in json.loads(out)["places"][0]["answer"]["failure"]["cause"], out
    left = os.listdir(folder)
    assert len(left) == 1, left
    again = start(folder, 0.2)
    out, error = again.communicate(timeout=PATIENCE * 2)
    assert again.returncode == 0, (again.returncode, error)
    answer = json.loads(out)["places"][0]["answer"]
    assert answer["swept"] == left, answer["swept"]
    assert len(answer["runs"]) == 8
    assert all(run["result"]["bytes_per_second"] > 0 for run in answer["runs"])
    assert not os.listdir(folder), os.listdir(folder)


def main():
    if not shutil.which("fio"):
        print("skipped: no fio here")
        return 77
    cases = [("Ctrl-C", lambda folder: interrupted(folder, signal.SIGINT)),
             ("SIGTERM", lambda folder: interrupted(folder, signal.SIGTERM)),
             ("railbed killed", railbed_killed), ("fio killed", fio_killed),
             ("agent killed, then swept", agent_killed_and_swept)]
    for name, case in cases:
        folder = guardian.make_folder("railbed-storage-", "/var/tmp") / "target"  # /tmp may be in memory
        folder.mkdir()
        case(str(folder))
        print(f"ok: {name}")
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
