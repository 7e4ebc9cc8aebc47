#!/usr/bin/env python3
"""railbed init where no fast port has an address: which port is cabled to which, by links between namespaces (sshd_fleet.py)
that are named like ports. RAILBED names the program.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from sshd_fleet import SshdFleet, missing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ["RAILBED"]
REASON = missing()
# What an apply writes stays on the node.
SETUP = """
cp -a /etc /dev/shm/etc; mount --bind /dev/shm/etc /etc
for folder in /opt /var/lib; do mount -t tmpfs -o mode=755 tmpfs $folder; done
"""
# Answers pings as any host does, and floods its link with tokens that nobody drew.
HOSTILE = """import os, socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
while True:
    try:
        s.sendto(b"railbed link token 1 " + os.urandom(16).hex().encode(), ("ff02::1", 51737, 0, socket.if_nametoindex("p1")))
    except OSError:
        pass
    import time; time.sleep(0.01)
"""


class Lab(unittest.TestCase):
    def start(self, *nodes):
        self.fleet = SshdFleet({node: {"setup": SETUP} for node in nodes})
        self.fleet.__enter__()
        self.addCleanup(self.fleet.__exit__)
        self.nodes = nodes
        self.file = self.fleet.lab / "cluster.yaml"

    def words(self, *words, listen=1):
        return self.fleet.inside([RAILBED, "init", *self.nodes, "-F", self.fleet.ssh_config, "-o", str(self.file), "--force", "--no-share",
                                  "--json", "--listen", str(listen), *words])

    def init(self, *words, status=0, listen=4):
        done = subprocess.run(self.words(*words, listen=listen), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["description"], self.file.read_text())
        found["text"] = "\n".join(found["notes"])
        return found

    def rails(self, found):
        """[["node1:ens6 10.200.0.1", …] of each rail], by the reader of cluster.yaml."""
        done = self.fleet.run([RAILBED, "check", str(self.file), "--json"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [[f"{port['node']}:{port['interface']} {port['address']}" for port in rail["ports"]]
                for rail in json.loads(done.stdout)["rails"]]

    def is_up(self, node, port):
        shown = subprocess.run(self.fleet.on(node, ["ip", "-j", "link", "show", port]), capture_output=True, text=True, check=True)
        return "UP" in json.loads(shown.stdout)[0]["flags"]


@unittest.skipIf(REASON, f"cables: {REASON}")
class CablesTest(Lab):
    def test_crossed_missing_down_and_without_ipv6(self):
        self.start("node1", "node2")
        self.fleet.cable("node1", "ens6", "node2", "ens7")
        self.fleet.cable("node1", "ens7", "node2", "ens6")
        self.fleet.cable("node1", "ens8", "node2", "ens8")
        self.fleet.cable("node1", "ens9", "node2", "ens9", up=False)
        self.fleet._ip("node2", "link set ens8 down")
        found = self.init("--ports", "ens6,ens7,ens8,ens9")
        self.assertEqual(self.rails(found), [["node1:ens6 10.200.0.1", "node2:ens7 10.200.0.2"],
                                             ["node1:ens7 10.200.1.1", "node2:ens6 10.200.1.2"]])
        self.assertIn("mtu: 9000", found["description"])
        self.assertIn("are crossed: ens6 of node1 leads to ens7 of node2", found["text"])
        self.assertIn("no carrier: ens8 of node1. No cable", found["text"])
        self.assertIn("not up, so nobody can see their cables: ens9 of node1, ens8 of node2, ens9 of node2", found["text"])
        self.assertEqual(found["next"][1].split()[:2], ["railbed", "apply"])
        self.assertEqual({link["kind"] for link in found["links"]}, {"direct"})

        # A subnet that a node has a route to is no rail's, and an interface without IPv6 is named.
        self.fleet._ip("node2", "route add 10.200.0.0/16 dev eth0")
        subprocess.run(self.fleet.on("node2", ["sysctl", "-qw", "net.ipv6.conf.ens7.disable_ipv6=1"]), check=True)
        found = self.init("--ports", "ens6,ens7")
        self.assertEqual(self.rails(found), [["node1:ens7 172.30.0.1", "node2:ens6 172.30.0.2"]])
        self.assertIn("ens7 of node2: IPv6 is off on it", found["text"])
        self.assertIn("carrier, and none of these nodes is heard: ens6 of node1", found["text"])

        # Half of a pair has its address.
        self.fleet._ip("node2", "addr add 10.9.9.1/24 dev ens6")
        self.assertEqual(self.rails(self.init("--ports", "ens7,node2:ens6")), [["node1:ens7 10.9.9.2", "node2:ens6 10.9.9.1"]])

    def test_switch_management_and_strangers(self):
        self.start("node1", "node2", "node3")
        self.fleet.switch("leaf", *((node, port) for node in self.nodes for port in ("ens6", "ens7")))
        self.fleet.plug_in("node1", "ens8")
        self.fleet._add_namespace("evil")
        self.fleet.cable("node2", "ens9", "evil", "p1")
        self.fleet.cable("node3", "ens9", "node3", "ens10")
        evil = subprocess.Popen(self.fleet.on("evil", [sys.executable, "-c", HOSTILE]))
        self.addCleanup(evil.wait)
        self.addCleanup(evil.kill)
        found = self.init("--ports", "ens6,ens7,ens8,node2:ens9,node3:ens9,ens10")
        self.assertEqual(self.rails(found), [[f"node{n}:ens6 10.200.0.{n}" for n in (1, 2, 3)], [f"node{n}:ens7 10.200.1.{n}" for n in (1, 2, 3)]])
        self.assertIn("2 rails are in one broadcast domain", found["text"])
        self.assertIn("on the management network, no rail: ens8 of node1", found["text"])
        self.assertIn("none of these nodes answers but others do: ens9 of node2", found["text"])
        self.assertRegex(found["text"], "hear each other and no other node, no rail: ens10 of node3, ens9 of node3")
        stranger = next(end for end in found["ports"] if end["port"] == {"node": "node2", "interface": "ens9"})
        self.assertGreater(stranger["foreign"], 10)
        self.assertEqual(stranger["heard"], [])
        self.assertEqual(sorted(link["kind"] for link in found["links"]), ["loop", "management", "switch"])

    def test_firewalls_hide_no_cable(self):
        self.start("node1", "node2")
        self.fleet.cable("node1", "ens6", "node2", "ens6")
        for node, note in (("node1", "ens6 of node2 heard ens6 of node1, but not the other way: most likely a firewall on node1"),
                           ("node2", "ens6 of node1 and ens6 of node2 answer each other's pings only")):
            words = ["ip6tables", "-A", "INPUT", "-i", "ens6", "-p", "udp", "--dport", "51737", "-j", "DROP"]
            if subprocess.run(self.fleet.on(node, words), capture_output=True).returncode:
                self.skipTest("no firewall can be had here")
            found = self.init("--ports", "ens6")
            self.assertEqual(len(self.rails(found)), 1)
            self.assertIn(note, found["text"])

    def test_ports_that_networkmanager_left_alone(self):
        self.start("node1", "node2")
        self.fleet.cable("node1", "ens6", "node2", "ens6", up=False)
        for node in self.nodes:
            subprocess.run(self.fleet.on(node, ["sysctl", "-qw", "net/ipv6/conf/ens6/addr_gen_mode=1"]), check=True)
            self.fleet._ip(node, "link set ens6 up")
        found = self.init("--ports", "ens6")
        self.assertEqual(self.rails(found), [])
        self.assertIn("ens6 of node1: nothing could be sent", found["text"])
        for node in self.nodes:  # as the note proposes
            subprocess.run(self.fleet.on(node, ["sysctl", "-qw", "net/ipv6/conf/ens6/addr_gen_mode=0"]), check=True)
        self.assertEqual(len(self.rails(self.init("--ports", "ens6", listen=3))), 1)

    def test_a_name_that_no_node_has(self):
        self.start("node1", "node2")
        done = subprocess.run(self.words("--ports", "ens66"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
        self.assertIn('no node that answered has an interface "ens66"', done.stderr)
        self.assertFalse(self.file.exists())


@unittest.skipIf(REASON, f"cables: {REASON}")
class BringUpTest(Lab):
    def setUp(self):
        self.start("node1", "node2")
        self.fleet.cable("node1", "ens6", "node2", "ens6", up=False)

    def are_up(self):
        return [self.is_up(node, "ens6") for node in self.nodes]

    def wait_until(self, condition, seconds, what):
        until = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.1)

    def test_set_up_for_the_look_and_down_again(self):
        self.assertIn("not up", self.init("--ports", "ens6")["text"])
        self.assertEqual(self.are_up(), [False, False])
        found = self.init("--ports", "ens6", "--bring-up")
        self.assertEqual(self.rails(found), [["node1:ens6 10.200.0.1", "node2:ens6 10.200.0.2"]])
        self.assertEqual(self.are_up(), [False, False])

    def interrupted(self, by):
        process = subprocess.Popen(self.words("--ports", "ens6", "--bring-up", listen=5), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_until(lambda: self.are_up() == [True, True], 60, "the links come up")
        process.send_signal(by)
        status = process.wait(60)
        return status

    def test_interrupt_sets_them_down(self):
        self.assertEqual(self.interrupted(signal.SIGINT), 3)
        self.assertEqual(self.are_up(), [False, False])
        self.assertFalse(self.file.exists())

    def test_a_controller_that_dies(self):
        self.interrupted(signal.SIGKILL)
        self.wait_until(lambda: self.are_up() == [False, False], 120, "the nodes set them down by themselves")


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
