#!/usr/bin/env python3
"""Two monitors that probe each other over a rail between two network namespaces: their histograms move, the metrics show a
link that is cut and that it came back, a Slurm job pauses them, and a stranger gets nothing. RAILBED names the program.

Needs root, for the namespaces. Only what this file starts and makes is touched."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = pathlib.Path(os.environ['RAILBED']).resolve()
NODES = ('a', 'b')
CLUSTER = """\
railbed: 1
cluster: pair
nodes: [a, b]
rails: [{name: rail0, subnet: 10.89.0.0/24, interface: rail, first_address: 10.89.0.1, fabric: ethernet}]
"""
PATIENCE = 90
# In mounts of its own, with which the namespace goes.
TRY = 'mkdir -p /run/netns; mount -t tmpfs tmpfs /run/netns; ip netns add try'
# Says what stands in a file, as scontrol would.
SCONTROL = '#!/bin/sh\n[ -e %s ] || exit 1\ncat %s\n'


def missing():
    if os.geteuid() != 0:
        return 'needs root, for network namespaces'
    if not shutil.which('ip') or not shutil.which('curl'):
        return 'needs ip and curl'
    made = subprocess.run(['unshare', '--mount', 'sh', '-ec', TRY], capture_output=True, text=True)
    return f'cannot make namespaces: {made.stderr.strip()}' if made.returncode else None


REASON = missing()


@unittest.skipIf(REASON, f'probes: {REASON}')
class ProbeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='railbed-probe-'))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.running = {}
        cls.addClassCleanup(cls.end)
        (cls.folder / 'cluster.yaml').write_text(CLUSTER)
        cls.write_secret('secret', 'a secret that nobody else knows')
        cls.write_secret('other', 'a secret of another cluster here')
        cls.spaces = {node: f'rbp{os.getpid()}{node}' for node in NODES}
        for name in cls.spaces.values():
            cls.ip('netns', 'add', guardian.own_namespace(name))
            cls.addClassCleanup(subprocess.run, ['ip', 'netns', 'del', name])
            cls.ip('-n', name, 'link', 'set', 'lo', 'up')
        cls.ip('-n', cls.spaces['a'], 'link', 'add', 'rail', 'type', 'veth', 'peer', 'name', 'rail', 'netns', cls.spaces['b'])
        for number, name in enumerate(cls.spaces.values(), 1):
            cls.ip('-n', name, 'addr', 'add', f'10.89.0.{number}/24', 'dev', 'rail')
            cls.ip('-n', name, 'link', 'set', 'rail', 'up')
        for node in NODES:
            binaries = cls.folder / f'bin-{node}'
            binaries.mkdir()
            (binaries / 'scontrol').write_text(SCONTROL % ((cls.folder / f'slurm-{node}',) * 2))
            (binaries / 'scontrol').chmod(0o755)
            cls.slurm(node, 'IDLE')
            cls.start(node)

    @classmethod
    def end(cls):
        for process in cls.running.values():
            process.terminate()
        for process in cls.running.values():
            process.wait(timeout=PATIENCE)

    @classmethod
    def write_secret(cls, name, text):
        (cls.folder / name).write_text(text + '\n')
        (cls.folder / name).chmod(0o600)

    @staticmethod
    def ip(*words):
        subprocess.run(['ip', *words], check=True)

    @classmethod
    def slurm(cls, node, state):
        (cls.folder / f'slurm-{node}').write_text(f'NodeName={node}\n   State={state} ThreadsPerCore=1\n')

    @classmethod
    def words(cls, node, *more, secret='secret'):
        return ['ip', 'netns', 'exec', cls.spaces[node], 'env', f'PATH={cls.folder}/bin-{node}:{os.environ["PATH"]}', str(RAILBED), 'monitor',
                str(cls.folder / 'cluster.yaml'), '--node', node, '--state', str(cls.folder / f'state-{node}'), '--probe',
                '--probe-secret-file', str(cls.folder / secret), '--probe-every', '1', *more]

    @classmethod
    def start(cls, node):
        with open(cls.folder / f'log-{node}', 'w') as log:
            cls.running[node] = subprocess.Popen(cls.words(node, '--every', '86400'), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def metrics(self, node):
        """Name and labels → value; nothing while it does not answer."""
        done = subprocess.run(['ip', 'netns', 'exec', self.spaces[node], 'curl', '-sS', '--max-time', '20', 'http://127.0.0.1:9885/metrics'],
                              capture_output=True, text=True)
        return {name: float(value) for name, value in re.findall(r'^(\w+(?:\{.*\})?) (\S+)$', done.stdout, re.M)}

    def await_metric(self, node, name, is_well):
        until = time.monotonic() + PATIENCE
        while True:
            found = self.metrics(node)
            if name in found and is_well(found[name]):
                return found
            self.assertLess(time.monotonic(), until, f'{name} of {node}: {found.get(name)}; '
                            + (self.folder / f'log-{node}').read_text()[-2000:]
                            + str({key: value for key, value in found.items() if 'probe' in key and 'bucket' not in key}))
            time.sleep(0.3)

    def count(self, node):
        return f'railbed_probe_round_trip_seconds_count{{rail="rail0",peer="{"b" if node == "a" else "a"}",transport="tcp"}}'

    def once(self, node, *more, status, **how):
        done = subprocess.run(self.words(node, '--once', *more, **how), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_histograms_move_at_both_ends(self):
        for node in NODES:
            first = self.await_metric(node, self.count(node), lambda value: value > 0)
            later = self.await_metric(node, self.count(node), lambda value: value > first[self.count(node)])
            bucket = self.count(node).replace('_count', '_bucket')[:-1] + ',le="+Inf"}'
            self.assertEqual(later[bucket], later[self.count(node)])
            self.assertGreater(later['railbed_probe_visits_total'], 0)
            self.assertEqual(later['railbed_collector_success{collector="probe"}'], 1)
            self.assertEqual(later['railbed_probe_most_bytes_per_minute'], 2 * 40000 * 60)

    def test_a_cut_link_shows_and_comes_back(self):
        other = {'a': 'b', 'b': 'a'}
        for node in NODES:
            self.await_metric(node, self.count(node), lambda value: value > 0)
        self.ip('-n', self.spaces['b'], 'link', 'set', 'rail', 'down')
        try:
            failed = f'railbed_probe_failed{{rail="rail0",peer="{other["a"]}",transport="tcp",reason="unreachable"}}'
            seen = self.await_metric('a', failed, lambda value: value == 1)
            self.assertGreater(seen[f'railbed_probe_failures_total{{rail="rail0",peer="b",transport="tcp",reason="unreachable"}}'], 0)
        finally:
            self.ip('-n', self.spaces['b'], 'link', 'set', 'rail', 'up')
        before = self.metrics('a')[self.count('a')]
        after = self.await_metric('a', self.count('a'), lambda value: value > before)
        self.assertEqual([name for name in after if name.startswith('railbed_probe_failed{')], [])

    def test_a_job_pauses_its_node_and_who_would_probe_it(self):
        self.addCleanup(self.slurm, 'b', 'IDLE')
        self.slurm('b', 'ALLOCATED')
        self.await_metric('b', 'railbed_probe_paused{reason="job"}', lambda value: value == 1)
        skipped = 'railbed_probe_skipped_total{rail="rail0",reason="job"}'
        first = self.await_metric('a', skipped, lambda value: value > 0)
        later = self.await_metric('a', skipped, lambda value: value > first[skipped])
        self.assertEqual(later[self.count('a')], first[self.count('a')], 'no message went there')
        self.assertIn('a Slurm job has b', self.once('b', status=3))
        self.assertIn('17 of 17 answered', self.once('b', '--probe-beside-jobs', status=0))
        self.slurm('b', 'IDLE')
        self.await_metric('a', self.count('a'), lambda value: value > later[self.count('a')])
        (self.folder / 'slurm-b').unlink()
        silent = self.await_metric('b', 'railbed_probe_paused{reason="slurm-silent"}', lambda value: value == 1)
        self.assertEqual(silent['railbed_collector_success{collector="probe"}'], 0)

    def test_once_prints_a_round(self):
        self.assertRegex(self.once('a', status=0), r'rail0 +b +tcp +17 of 17 answered, median [\d.]+ µs')

    def test_a_stranger_gets_nothing(self):
        self.assertIn('another secret', self.once('a', secret='other', status=2))
        self.assertGreater(self.metrics('b')['railbed_probe_turned_away_total'], 0)

    def test_it_listens_on_the_rail_alone(self):
        listening = subprocess.run(['ip', 'netns', 'exec', self.spaces['a'], 'ss', '-Hltn'], capture_output=True, text=True).stdout
        places = sorted(line.split()[3] for line in listening.splitlines())
        self.assertEqual([place.replace('%rail', '') for place in places], ['10.89.0.1:9886', '127.0.0.1:9885'])

    def test_what_it_puts_on_the_wire(self):
        def wire():
            text = subprocess.run(['ip', 'netns', 'exec', self.spaces['a'], 'cat', '/proc/net/dev'], capture_output=True, text=True).stdout
            numbers = re.search(r'rail: *(.*)', text)[1].split()
            return int(numbers[0]) + int(numbers[8])
        visits = 'railbed_probe_visits_total'
        rounds = lambda: self.metrics('a')[visits]
        self.await_metric('a', self.count('a'), lambda value: value > 0)
        before, began = wire(), rounds()
        self.await_metric('a', visits, lambda value: value >= began + 5)
        each = (wire() - before) / (2 * (rounds() - began))  # its own as well
        print(f'on the wire for one probe by TCP, both ways: {each:.0f} bytes', file=sys.stderr)
        self.assertLess(each, 40000)

    def test_bad_usage(self):
        for more, words in (({'secret': 'nowhere'}, 'nowhere'),):
            done = subprocess.run(self.words('a', '--once', **more), capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn(words, done.stderr)
        done = subprocess.run([RAILBED, 'monitor', self.folder / 'cluster.yaml', '--node', 'a', '--probe', '--once'], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 64)
        self.assertIn('--probe-secret-file', done.stderr)


if __name__ == '__main__':
    if REASON:
        print(REASON, file=sys.stderr)
        sys.exit(77)
    guardian.begin()
    unittest.main()
