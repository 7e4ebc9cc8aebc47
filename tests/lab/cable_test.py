#!/usr/bin/env python3
"""From two machines with nothing but ssh to a proven pair: init finds the cable, apply gives its ports addresses, prove measures.
No address is typed. The binary is found in RAILBED. It takes emulated processors four minutes, so that only RAILBED_OS_LAB=all does it.
"""
import json
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import os_image  # noqa: E402
from os_pair import OsPair  # noqa: E402
from packages import LabError  # noqa: E402

sys.path.insert(0, str(HERE.parent))
import guardian  # noqa: E402

FOLDER = pathlib.Path(os.environ.get('RAILBED_LAB_DIR', os_image.DEFAULT_FOLDER)).resolve()
KINDS = ['netplan']
ALL = os.environ.get('RAILBED_OS_LAB') == 'all'


@unittest.skipUnless(ALL, 'RAILBED_OS_LAB=all does it')
class CableTest(unittest.TestCase):
    maxDiff = 4000

    def railbed(self, *words, status):
        began = time.monotonic()
        done = self.pair.railbed(*words, timeout=900)
        print(f'railbed {words[0]}: {time.monotonic() - began:.0f} s', file=sys.stderr)
        self.assertIn(done.returncode, status, done.stdout[-4000:] + done.stderr[-4000:])
        return done.stdout

    def test_from_ssh_to_a_proof(self):
        for kind in KINDS:
            with self.subTest(kind), OsPair(kind, 1500, FOLDER) as self.pair:
                self.lead_to_a_proof()

    def lead_to_a_proof(self):
        file, page = self.pair.folder / 'found.yaml', self.pair.folder / 'report.html'
        patience = ('--connect-timeout', '120')
        # A guest leaves its rail down, and `keeper` of tests/lab/README.md would need -K and a terminal.
        found = json.loads(self.railbed('init', 'operator@node1', 'operator@node2', '-F', self.pair.ssh_config, '-o', file, '--bring-up', '--json',
                                        *patience, status=[0]))
        self.assertEqual(found['cables'], ['rail0: eth1 of node1 - eth1 of node2 (one cable)'])
        for node in os_image.NODES:
            status, flags = self.pair.run(node, 'cat /sys/class/net/eth1/flags')
            self.assertEqual((status, int(flags, 16) & 1), (0, 0), 'the link is down again')
        self.railbed('check', file, status=[0, 1])
        applied = json.loads(self.railbed('apply', file, '--yes', '--json', '--timeout', '300', *patience, status=[0]))
        self.assertTrue(applied['committed'])
        # Two emulated processors miss ceilings and answer late; what counts is that both directions of the cable carry.
        proof = json.loads(self.railbed('prove', file, '--json', '-o', page, *patience, status=[0, 1, 2, 3]))
        self.assertEqual({one['fabric'] for one in json.loads(self.railbed('check', file, '--json', status=[0, 1]))['rails']}, {'roce'})
        self.assertTrue(proof['measurements'], proof)


def setUpModule():
    if not ALL:
        return
    try:
        with os_image.exclusive(FOLDER / 'os'):
            for kind in KINDS:
                os_image.build(kind, FOLDER)
    except LabError as problem:
        print(problem, file=sys.stderr)
        sys.exit(77)


if __name__ == '__main__':
    guardian.begin()
    unittest.main(verbosity=2)
