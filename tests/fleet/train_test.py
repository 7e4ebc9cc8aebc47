#!/usr/bin/env python3
"""`railbed bench train` and `bench storage` over several nodes: healthy, and with nodes that die in the middle."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
NAMES = ["gpu01", "gpu02", "gpu03", "gpu04"]
PATIENCE = 120  # seconds: a limit, not an expectation
REASON = missing()


@unittest.skipIf(REASON, f"sshd fleet: {REASON}")
class TrainTest(unittest.TestCase):
    def setUp(self):
        self.fleet = SshdFleet({name: {} for name in NAMES})
        self.fleet.__enter__()
        self.addCleanup(self.fleet.__exit__)
        self.railbed = str(self.fleet.lab / "railbed")
        shutil.copy(RAILBED, self.railbed)
        subprocess.run(["strip", self.railbed], check=True)
        ports = ", ".join(f"{name}: {{interface: eth0, address: {self.fleet.address(name)}}}" for name in NAMES)
        nodes = ", ".join(f"{{name: {name}, ssh: {name}}}" for name in NAMES)
        self.cluster = self.fleet.lab / "cluster.yaml"
        self.cluster.write_text(f"railbed: 1\ncluster: pod\nfabric: ethernet\nssh: {{config: {self.fleet.ssh_config}}}\n"
                                f"nodes: [{nodes}]\n"
                                f"rails: [{{name: rail0, mtu: 1500, subnet: 10.77.0.0/24, ports: {{{ports}}}}}]\n")

    def bench(self, *words):
        return self.fleet.inside([self.railbed, "bench", *words, "--json", "--no-store"])

    def train(self, *words):
        return self.bench("train", str(self.cluster), "--model", "resnet50", *words)

    def end(self, process):
        out, error = process.communicate(timeout=PATIENCE)
        return process.returncode, json.loads(out) if out else None, error

    def start(self, *words):
        return subprocess.Popen(self.train(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def await_rehearsal(self, process):
        """Reads stderr until the ring is being asked for, then lets it run for a moment."""
        for line in process.stderr:
            if line.startswith("rehearsing"):
                break
        threading.Thread(target=process.stderr.read, daemon=True).start()
        time.sleep(3)

    def cause_after(self, trouble):
        process = self.start("--step-time", "1000", "--seconds", "600")
        self.await_rehearsal(process)
        trouble()
        process.wait(timeout=PATIENCE)
        self.assertEqual(process.returncode, 2)
        return json.loads(process.stdout.read())["reports"][0]["failure"]["cause"]

    def test_four_nodes_sum_exactly(self):
        code, output, error = self.end(self.start("--step-time", "100", "--seconds", "2"))
        self.assertEqual(code, 0, error)
        report = output["reports"][0]
        self.assertEqual(report["nodes"], NAMES)
        self.assertEqual(report["gradient_bytes"], 25557032 * 4)
        self.assertEqual(report["wrong_bytes"], 0)
        self.assertGreater(report["checked_bytes"], 0)
        self.assertGreaterEqual(report["step"]["median"], report["compute"]["median"] * 0.99)
        self.assertGreaterEqual(report["compute"]["median"], 0.1)

    def test_a_node_that_dies_is_named(self):
        self.assertIn("gpu03", self.cause_after(lambda: self.fleet.processes["gpu03"].kill()))

    def test_a_link_that_is_cut_is_named(self):
        # Both neighbours of the cut see it; whoever speaks first names the node behind it, or is it.
        self.assertRegex(self.cause_after(lambda: self.fleet.unplug("gpu02")), "gpu0[123]")

    def test_storage_on_every_node_but_the_dead_one(self):
        if not shutil.which("fio"):
            self.skipTest("no fio here")
        self.fleet.processes["gpu04"].kill()
        done = subprocess.run(self.bench("storage", str(self.cluster), "--dir", "/tmp", "--size", "64M", "--seconds",
                                         "0.2"), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("left out: gpu04", done.stderr)
        places = json.loads(done.stdout)["places"]
        self.assertEqual([place["node"] for place in places], NAMES[:3])
        for place in places:
            self.assertTrue(all(run["result"] for run in place["answer"]["runs"]), place)


if __name__ == "__main__":
    guardian.begin()
    unittest.main()
