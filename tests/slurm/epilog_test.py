#!/usr/bin/env python3
"""The Epilog of docs/how-to/slurm.md, as it stands there, beside a running monitor: on a sound node it looks no further, on a sick one it
has the node looked at, and without a monitor it lets the node be. It never fails. A stand-in takes the place of `verify --slurm`."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
PAGE = ROOT / "docs/how-to/slurm.md"
PATIENCE = 60


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def epilog(folder, port):
    text = re.search(r"^#!/bin/sh\n# /etc/slurm/railbed-epilog\n.*?(?=^```)", PAGE.read_text(), re.M | re.S)[0]
    assert "127.0.0.1:9885" in text and "/usr/local/bin/railbed" in text
    stand_in = folder / "railbed"
    stand_in.write_text(f'#!/bin/sh\necho "$@" >> {folder}/called\nexit 2\n')
    stand_in.chmod(0o755)
    script = folder / "epilog"
    script.write_text(text.replace("127.0.0.1:9885", f"127.0.0.1:{port}").replace("/usr/local/bin/railbed", str(stand_in)))
    script.chmod(0o755)
    return script


def run(folder, port):
    """What the stand-in was asked, and how long the Epilog took."""
    script = epilog(folder, port)
    began = time.monotonic()
    done = subprocess.run([script], timeout=PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took = time.monotonic() - began
    assert done.returncode == 0, done
    called = folder / "called"
    return called.read_text() if called.exists() else "", took


def beside_monitor(machine):
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        place = ROOT / "tests/machines" / machine
        process = subprocess.Popen([RAILBED, "monitor", place / "cluster.yaml", "--root", place / "gpu01.tree", "--node", "gpu01", "--listen",
                                    f"127.0.0.1:{port}", "--state", folder / "state"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
                        if b"railbed_look_success 1" in answer.read():
                            break
                except OSError:
                    pass
                assert time.monotonic() < end
                time.sleep(0.1)
            return run(folder, port)
        finally:
            process.kill()
            process.wait()


def main():
    if not shutil.which("curl"):
        print("curl is not here", file=sys.stderr)
        return 77
    asked, took = beside_monitor("h100-cx7")
    assert asked == "", asked
    print(f"a sound node: {took * 1000:.0f} ms")
    asked, _ = beside_monitor("h100-cable-unplugged")
    assert asked == "verify --slurm\n", asked
    with tempfile.TemporaryDirectory() as name:
        asked, _ = run(pathlib.Path(name), free_port())
        assert asked == "", asked
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
