#!/usr/bin/env python3
"""railbed monitor as Prometheus and operators meet it: its metrics beside those of a real node_exporter, promtool, and what
it says where it cannot begin. Skips what a machine without those programs cannot show."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import guardian
from untree import untree

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = os.environ['RAILBED']
MACHINE = ROOT / 'tests/machines/h100-cx7'
PATIENCE = 60


def once(*words, status=0):
    done = subprocess.run([RAILBED, 'monitor', *map(str, words), '--once'], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == status, (done.returncode, done.stdout[-2000:], done.stderr)
    return done.stdout if status == 0 else done.stderr


def samples(text):
    """'name{labels in order}' → value"""
    found = {}
    for line in text.splitlines():
        if line.startswith('#'):
            continue
        name, labels, value = re.fullmatch(r'(\w+)(?:\{(.*)\})? (\S+)', line).groups()
        inner = sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ''))
        found[name + '{' + ','.join(f'{key}="{one}"' for key, one in inner) + '}'] = float(value)
    return found


class Metrics(unittest.TestCase):
    def test_families_stand_together_and_are_announced(self):
        seen, last = set(), None
        for line in once(MACHINE / 'cluster.yaml', '--root', MACHINE / 'gpu01.tree', '--node', 'gpu01').splitlines():
            if line.startswith('# TYPE'):
                last = line.split()[2]
                self.assertNotIn(last, seen)
                seen.add(last)
            elif not line.startswith('#'):
                self.assertEqual(re.split('[{ ]', line)[0], last)

    @unittest.skipUnless(shutil.which('promtool'), 'no promtool')
    def test_promtool_reads_them(self):
        text = once(MACHINE / 'cluster.yaml', '--root', MACHINE / 'gpu01.tree', '--node', 'gpu01')
        done = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True, timeout=PATIENCE)
        # It parses them, and finds fault with nothing but the names that NVIDIA chose.
        self.assertIn(done.returncode, (0, 3), done.stderr)
        self.assertEqual([line for line in done.stderr.splitlines() if not line.startswith('DCGM_')
                          and not line.startswith('railbed_hw_counter_total')
                          and not line.startswith('railbed_phy_counter_total')], [])

    @unittest.skipUnless(shutil.which('prometheus-node-exporter'), 'no node_exporter')
    def test_as_node_exporter_on_the_same_machine(self):
        with tempfile.TemporaryDirectory() as kept:
            folder = pathlib.Path(kept)
            untree(MACHINE / 'gpu01.tree', folder)
            theirs = samples(self.node_exporter(folder))
            ours = samples(once('--root', folder, '--node', 'gpu01'))
        ports = {name for name in theirs if name.startswith('node_infiniband_')}
        links = {name for name in theirs if re.match(r'node_network_(up|carrier|carrier_changes_total|mtu_bytes|speed_bytes)\{', name)
                 and 'device="lo"' not in name}
        self.assertGreater(len(ports), 100)
        self.assertGreater(len(links), 30)
        self.assertEqual({name: theirs[name] for name in ports | links}, {name: ours.get(name) for name in ports | links})

    def node_exporter(self, folder):
        with socket.create_server(('127.0.0.1', 0)) as free:
            port = free.getsockname()[1]
        running = subprocess.Popen(['prometheus-node-exporter', f'--path.sysfs={folder}/sys', f'--path.procfs={folder}/proc',
                                    '--collector.disable-defaults', '--collector.infiniband', '--collector.netclass',
                                    f'--web.listen-address=127.0.0.1:{port}'],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=PATIENCE) as answer:
                        return answer.read().decode()
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.1)
        finally:
            running.kill()
            running.wait()

    def test_this_machine(self):
        found = samples(once())
        self.assertEqual(found['railbed_look_success{}'], 1)
        self.assertEqual(found['railbed_collector_success{collector="counts"}'], 1)

    def test_what_is_left_alone_is_not_there(self):
        text = once('--root', MACHINE / 'gpu01.tree', '--node', 'gpu01', '--leave-alone', 'mlx5_3,ens14np0')
        self.assertEqual([name for name in samples(text) if re.search('(device|interface)="(mlx5_3|ens14np0)"', name)], [])
        self.assertTrue('mlx5_4"' in text)

    @unittest.skipUnless(shutil.which('strace'), 'no strace')
    def test_what_is_left_alone_is_not_opened(self):
        with tempfile.TemporaryDirectory() as kept:
            folder = pathlib.Path(kept)
            untree(MACHINE / 'gpu01.tree', folder)
            trace = folder / 'trace'
            subprocess.run(['strace', '-f', '-e', 'trace=%file', '-o', trace, RAILBED, 'monitor', '--once', '--root', folder,
                            '--node', 'gpu01', '--leave-alone', 'mlx5_3'], check=True, stdout=subprocess.DEVNULL, timeout=300,
                           env={**os.environ, 'ASAN_OPTIONS': 'detect_leaks=0'})  # which cannot be traced
            opened = trace.read_text()
        self.assertTrue('/infiniband/mlx5_4/' in opened)
        self.assertFalse('/infiniband/mlx5_3/' in opened)


class Process(unittest.TestCase):
    """A node with a broken cable, watched by a process that is ended and begun again."""
    SICK = ROOT / 'tests/machines/h100-cable-error'

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.state = pathlib.Path(kept.name) / 'state'
        self.tree = self.SICK / 'gpu01.tree'

    def begin(self, *words):
        with socket.create_server(('127.0.0.1', 0)) as free:
            self.address = f'127.0.0.1:{free.getsockname()[1]}'
        running = subprocess.Popen([RAILBED, 'monitor', self.SICK / 'cluster.yaml', '--root', self.tree, '--node', 'gpu01', '--state', self.state,
                                    '--listen', self.address, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.stderr.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        return running

    def scrape(self, path='/metrics'):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(f'http://{self.address}{path}', timeout=PATIENCE) as answer:
                    return answer.read().decode()
            except urllib.error.URLError:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)

    def since(self):
        return {name: value for name, value in samples(self.scrape()).items() if name.startswith('railbed_finding_since') and 'rdma.cable-error' in name}

    def test_a_restart_keeps_since_when(self):
        running = self.begin()
        first = self.since()
        self.assertEqual(len(first), 1)
        self.assertEqual(self.scrape('/-/healthy'), 'ok\n')
        running.terminate()
        self.assertEqual(running.wait(PATIENCE), 0)
        time.sleep(1)
        running = self.begin()
        self.assertEqual(self.since(), first)
        running.kill()
        running.wait()
        self.begin()
        self.assertEqual(self.since(), first)
        listed = subprocess.run([RAILBED, 'events', '--state', self.state, '--json', '-n', '1000'], check=True, capture_output=True,
                                text=True, timeout=PATIENCE)
        told = [(one['kind'], one['rule']) for one in json.loads(listed.stdout)['events']]
        self.assertEqual([kind for kind, _ in told].count('started'), 3)
        self.assertEqual(told.count(('appeared', 'rdma.cable-error')), 1)

    def test_a_state_of_a_newer_railbed_is_left_as_it_is(self):
        running = self.begin()
        first = self.since()
        running.terminate()
        running.wait(PATIENCE)
        file = self.state / 'monitor.state'
        kept = json.loads(file.read_text())
        self.assertEqual((kept['version'], kept['railbed']), (2, subprocess.run([RAILBED, 'version'], check=True, capture_output=True,
                                                                               text=True, timeout=PATIENCE).stdout.split()[1]))
        newer = json.dumps({**kept, 'version': 3, 'railbed': '99.0.0'})
        file.write_text(newer)
        refused = self.begin()
        self.assertEqual(refused.wait(PATIENCE), 64)
        said = refused.stderr.read()
        for part in (str(file), 'version 3', '99.0.0', '--fresh-state'):
            self.assertIn(part, said)
        self.assertEqual(file.read_text(), newer)
        running = self.begin('--fresh-state')
        self.assertNotEqual(self.since(), first)
        self.assertEqual((self.state / 'monitor.state.set-aside').read_text(), newer)
        running.terminate()
        running.wait(PATIENCE)
        # An older form, as another railbed would have left it.
        file.write_text(json.dumps({key: value for key, value in kept.items() if key != 'railbed'} | {'version': 1}))
        self.begin()
        self.assertEqual(self.since(), first)

    def test_one_state_one_monitor(self):
        self.begin()
        self.scrape()
        other = self.begin()
        self.assertNotEqual(other.wait(PATIENCE), 0)
        self.assertIn(str(self.state), other.stderr.read())

    def test_beyond_loopback_only_when_it_is_said(self):
        done = subprocess.run([RAILBED, 'monitor', '--listen', '0.0.0.0:0', '--state', self.state], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 64)
        self.assertIn('--web-config', done.stderr)


class Refusals(unittest.TestCase):
    def test_a_cluster_that_does_not_know_this_machine(self):
        said = once(MACHINE / 'cluster.yaml', '--node', 'elsewhere', status=64)
        self.assertIn('has no node "elsewhere"; it has gpu01, gpu02', said)
        self.assertIn('--node', said)

    def test_no_such_file(self):
        self.assertIn('no-such.yaml', once('no-such.yaml', status=64))


if __name__ == '__main__':
    guardian.begin()
    unittest.main()
