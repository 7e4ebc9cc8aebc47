#!/usr/bin/env python3
"""What `railbed verify --prom --output FILE` writes passes promtool and reaches Prometheus through a real node_exporter's
textfile collector; no scrape ever sees half a file."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import guardian

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = os.environ["RAILBED"]
MACHINE = ROOT / "tests/machines/v100-40g-at-10g"
PATIENCE = 30


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def scrape(port):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def verify(file):
    words = [RAILBED, "verify", "--root", str(MACHINE), "--prom", "--output", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == "", (done.returncode, done.stdout, done.stderr)


def check(folder):
    file = folder / "railbed.prom"
    verify(file)
    assert file.stat().st_mode & 0o777 == 0o644, "node_exporter runs as another user"
    assert [one.name for one in folder.iterdir()] == ["railbed.prom"], "no temporary file stays"
    with open(file) as text:
        lint = subprocess.run(["promtool", "check", "metrics"], stdin=text, capture_output=True, text=True, timeout=60)
    assert lint.returncode == 0 and not lint.stderr + lint.stdout, lint.stderr + lint.stdout

    port = free_port()
    exporter = subprocess.Popen(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}",
                                 "--collector.disable-defaults", "--collector.textfile",
                                 f"--collector.textfile.directory={folder}"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        shown = scrape(port)
        wanted = [line for line in file.read_text().splitlines() if line.startswith("railbed_rule_status")]
        assert len(wanted) > 50, "the machine has many subjects"
        lines = set(shown.splitlines())
        missing = [line for line in wanted if line not in lines]
        assert not missing, missing[:3]
        assert "node_textfile_scrape_error 0" in lines
        for _ in range(20):  # while it is written again and again, each scrape has all of it
            writer = subprocess.Popen([RAILBED, "verify", "--root", str(MACHINE), "--prom", "--output", str(file)],
                                      stdout=subprocess.DEVNULL)
            found = scrape(port)
            writer.wait()
            assert found.count("railbed_rule_status{") == len(wanted) and "node_textfile_scrape_error 0" in found
    finally:
        exporter.terminate()
        exporter.wait()
    print(f"{len(wanted)} series went through promtool and node_exporter")


def main():
    for program in ("promtool", "prometheus-node-exporter"):
        if not shutil.which(program):
            print(f"{program} is not here: scripts/install-packages test", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        check(folder)
    return 0


if __name__ == "__main__":
    guardian.begin()
    sys.exit(main())
