#!/usr/bin/env python3
"""railbed bench tcp between two nodes in network namespaces, broken on the way: each run ends by itself, names the
cause and leaves no agent behind. RAILBED names the binary. The rail is a link of its own: ssh goes on."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
# Until a broken run must have ended. Some seconds are expected; the machine may be busy.
PATIENCE = 90
REASON = missing()


@unittest.skipIf(REASON, f"bench faults: {REASON}")
class BenchFaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({"a": {}, "b": {}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.join("a", "b")
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(
            f"railbed: 1\ncluster: faults\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
            "nodes:\n  - {name: a, ssh: a}\n  - {name: b, ssh: b}\n"
            "rails:\n  - {name: rail0, mtu: 1500, subnet: 10.88.0.0/24, interface: rail, first_address: 10.88.0.1}\n")

    def tearDown(self):
        for name in "ab":
            for pid in self.fleet.agents(name):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(self.fleet.on("b", ["ip", "link", "set", "rail", "up"]), check=True)

    def on(self, name, script):
        subprocess.run(self.fleet.on(name, ["sh", "-c", script]), check=True)

    def start(self, *words):
        run = subprocess.Popen(
            self.fleet.inside([self.railbed, "bench", "tcp", "a", "b", "--cluster", str(self.cluster), "--json",
                               "--no-store", *words]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def result(self, run):
        out, err = run.communicate(timeout=PATIENCE)
        self.assertIn(run.returncode, (0, 2), err)
        measurements = json.loads(out)["measurements"]
        self.assertEqual(len(measurements), 1, measurements)
        return run.returncode, measurements[0]

    def broken_by(self, breaking, *words):
        run = self.start("--seconds", "600", *words)
        for line in run.stderr:
            if line.startswith("tcp "):
                break
        else:
            self.fail("ended before it measured")
        time.sleep(1.5)  # set-up is over and data is under way, or nearly: both must end well
        breaking()
        code, measurement = self.result(run)
        self.assertEqual(code, 2)
        failure = measurement["failure"]
        print(f"{self.id().split('.')[-1]}: {failure['cause']}", flush=True)
        self.assertTrue(failure["remedy"], failure)
        return failure["cause"]

    def test_a_ladder_over_tcp_alone(self):
        picture = self.fleet.lab / "ladder.svg"
        run = subprocess.run(
            self.fleet.inside([self.railbed, "bench", "ladder", "a", "b", "--cluster", str(self.cluster), "--json",
                               "--seconds", "0.5", "--repeat", "2", "--svg", str(picture), "--store",
                               str(self.fleet.lab / "runs.db")]),
            capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, run.stderr)
        (ladder,) = json.loads(run.stdout)["ladders"]
        self.assertEqual((ladder["a"], ladder["b"], ladder["rail"], ladder["loser"]), ("a", "b", "rail0", -1))
        tcp, *others = ladder["rungs"]
        self.assertGreater(tcp["measurement"]["summary"]["median"], 0)
        self.assertTrue(tcp["measurement"]["ceiling"]["nominal"])
        self.assertIsNone(tcp["share"])
        self.assertEqual([(rung["kind"], rung["measurement"]) for rung in others],
                         [("rdma-cm", None), ("rdma", None), ("rdma-gpu", None), ("nccl", None)])
        for rung in others:
            self.assertRegex(rung["not_climbed"], "RDMA|GPU")
        self.assertIn("<svg", picture.read_text())
        kept = subprocess.run([self.railbed, "runs", "export", "last", "--store", str(self.fleet.lab / "runs.db")],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(kept.returncode, 0, kept.stderr)
        self.assertEqual(json.loads(kept.stdout)["command"],
                         f"bench ladder a b --cluster {self.cluster} --seconds 0.5 --repeat 2")
        self.assertEqual(len(json.loads(kept.stdout)["measurements"]), 2)

    def signal_agent(self, name, number):
        agents = self.fleet.agents(name)
        self.assertTrue(agents, f"no agent on {name}")
        for pid in agents:
            os.kill(pid, number)

    def assert_no_agents(self, name):
        until = time.monotonic() + PATIENCE
        while self.fleet.agents(name):
            self.assertLess(time.monotonic(), until, f"an agent was left on {name}")
            time.sleep(0.1)

    def test_receiver_killed(self):
        cause = self.broken_by(lambda: self.signal_agent("b", signal.SIGKILL), "--bandwidth-only")
        self.assertIn("the agent on b", cause)
        self.assert_no_agents("a")

    def test_sender_killed_while_pinging(self):
        cause = self.broken_by(lambda: self.signal_agent("a", signal.SIGKILL), "--latency-only")
        self.assertIn("the agent on a", cause)
        self.assert_no_agents("b")

    def test_receiver_stopped(self):
        cause = self.broken_by(lambda: self.signal_agent("b", signal.SIGSTOP), "--bandwidth-only")
        self.assertIn("b stopped reading", cause)
        self.assert_no_agents("a")
        self.signal_agent("b", signal.SIGCONT)  # stopped it can do nothing, and then it must
        self.assert_no_agents("b")

    def test_link_cut(self):
        down = ["ip", "link", "set", "rail", "down"]
        cause = self.broken_by(lambda: subprocess.run(self.fleet.on("b", down), check=True), "--bandwidth-only")
        self.assertIn("b: rail is down", cause)
        self.assert_no_agents("a")
        self.assert_no_agents("b")

    def test_a_link_just_come_up(self):
        """What connects while a search for the neighbour is going on is refused with it, even if the neighbour would
        answer by then. Here the search asks once, before b answers, and takes four seconds to fail."""
        searches = "/proc/sys/net/ipv4/neigh/rail"
        self.on("a", f"echo 1 > {searches}/mcast_solicit; echo 4000 > {searches}/retrans_time_ms")
        self.addCleanup(self.on, "a", f"echo 3 > {searches}/mcast_solicit; echo 1000 > {searches}/retrans_time_ms")
        self.on("b", "ip link set rail arp off")
        self.on("a", "ip neighbour flush dev rail; ip neighbour replace 10.88.0.2 dev rail use")
        self.on("b", "ip link set rail arp on")
        code, measurement = self.result(self.start("--seconds", "0.5", "--bandwidth-only"))
        self.assertEqual(code, 0, measurement)

    def test_one_per_cent_loss_is_counted_and_ends_nothing(self):
        loss = ["INPUT", "-i", "rail", "-m", "statistic", "--mode", "random", "--probability", "0.01", "-j", "DROP"]
        try:
            made = subprocess.run(self.fleet.on("b", ["iptables", "-A", *loss]), capture_output=True, text=True)
        except OSError as error:
            self.skipTest(str(error))
        if made.returncode:
            self.skipTest(f"no random loss here: {made.stderr.strip()}")
        try:
            code, measurement = self.result(self.start("--seconds", "2", "--bandwidth-only"))
        finally:
            subprocess.run(self.fleet.on("b", ["iptables", "-D", *loss]), check=True)
        self.assertEqual(code, 0, measurement)
        self.assertGreater(measurement["lost"], 0)
        self.assertEqual(measurement["wrong_bytes"], 0)
        self.assert_no_agents("b")


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
