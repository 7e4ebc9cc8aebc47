#!/usr/bin/env python3
"""railbed fabric against a simulated InfiniBand subnet with the real OpenSM: faults are named, each alone, and none is
invented."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import subnet
from subnet import RAILBED, Subnet, Tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RED = ('fail', 'warn', 'unknown')


def findings(done):
    """(rule, message) of what is red and explained by nothing else."""
    return [(one['rule'], one['message']) for one in json.loads(done.stdout)['findings']
            if one['status'] in RED and one.get('caused_by') is None]


class Small(unittest.TestCase):
    """One switch and three HCAs."""

    @classmethod
    def setUpClass(cls):
        cls.subnet = Subnet(Tree(1, 3, 0).text())
        cls.subnet.manage(0)

    @classmethod
    def tearDownClass(cls):
        cls.subnet.close()

    def test_what_is_found(self):
        done = self.subnet.railbed('discover', '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual(sorted(node['description'] for node in document['nodes']),
                         ['leaf00', 'node000 mlx5_0', 'node001 mlx5_0', 'node002 mlx5_0'])
        leaf = next(node for node in document['nodes'] if node['type'] == 'switch')
        linked = [port for port in leaf['ports'] if port['peer']]
        self.assertEqual([(port['number'], port['active'], port['state']) for port in linked],
                         [(number, {'width': 4, 'speed': 'HDR'}, 'ACTIVE') for number in (1, 2, 3)])
        self.assertTrue(all(port['peer']['port'] == 1 for port in linked))
        self.assertEqual([one['state'] for one in document['managers']], ['MASTER'])

    def test_its_dump_is_ibnetdiscovers(self):
        def entries(text):
            blocks = text.split('\n\n')
            return sorted('\n'.join(line.rstrip() for line in block.splitlines() if not line.startswith('#')).strip()
                          for block in blocks)
        ours = self.subnet.railbed('discover', '--ibnetdiscover').stdout
        theirs = self.subnet.run('ibnetdiscover').stdout
        self.assertEqual([one for one in entries(ours) if one], [one for one in entries(theirs) if one])
        again = subprocess.run([RAILBED, 'fabric', 'discover', '--from', '/dev/stdin', '--ibnetdiscover'], input=ours,
                               capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stdout), (0, ours), again.stderr)
        path = self.subnet.folder / 'dump'
        path.write_text(ours)
        again = self.subnet.railbed('discover', '--from', str(path), '--ibnetdiscover')
        self.assertEqual(again.stdout, ours)
        with Subnet(ours) as replayed:
            self.assertEqual(json.loads(replayed.railbed('discover', '--json').stdout)['layout'], 'one switch')

    def test_healthy(self):
        done = self.subnet.railbed('verify', '--window', '1', '--json')
        self.assertEqual((findings(done), done.returncode), ([], 0), done.stderr)

    def test_managers(self):
        done = self.subnet.railbed('sm', '--window', '3', '--json')
        document = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        [master] = document['managers']
        self.assertEqual((master['state'], master['node']), ('MASTER', 'node000 mlx5_0'))
        self.assertGreater(master['activity'], master['activity_before'])
        self.assertEqual(document['routing_advice'], 'minhop')

    def test_no_libibumad_is_said(self):
        """Without the simulator between, this machine has no InfiniBand: exit code 3 and a reason."""
        done = subprocess.run([RAILBED, 'fabric', 'discover'], capture_output=True, text=True, timeout=60)
        if pathlib.Path('/sys/class/infiniband_mad').exists():
            self.skipTest('this machine may have InfiniBand')
        self.assertEqual(done.returncode, 3)
        self.assertIn('--from', done.stderr)


class Counters(unittest.TestCase):
    """Totals for a monitor, of one switch and four HCAs: one calls itself something odd, one loses its link."""
    odd = 'a{b="c\\d",} 1 mlx5_0'.replace('"', "'")

    @classmethod
    def setUpClass(cls):
        tree = Tree(1, 3, 0)
        tree.add(cls.odd, 1, subnet.hca_guid(7), 0x101b)
        tree.cables.append([('leaf00', 4), (cls.odd, 1), 4, 'HDR'])
        with Subnet(tree.text()) as simulated:
            simulated.manage(0)
            switch = f'S-{subnet.leaf_guid(0):016x}'
            simulated.say(f'PerformanceSet "{switch}"[1] PortCounters.SymbolErrorCounter=55')
            simulated.say(f'PerformanceSet "{switch}"[3] PortCounters.LinkDownedCounter=255')
            simulated.say(f'Unlink "{switch}"[3]')
            cls.text = simulated.railbed('counters')
            cls.document = simulated.railbed('counters', '--json')
            cls.printed = simulated.railbed('counters', '--prom')
            path = simulated.folder / 'fabric.prom'
            path.write_text('old')
            path.chmod(0o600)
            cls.written = simulated.railbed('counters', '--prom', '--output', str(path))
            cls.file, cls.mode = path.read_text(), path.stat().st_mode & 0o777
            cls.beside = sorted(one.name for one in simulated.folder.glob('*fabric.prom*'))

    def series(self, name):
        """{(guid, port): value}"""
        guid, found = r'guid="(0x[0-9a-f]+)"', {}
        for one in re.finditer(rf'^{name}{{{guid},port="(\d+)"}} (\d+)$', self.printed.stdout, re.MULTILINE):
            found[int(one[1], 16), int(one[2])] = int(one[3])
        return found

    def test_totals(self):
        self.assertEqual(self.printed.returncode, 0, self.printed.stderr)
        leaf = subnet.leaf_guid(0)
        self.assertEqual(self.series('infiniband_switch_port_symbol_error_total'), {(leaf, 1): 55, (leaf, 2): 0, (leaf, 3): 0, (leaf, 4): 0})
        self.assertEqual(self.series('infiniband_switch_port_link_downed_total')[leaf, 3], 255)  # its link is gone
        self.assertEqual(self.series('railbed_fabric_counters_full'), {(leaf, 3): 1})
        self.assertEqual(len(self.series('infiniband_hca_port_link_downed_total')), 3)

    def test_text_and_json(self):
        self.assertIn('SymbolErrorCounter            55', self.text.stdout)
        self.assertIn('port 3 of leaf00, without a link', self.text.stdout)
        ports = json.loads(self.document.stdout)['ports']
        self.assertEqual([(one['node'], one['port'], one['counters']['LinkDownedCounter']) for one in ports if one['type'] == 'switch'],
                         [('leaf00', 1, 0), ('leaf00', 2, 0), ('leaf00', 3, 255), ('leaf00', 4, 0)])

    def test_the_file_is_whole_and_readable(self):
        self.assertEqual((self.written.returncode, self.written.stdout, self.mode, self.beside), (0, '', 0o644, ['fabric.prom']))
        names = [line.split('{')[0] for line in self.file.splitlines()]
        self.assertEqual(names, [line.split('{')[0] for line in self.printed.stdout.splitlines()])

    def test_promtool_takes_it(self):
        if not shutil.which('promtool'):
            self.skipTest('no promtool (package prometheus)')
        done = subprocess.run(['promtool', 'check', 'metrics'], input=self.printed.stdout, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ''))
        self.assertIn('hca="' + self.odd.replace('\\', '\\\\'), self.printed.stdout)


class FatTree(unittest.TestCase):
    """128 HCAs on eight leaves under four spines."""

    @classmethod
    def setUpClass(cls):
        with Subnet(cls.tree().text()) as healthy:
            healthy.manage(0)
            cls.healthy = healthy.railbed('verify', '--window', '1', '--json', '--learn', 'plan')
            cls.learnt = (healthy.folder / 'plan').read_text()
            cls.compared = healthy.railbed('verify', '--window', '0', '--json', '--plan', 'plan')
            cls.errors_and_counters(healthy)
            cls.unlinked(healthy)

    @staticmethod
    def tree():
        return Tree(8, 16, 4, 4)

    @classmethod
    def errors_and_counters(cls, healthy):
        """While a window is open errors come to one port; before it they came to another."""
        switch = f'S-{subnet.leaf_guid(2):016x}'
        healthy.say(f'PerformanceSet "{switch}"[3] PortCounters.SymbolErrorCounter=55')
        words = [RAILBED, 'fabric', 'verify', '--window', '4', '--json']
        running = subprocess.Popen(words, env=healthy.environment(1), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        healthy.say(f'PerformanceSet "{switch}"[5] PortCounters.SymbolErrorCounter=400')
        out, _ = running.communicate(timeout=60)
        cls.errors = findings(subprocess.CompletedProcess(words, running.returncode, out))
        for port in (3, 5):
            healthy.say(f'PerformanceSet "{switch}"[{port}] PortCounters.SymbolErrorCounter=0')

    @classmethod
    def unlinked(cls, healthy):
        """A cable between leaf and spine is pulled while all runs."""
        healthy.say(f'Unlink "S-{subnet.leaf_guid(1):016x}"[17]')
        time.sleep(2)
        cls.pulled = findings(healthy.railbed('verify', '--window', '0', '--json', '--plan', 'plan'))
        cls.pulled_without_plan = findings(healthy.railbed('verify', '--window', '0', '--json'))

    def verify(self, tree, manage=True, extra=()):
        with Subnet(tree.text()) as sick:
            if manage:
                sick.manage(0)
            for host, *options in extra:
                sick.manage(host, *options)
            (sick.folder / 'plan').write_text(self.learnt)
            return findings(sick.railbed('verify', '--window', '0', '--json', '--plan', 'plan'))

    def assert_only(self, found, rule, *parts):
        self.assertEqual([one for one, _ in found], [rule], found)
        for part in parts:
            self.assertIn(part, found[0][1])

    def test_healthy(self):
        self.assertEqual((findings(self.healthy), self.healthy.returncode), ([], 0), self.healthy.stderr)
        self.assertEqual((findings(self.compared), self.compared.returncode), ([], 0), self.compared.stderr)

    def test_errors(self):
        self.assertEqual(sorted(rule for rule, _ in self.errors), ['fabric.counters', 'fabric.errors'], self.errors)
        said = dict(self.errors)
        self.assertIn('port 5 of leaf02', said['fabric.errors'])
        self.assertIn('SymbolErrorCounter +400', said['fabric.errors'])
        self.assertIn('port 3 of leaf02', said['fabric.counters'])

    def test_pulled_cable(self):
        self.assert_only(self.pulled, 'fabric.missing-link', 'port 17 of leaf01', 'port 5 of spine00')
        self.assert_only(self.pulled_without_plan, 'fabric.incomplete', 'leaf01 has 15 cables up', 'port 17 is dark, which goes to spine00')

    def test_narrow(self):
        tree = self.tree()
        tree.cable('leaf03', 7)[2] = 1
        self.assert_only(self.verify(tree), 'fabric.width', 'port 7 of leaf03', 'node054 mlx5_0', '1 of 4 lanes')

    def test_slow(self):
        tree = self.tree()
        tree.cable('leaf03', 20)[3] = 'QDR'
        self.assert_only(self.verify(tree), 'fabric.speed', 'port 20 of leaf03', 'QDR instead of HDR')

    def test_swapped(self):
        tree = self.tree()
        tree.swap(('leaf03', 7), ('leaf03', 8))
        self.assert_only(self.verify(tree), 'fabric.cabling',
                         'the cable in port 7 of leaf03 goes to node055 mlx5_0 port 1; the plan wants node054 mlx5_0 port 1 there: '
                         'swap it with the cable in port 8')

    def test_swapped_between_leaves(self):
        tree = self.tree()
        tree.swap(('leaf03', 7), ('leaf05', 2))
        self.assert_only(self.verify(tree), 'fabric.cabling', 'port 7 of leaf03 goes to node081', 'swap it with the cable in port 2 of leaf05')

    def test_three_mixed_up(self):
        tree = self.tree()
        tree.swap(('leaf03', 7), ('leaf03', 8))
        tree.swap(('leaf03', 8), ('leaf03', 9))
        self.assert_only(self.verify(tree), 'fabric.cabling', '3 cables are not where the plan wants them')

    def test_moved_to_an_empty_port(self):
        tree = self.tree()
        tree.replug('leaf03', 7, ('leaf03', 7), ('leaf03', 33))
        self.assert_only(self.verify(tree), 'fabric.cabling',
                         'the cable of node054 mlx5_0 port 1 is in port 33 of leaf03; the plan wants it in port 7 of leaf03')

    def test_wrong_spine(self):
        tree = self.tree()
        tree.replug('leaf03', 17, ('spine00', 13), ('spine01', 33))
        self.assert_only(self.verify(tree), 'fabric.cabling',
                         'the cable of leaf03 port 17 is in port 33 of spine01; the plan wants it in port 13 of spine00')

    def test_vanished_node(self):
        tree = self.tree()
        tree.remove('node054 mlx5_0')
        self.assert_only(self.verify(tree), 'fabric.missing-node', 'node054 mlx5_0 is not in the subnet', 'port 7 of leaf03')

    def test_vanished_leaf(self):
        tree = self.tree()
        tree.remove('leaf03')
        self.assert_only(self.verify(tree), 'fabric.missing-node', 'the switch leaf03', '32 cables are dark', '16 nodes behind it')

    def test_vanished_spine(self):
        tree = self.tree()
        tree.remove('spine02')
        self.assert_only(self.verify(tree), 'fabric.missing-node', 'the switch spine02', '32 cables are dark')

    def test_replaced(self):
        tree = self.tree()
        tree.guids['node054 mlx5_0'] = 0x0002c90300aa0000
        self.assert_only(self.verify(tree), 'fabric.replaced', 'node054 mlx5_0')

    def test_unplanned(self):
        tree = self.tree()
        tree.add('guest mlx5_0', 1, 0x0002c90300bb0000, 0x101b)
        tree.cables.append([('leaf03', 34), ('guest mlx5_0', 1), 4, 'HDR'])
        self.assert_only(self.verify(tree), 'fabric.unplanned', 'guest mlx5_0', 'port 34 of leaf03')

    def test_extra_cable(self):
        tree = self.tree()
        tree.cables.append([('leaf03', 33), ('spine01', 33), 4, 'HDR'])
        self.assert_only(self.verify(tree), 'fabric.unplanned', 'port 33 of leaf03', 'port 33 of spine01')

    def test_odd_switch(self):
        tree = self.tree()
        tree.devices['leaf03'] = 0xcf08
        self.assert_only(self.verify(tree), 'fabric.odd-switch', 'leaf03')

    def test_no_manager(self):
        self.assert_only(self.verify(self.tree(), manage=False), 'fabric.no-manager')

    def test_manager_that_hangs(self):
        """Its port is still marked (IsSM), and nobody answers there."""
        with Subnet(self.tree().text()) as sick:
            manager = sick.manage(0)
            manager.send_signal(signal.SIGSTOP)
            try:
                found = findings(sick.railbed('verify', '--window', '0', '--json'))
                self.assert_only(found, 'fabric.mute-manager', 'node000 mlx5_0')
                managers = sick.railbed('sm', '--window', '0')
                self.assertIn('it does not answer', managers.stdout)
                self.assertEqual(managers.returncode, 2)
            finally:
                manager.send_signal(signal.SIGCONT)

    def test_a_hole_is_not_learned(self):
        tree = self.tree()
        tree.unplug('leaf03', 20)
        with Subnet(tree.text()) as sick:
            sick.manage(0)
            done = sick.railbed('verify', '--window', '0', '--learn', 'plan')
            self.assertIn('port 20 is dark, which goes to spine00', done.stderr)
            self.assertEqual((done.returncode, (sick.folder / 'plan').exists()), (1, False))

    def test_second_master(self):
        # Managers whose keys differ do not yield to each other.
        found = self.verify(self.tree(), extra=[(20, '-k', '0x1234', '-p', '5')])
        self.assert_only(found, 'fabric.two-managers', 'node000', 'node020')

    def test_two_faults_are_two_findings(self):
        tree = self.tree()
        tree.remove('spine02')
        tree.swap(('leaf03', 7), ('leaf03', 8))
        self.assertEqual(sorted(rule for rule, _ in self.verify(tree)), ['fabric.cabling', 'fabric.missing-node'])


class Large(unittest.TestCase):
    """1,280 HCAs."""

    def test_one_fault_among_all(self):
        tree = Tree(32, 40, 10, 4)
        with Subnet(tree.text(), ('-N', '2000', '-S', '100', '-P', '12000')) as healthy:
            healthy.manage(0)
            done = healthy.railbed('verify', '--window', '0', '--json', '--learn', 'plan')
            self.assertEqual((findings(done), done.returncode), ([], 0), done.stderr)
            drawn = healthy.railbed('discover', '--svg', 'picture.svg')
            self.assertEqual(drawn.returncode, 0, drawn.stderr)
            self.assertIn('spine09', (healthy.folder / 'picture.svg').read_text())
            healthy.say(f'Unlink "S-{subnet.leaf_guid(7):016x}"[3]')
            found = findings(healthy.railbed('verify', '--window', '0', '--json', '--plan', 'plan'))
            self.assertEqual([rule for rule, _ in found], ['fabric.missing-node'], found)
            self.assertIn('port 3 of leaf07', found[0][1])


if __name__ == '__main__':
    if subnet.missing():
        print('not here:', ', '.join(subnet.missing()), '(scripts/install-packages test)')
        sys.exit(77)
    guardian.begin()
    unittest.main(verbosity=1)
