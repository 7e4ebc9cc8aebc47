#!/usr/bin/env python3
"""Two monitors that probe each other between the two guests: reads over software RDMA move the histograms at both ends, and of
the lossless priority nothing is told, as rxe's interface counts nothing by priority.

Usage: probe_test.py RAILBED. Uses the pair in RAILBED_LAB_DIR (default: build/lab); brings it up, and takes it down again,
unless it was up. No number is judged: every speed here is an emulator's.
"""
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from vm_pair import Pair  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

PAIR = Pair(os.environ.get('RAILBED_LAB_DIR', HERE.parent.parent / 'build/lab'))
RAILBED = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else os.environ['RAILBED']).resolve()
WAS_UP = False
PATIENCE = 240
OTHER = {'vm1': 'vm2', 'vm2': 'vm1'}
FOLDER = '/tmp/probe'
PROBE = (f'{FOLDER}/railbed monitor {FOLDER}/cluster.yaml --state {FOLDER}/state --probe --probe-secret-file {FOLDER}/secret '
         '--probe-every 20 --every 3600')


def setUpModule():
    global WAS_UP
    WAS_UP = PAIR.locked()
    PAIR.up()
    for node in OTHER:
        PAIR.fault(node, 'clear')
        copy(node, 'railbed', RAILBED.read_bytes(), 0o755)
        cluster = PAIR.cluster.read_text() + 'expect: {traffic_class: 104}\n'
        copy(node, 'cluster.yaml', cluster.encode(), 0o644)
        copy(node, 'secret', b'a secret of the two guests alone', 0o600)


def tearDownModule():
    for node in OTHER:
        on(node, f'[ ! -e {FOLDER}/pid ] || kill $(cat {FOLDER}/pid); rm -rf {FOLDER}')
    if not WAS_UP:
        PAIR.down()


def copy(node, name, content, mode):
    words = PAIR.ssh_argv(node, f'mkdir -p {FOLDER} && cat >{FOLDER}/{name} && chmod {mode:o} {FOLDER}/{name}')
    subprocess.run(words, input=content, check=True, timeout=PATIENCE)


def on(node, line):
    return PAIR.ssh(node, line, timeout=PATIENCE)


class Probes(unittest.TestCase):
    def test_reads_move_the_histograms_at_both_ends(self):
        for node in OTHER:
            started = on(node, f'{PROBE} --node {node} >{FOLDER}/log 2>&1 </dev/null & echo $! >{FOLDER}/pid')
            self.assertEqual(started.returncode, 0, started.stderr)
        for node, other in OTHER.items():
            count = f'railbed_probe_round_trip_seconds_count{{rail="rail0",peer="{other}",transport="rdma"}}'
            first = self.await_count(node, count, 0)
            seen = self.await_count(node, count, first[count])
            self.assertEqual([name for name in seen if name.startswith('railbed_probe_priority{')], [])
            self.assertGreater(seen['railbed_probe_priorities_untold'], 0)
        once = on('vm1', f'{PROBE} --node vm1 --once')
        print(once.stdout, file=sys.stderr)
        self.assertEqual(once.returncode, 0, once.stdout + once.stderr)
        self.assertRegex(once.stdout, r'rail0 +vm2 +rdma +65 of 65 answered')
        self.assertIn('cannot be told', once.stdout)

    def await_count(self, node, name, above):
        until = time.monotonic() + PATIENCE
        while True:
            text = on(node, 'wget -qO- http://127.0.0.1:9885/metrics').stdout
            found = {key: float(value) for key, value in re.findall(r'^(\w+(?:\{.*\})?) (\S+)$', text, re.M)}
            if found.get(name, 0) > above:
                return found
            said = on(node, f'cat {FOLDER}/log').stdout
            self.assertLess(time.monotonic(), until, said + '\n'.join(line for line in text.splitlines() if 'probe' in line)[:4000])
            time.sleep(1)


if __name__ == '__main__':
    guardian.begin()
    unittest.main()
