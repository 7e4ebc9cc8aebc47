#!/usr/bin/env python3
"""The pair with a whole operating system: bare when it comes, planned over ssh, back after a reboot and after a power cut.

The binary is found in RAILBED. RAILBED_OS_LAB=all does it; the suite leaves it out, and sees most of it in apply_test.py. Builds what is missing in RAILBED_LAB_DIR (default: build/lab).
"""
import json
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import os_image  # noqa: E402
from os_pair import OsPair  # noqa: E402
from packages import LabError  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

FOLDER = pathlib.Path(os.environ.get('RAILBED_LAB_DIR', os_image.DEFAULT_FOLDER)).resolve()
SECONDS = 900  # should a wait never end, its guests do


def setUpModule():
    if os.environ.get('RAILBED_OS_LAB') != 'all':
        print('RAILBED_OS_LAB=all does it', file=sys.stderr)
        sys.exit(77)
    try:
        with os_image.exclusive(FOLDER / 'os'):
            for kind in os_image.KINDS:
                os_image.build(kind, FOLDER)
    except LabError as problem:
        print(problem, file=sys.stderr)
        sys.exit(77)


class PairTest:
    """What holds of each kind."""

    @classmethod
    def setUpClass(cls):
        cls.pair = OsPair(cls.kind, SECONDS, FOLDER)
        cls.addClassCleanup(cls.pair.down)
        cls.pair.up()

    def ok(self, node, command, **options):
        status, output = self.pair.run(node, command, **options)
        self.assertEqual(status, 0, output)
        return output.strip()

    def boot(self, node):
        return self.ok(node, 'cat /proc/sys/kernel/random/boot_id')

    def plan(self):
        """{node: its changes} of `railbed plan`, asked as operator."""
        done = self.pair.railbed('plan', self.pair.cluster, '--json')
        self.assertEqual(done.returncode, 1, done.stdout[-2000:] + done.stderr)
        return {node['node']: node['changes'] for node in json.loads(done.stdout)['nodes']}

    def test_1_it_comes_bare_and_healthy(self):
        for node in os_image.NODES:
            with self.subTest(node):
                self.assertEqual(self.ok(node, 'hostname'), node)
                self.assertEqual(self.ok(node, 'systemctl is-system-running --wait'), 'running')
                self.assertEqual(self.ok(node, 'ip -4 -o address show dev eth1'), '')
                self.assertIn('rxe0/1', self.ok(node, 'rdma link'))
                self.assertEqual(self.ok(node, 'sudo -n id -u'), '0')
                self.assertNotEqual(self.pair.run(node, 'sudo -n id -u', user='keeper')[0], 0)
                self.assertEqual(self.ok(node, f'echo {self.pair.keeper_password} | sudo -S id -u 2>/dev/null',
                                         user='keeper'), '0')

    def test_2_railbed_sees_it_and_proposes_the_rail(self):
        plan = self.plan()
        self.assertEqual(sorted(plan), list(os_image.NODES))
        for node, changes in plan.items():
            with self.subTest(node):
                files = {file['path']: file['after'] for change in changes for file in change['files']}
                self.assertIn('10.77.0.' + node[-1], files[self.rail_file])

    def test_3_a_reboot_comes_back(self):
        before = self.boot('node1')
        self.ok('node1', 'echo kept | sudo tee /etc/lab-kept')
        self.assertEqual(self.pair.reboot('node1'), 'running')
        self.assertNotEqual(self.boot('node1'), before)
        self.assertEqual(self.ok('node1', 'hostname; cat /etc/lab-kept'), 'node1\nkept')

    def test_4_a_power_cut_comes_back_with_what_was_flushed(self):
        self.ok('node2', 'echo kept | sudo tee /etc/lab-kept; sync /etc/lab-kept /etc')
        before = self.boot('node2')
        self.pair.power_cut('node2')
        self.assertEqual(self.pair.power_on('node2'), 'running')
        self.assertNotEqual(self.boot('node2'), before)
        self.assertEqual(self.ok('node2', 'cat /etc/lab-kept'), 'kept')

    def test_5_the_rail_carries_jumbo_frames_until_it_is_cut(self):
        for node in os_image.NODES:
            self.ok(node, f'sudo ip link set eth1 up mtu 9000 && sudo ip address add 10.77.0.{node[-1]}/24 dev eth1')
        ping = 'ping -c 1 -W 5 -M do -s 8972 10.77.0.2'
        self.ok('node1', f'{ping} || {ping}')
        self.pair.cut_rail()
        self.assertEqual(self.ok('node1', 'cat /sys/class/net/eth1/carrier'), '0')
        self.assertNotEqual(self.pair.run('node1', ping)[0], 0)
        self.pair.mend_rail()
        self.ok('node1', f'{ping} || {ping}')

    def test_6_a_full_disk_is_full_for_root_too(self):
        write = 'sudo sh -c "echo more >/etc/lab-more && sync /etc/lab-more"'
        self.pair.fill_disk('node2')
        self.assertNotEqual(self.pair.run('node2', write)[0], 0)
        self.pair.empty_disk('node2')
        self.ok('node2', write)


class Netplan(PairTest, unittest.TestCase):
    kind = 'netplan'
    rail_file = '/etc/netplan/99-zz-railbed.yaml'


class NetworkManager(PairTest, unittest.TestCase):
    kind = 'networkmanager'
    rail_file = '/etc/NetworkManager/system-connections/railbed-eth1.nmconnection'


if __name__ == '__main__':
    guardian.begin()
    unittest.main()
