#!/usr/bin/env python3
"""A number of a rail that something else used meanwhile, between two nodes in network namespaces: the other stream is
told beside it, with no more bytes than it moved; without one nothing is told. RAILBED names the binary."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
PATIENCE = 120
REASON = missing() or (None if shutil.which("tc", path=os.environ["PATH"] + ":/usr/sbin:/sbin") else "needs tc")
SINK = ("import socket; s = socket.create_server(('10.88.0.2', 9)); print('listening', flush=True)\n"
        "c, _ = s.accept()\nwhile c.recv(1 << 16): pass")
# Sends until its input ends, then prints how many bytes it sent.
SOURCE = ("import socket, select, sys\ns = socket.create_connection(('10.88.0.2', 9)); n = 0\n"
          "while not select.select([sys.stdin], [], [], 0)[0]: n += s.send(bytes(1 << 14))\nprint(n)")


@unittest.skipIf(REASON, f"other traffic: {REASON}")
class OtherTrafficTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = SshdFleet({"a": {}, "b": {}})
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.fleet.join("a", "b")
        # Far below what the processors carry: the two streams share it.
        for node in ("a", "b"):
            subprocess.run(cls.fleet.on(node, "tc qdisc add dev rail root tbf rate 200mbit burst 64k latency 50ms".split()),
                           check=True)
        cls.railbed = str(cls.fleet.lab / "railbed")
        shutil.copy(RAILBED, cls.railbed)
        subprocess.run(["strip", cls.railbed], check=True)
        cls.cluster = cls.fleet.lab / "cluster.yaml"
        cls.cluster.write_text(
            f"railbed: 1\ncluster: shared\nfabric: ethernet\nssh:\n  config: {cls.fleet.ssh_config}\n"
            "nodes:\n  - {name: a, ssh: a}\n  - {name: b, ssh: b}\n"
            "rails:\n  - {name: rail0, mtu: 1500, subnet: 10.88.0.0/24, interface: rail, first_address: 10.88.0.1}\n")

    def bench(self, *words):
        return subprocess.run(self.fleet.inside([self.railbed, "bench", "tcp", "a", "b", "--cluster", str(self.cluster),
                                                 "--no-store", "--bandwidth-only", "--seconds", "2", *words]),
                              capture_output=True, text=True, timeout=PATIENCE)

    def measured(self, *words):
        run = self.bench("--json", *words)
        self.assertEqual(run.returncode, 0, run.stderr)
        (one,) = json.loads(run.stdout)["measurements"]
        self.assertIsNone(one["failure"])
        return one

    def beside_a_stream(self, work):
        """What the work returns, and the bytes that the stream moved meanwhile, and before and after it."""
        sink = subprocess.Popen(self.fleet.on("b", [sys.executable, "-c", SINK]), stdout=subprocess.PIPE, text=True)
        self.addCleanup(sink.wait)
        self.addCleanup(sink.kill)
        self.addCleanup(sink.stdout.close)
        self.assertEqual(sink.stdout.readline(), "listening\n")
        source = subprocess.Popen(self.fleet.on("a", [sys.executable, "-c", SOURCE]), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(source.wait)
        self.addCleanup(source.kill)
        result = work()
        moved, _ = source.communicate(timeout=PATIENCE)
        return result, int(moved)

    def test_without_another_stream_nothing_is_told(self):
        one = self.measured()
        own = one["summary"]["mean"] * one["seconds"] / 8
        for end in "from", "to":
            other = one[end]["other_traffic"]
            self.assertLess(other["sent"] + other["received"], own / 100, one)
        self.assertNotIn("other traffic", self.bench().stdout)

    def test_another_stream_is_told_with_no_more_than_it_moved(self):
        one, moved = self.beside_a_stream(self.measured)
        own = one["summary"]["mean"] * one["seconds"] / 8
        for end, way, back in ("from", "sent", "received"), ("to", "received", "sent"):
            other = one[end]["other_traffic"]
            self.assertGreater(other[way], own / 20, one)
            self.assertLess(other[way], 1.1 * moved, (one, moved))  # its headers are other traffic, too
            self.assertLess(other[back], other[way] / 4, one)  # acknowledgments
        text, _ = self.beside_a_stream(self.bench)
        self.assertRegex(text.stdout, r"B of other traffic, .*b/s, crossed a rail meanwhile")
        self.assertRegex(text.stdout, r"B of other traffic, .*b/s, crossed b rail meanwhile")

    def test_a_stream_the_other_way_is_told_as_such(self):
        one, _ = self.beside_a_stream(lambda: self.bench("--json", "--both-ways"))
        self.assertEqual(one.returncode, 0, one.stderr)
        forth, back = json.loads(one.stdout)["measurements"]
        self.assertEqual((back["from"]["node"], back["to"]["node"]), ("b", "a"))
        self.assertGreater(back["from"]["other_traffic"]["received"], back["from"]["other_traffic"]["sent"])
        self.assertGreater(forth["from"]["other_traffic"]["sent"], forth["from"]["other_traffic"]["received"])


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
