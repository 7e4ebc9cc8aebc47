#!/usr/bin/env python3
"""RDMA between the two guests: numbers with checked data, and runs that are broken on the way end and say why.

Usage: rdma_bench_test.py RAILBED. Uses the pair in RAILBED_LAB_DIR (default: build/lab); brings it up, and takes it
down again, unless it was up. No number is judged: every speed here is an emulator's.
"""
import json
import os
import pathlib
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
# Until a broken run must have ended by itself. Two seconds of retries are expected; the host may be busy.
PATIENCE = 90


def setUpModule():
    global WAS_UP
    WAS_UP = PAIR.locked()
    PAIR.up()
    for node in ('vm1', 'vm2'):
        PAIR.fault(node, 'clear')


def tearDownModule():
    if not WAS_UP:
        PAIR.down()


def bench(*words):
    return subprocess.Popen([str(RAILBED), 'bench', *words, '--json'], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start(*words):
    return bench('rdma', 'vm1', 'vm2', '--cluster', str(PAIR.cluster), *words)


def ended(run, patience=PATIENCE):
    out, err = run.communicate(timeout=patience)
    assert run.returncode in (0, 1, 2), f'exit {run.returncode}: {err}'
    return run.returncode, json.loads(out)


def result(run):
    code, document = ended(run)
    return code, document['measurements']


# rxe of Linux 6.1 may lose its place in a message when it sends packets again, which it does where guests wait for
# the host's processors; its peer then refuses the message. That says nothing of railbed, so such a run is made once
# more, and only once.
def sound(*words, patience=PATIENCE):
    code, document = ended(bench(*words), patience)
    if code == 2 and 'IBV_WC_REM_INV_REQ_ERR' in json.dumps(document):
        print('rxe lost its place: once more', flush=True)
        code, document = ended(bench(*words), patience)
    return code, document


def sound_rdma(*words):
    code, document = sound('rdma', 'vm1', 'vm2', '--cluster', str(PAIR.cluster), *words)
    return code, document['measurements']


def until_it_measures(run):
    for line in run.stderr:
        if line.startswith('rdma '):
            time.sleep(4)  # set-up is over and writes are under way, or nearly: both must end well
            return
    raise AssertionError(f'ended before it measured: {run.stdout.read()}')


class Sound(unittest.TestCase):
    def test_bandwidth_and_latency_with_checked_data(self):
        code, measurements = sound_rdma('--sizes', '4K,64K', '--seconds', '1', '--both-ways')
        self.assertEqual(code, 0, measurements)
        self.assertEqual([(one['metric'], one['message_bytes'], one['from']['node']) for one in measurements],
                         [('bandwidth', 4096, 'vm1'), ('bandwidth', 65536, 'vm1'), ('bandwidth', 4096, 'vm2'),
                          ('bandwidth', 65536, 'vm2'), ('latency', 8, 'vm1')])
        for one in measurements:
            self.assertIsNone(one['failure'])
            self.assertGreater(one['summary']['median'], 0)
            self.assertGreater(one['checked_bytes'], 0)
            self.assertEqual(one['wrong_bytes'], 0)
            self.assertEqual(one['mtu'], 4096)
            self.assertEqual(one['from']['device'], 'rxe0/1')
            # Where the kernel puts the address depends on the order in which the interface got its others.
            gid = PAIR.ssh(one['from']['node'], f"cat /sys/class/infiniband/rxe0/ports/1/gids/{one['from']['gid_index']}")
            self.assertRegex(gid.stdout, '^(0000:){5}ffff:')  # an IPv4 address
        for one in measurements[:-1]:
            self.assertGreater(one['packets'], 0)
            self.assertTrue(one['ceiling']['nominal'])

    def test_every_operation_moves_checked_data(self):
        code, measurements = sound_rdma('--operations', 'read,send,datagram', '--sizes', '4K', '--seconds', '0.5',
                                        '--streams', '3', '--traffic-class', '104,0', '--flow-label', '7')
        self.assertEqual(code, 0, measurements)
        self.assertEqual([(one['operation'], one['metric'], one['message_bytes']) for one in measurements],
                         [(operation, metric, size) for operation in ('read', 'send', 'datagram')
                          for metric, size in (('bandwidth', 4096), ('latency', 8))])
        for one in measurements:
            self.assertIsNone(one['failure'], one)
            self.assertGreater(one['summary']['median'], 0, one)
            self.assertGreater(one['checked_bytes'], 0, one)
            self.assertEqual(one['wrong_bytes'], 0, one)

    def test_both_directions_at_once(self):
        for operation in ('write', 'read', 'send'):
            code, measurements = sound_rdma('--operations', operation, '--duplex', '--sizes', '64K', '--seconds', '1',
                                            '--bandwidth-only')
            self.assertEqual(code, 0, measurements)
            self.assertEqual(measurements[0]['operation'], f'{operation} duplex')
            self.assertGreater(measurements[0]['summary']['median'], 0)
            self.assertGreater(measurements[0]['checked_bytes'], 0)

    def test_threads_share_out_the_queue_pairs(self):
        code, measurements = sound_rdma('--operations', 'write,read,send,datagram', '--threads', '2', '--streams', '3',
                                        '--sizes', '4K', '--seconds', '0.5', '--bandwidth-only')
        self.assertEqual(code, 0, measurements)
        self.assertEqual([one['operation'] for one in measurements],
                         [f'{operation}, 2 threads' for operation in ('write', 'read', 'send', 'datagram')])
        for one in measurements:
            self.assertIsNone(one['failure'], one)
            self.assertGreater(one['summary']['median'], 0, one)
            self.assertGreater(one['checked_bytes'], 0, one)
            self.assertEqual(one['wrong_bytes'], 0, one)

    def test_a_sweep_ends_where_datagrams_do(self):
        code, measurements = sound_rdma('--operations', 'datagram', '--sizes', '1K,4K,8K,64K', '--seconds', '0.3',
                                        '--bandwidth-only')
        self.assertEqual(code, 0, measurements)
        self.assertEqual([one['message_bytes'] for one in measurements], [1024, 4096])


class Ladder(unittest.TestCase):
    def test_software_rdma_is_the_rung_that_loses_and_why(self):
        code, document = sound('ladder', 'vm1', 'vm2', '--cluster', str(PAIR.cluster), '--seconds', '1')
        (ladder,) = document['ladders']
        tcp, manager, rdma, *others = ladder['rungs']
        for rung in tcp, rdma:
            self.assertIsNone(rung['measurement']['failure'], rung)
            self.assertGreater(rung['measurement']['summary']['median'], 0)
            self.assertGreater(rung['measurement']['checked_bytes'], 0)
        self.assertEqual(manager['kind'], 'rdma-cm')
        self.assertIsNone(manager['measurement']['failure'], manager)
        self.assertGreater(manager['measurement']['checked_bytes'], 0)
        self.assertEqual([rung['not_climbed'] for rung in others], ['vm1 has no NVIDIA GPU'] * 2)
        # No number is judged here: which of the two an emulator does faster decides what is said of it.
        slower = rdma['measurement']['summary']['median'] < 0.9 * tcp['measurement']['summary']['median']
        self.assertEqual((ladder['loser'], code), (2, 1) if slower else (-1, 0), ladder)
        if slower:
            self.assertIn('software RDMA: rxe0 of vm1 is rxe', rdma['causes'][0])


class ConnectionManager(unittest.TestCase):
    """RDMA-CM between the guests, where it works and where each of its parts is missing."""

    def manager(self, expected):
        code, document = ended(bench('rdma-cm', 'vm1', 'vm2', '--cluster', str(PAIR.cluster), '--seconds', '0.5',
                                     '--latency-size', '64,4K', '--no-store'))
        self.assertEqual(code, expected, document)
        return document['measurements']

    def test_connects_and_what_comes_back_is_right(self):
        measurements = self.manager(0)
        self.assertEqual([one['message_bytes'] for one in measurements], [64, 4096])
        for one in measurements:
            self.assertIsNone(one['failure'], one)
            self.assertGreater(one['summary']['median'], 0, one)
            self.assertGreater(one['checked_bytes'], 0, one)
            self.assertEqual(one['wrong_bytes'], 0, one)
            self.assertEqual((one['from']['device'], one['to']['device']), ('rxe0', 'rxe0'), one)

    def assert_root(self, layer, node, cause):
        (one,) = self.manager(2)
        root = one['failure']['root']
        self.assertEqual((root['layer'], root['node']), (layer, node), one)
        self.assertIn(cause, root['cause'], one)
        self.assertTrue(one['failure']['remedy'], one)
        print(f'{self.id().split(".")[-1]}: {one["failure"]["cause"]}', file=sys.stderr)
        return one

    def test_a_module_that_is_not_loaded(self):
        # The kernel loads it as soon as a program wants it, unless that is forbidden.
        never = '/etc/modprobe.d/no-ucm.conf'
        self.addCleanup(PAIR.ssh, 'vm2', f'rm {never}; modprobe rdma_ucm')
        done = PAIR.ssh('vm2', f'mkdir -p /etc/modprobe.d; echo install rdma_ucm /bin/false > {never}; modprobe -r rdma_ucm')
        self.assertEqual(done.returncode, 0, done)
        self.assert_root('rdma-cm', 'vm2', 'rdma_ucm is not loaded')

    def test_roce_that_a_filter_drops_is_named_by_the_step_that_fails(self):
        self.addCleanup(PAIR.fault, 'vm2', 'clear')
        PAIR.fault('vm2', 'blackhole')
        (one,) = self.manager(2)
        self.assertRegex(one['failure']['cause'], 'rdma_(resolve_addr|connect)', one)


class Training(unittest.TestCase):
    TRAIN = ('train', str(PAIR.cluster), '--model', 'resnet50', '--no-store')

    def test_both_transports_sum_exactly(self):
        # Gradients of two bytes: less to move, and a last bucket that no message size divides. Eight exchanges over
        # each transport take an emulator about a minute.
        code, document = sound(*self.TRAIN, '--step-time', '100', '--seconds', '1', '--dtype-bytes', '2',
                               patience=5 * PATIENCE)
        self.assertEqual(code, 0, document)
        tcp, rdma = document['reports']
        for report, transport in (tcp, 'TCP'), (rdma, 'RDMA'):
            self.assertEqual((report['transport'], report['nodes']), (transport, ['vm1', 'vm2']))
            self.assertGreaterEqual(report['rounds'], 3)
            self.assertGreater(report['exchange']['median'], 0)
            self.assertGreater(report['checked_bytes'], 0)
            self.assertEqual(report['wrong_bytes'], 0)
            self.assertTrue(report['ceiling']['nominal'])

    def cause_after(self, trouble):
        run = bench(*self.TRAIN, '--transport', 'rdma', '--step-time', '1000', '--seconds', '600')
        self.addCleanup(run.kill)
        for line in run.stderr:
            if line.startswith('rehearsing'):
                break
        time.sleep(4)
        trouble()
        out, _ = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 2)
        return json.loads(out)['reports'][0]['failure']['cause']

    def test_a_link_that_is_cut_is_named(self):
        self.addCleanup(PAIR.fault, 'vm2', 'clear')
        self.assertIn('vm2: eth1 is down', self.cause_after(lambda: PAIR.fault('vm2', 'cut')))

    def test_an_agent_that_is_killed_is_named(self):
        self.assertIn('vm2', self.cause_after(lambda: PAIR.ssh('vm2', AGENTS.format('kill -9'))))


GPU = '0000:1a:00.0'  # of the library that stands for CUDA; its memory is the process's own
LIBRARY = '/usr/lib/x86_64-linux-gnu/libcuda.so.1'


@unittest.skipUnless(os.environ.get('RAILBED_FAKE_GPU'), 'RAILBED_FAKE_GPU names no library')
class GpuMemory(unittest.TestCase):
    def setUp(self):
        for node in ('vm1', 'vm2'):
            with open(os.environ['RAILBED_FAKE_GPU'], 'rb') as library:
                subprocess.run(PAIR.ssh_argv(node, f'cat > {LIBRARY}'), stdin=library, check=True, timeout=PATIENCE)
            self.addCleanup(PAIR.ssh, node, f'rm {LIBRARY}')

    def moved(self, *words):
        code, measurements = result(start('--memory', f'gpu:{GPU}', '--sizes', '64K', '--seconds', '1', *words))
        for one in measurements:
            if not one['failure']:
                self.assertGreater(one['summary']['median'], 0, one)
                self.assertGreater(one['checked_bytes'], 0, one)
                self.assertEqual(one['wrong_bytes'], 0, one)
        return code, measurements

    def test_staged_where_no_adapter_reaches_it(self):
        code, (one,) = self.moved('--operations', 'send')
        self.assertEqual((code, one['operation']), (0, 'send, GPU memory'), one)
        for end in 'from', 'to':
            self.assertEqual(one[end]['memory'], f'GPU {GPU}, staged')
            self.assertRegex(one[end]['memory_why'], 'not by DMA-BUF: .*; not by nvidia-peermem: the module is not loaded')

    def test_staged_writes_are_refused(self):
        code, (one,) = self.moved()
        self.assertEqual(code, 2)
        self.assertIn(f'no adapter reaches the memory of GPU {GPU}', one['failure']['cause'])
        self.assertIn('--operations send', one['failure']['remedy'])

    def test_registered_as_with_nvidia_peermem(self):
        for node in ('vm1', 'vm2'):
            done = PAIR.ssh(node, 'mount -t tmpfs none /sys/module && mkdir /sys/module/nvidia_peermem && '
                                  'echo 1 > /sys/module/nvidia_peermem/version')
            self.assertEqual(done.returncode, 0, done)
            self.addCleanup(PAIR.ssh, node, 'umount /sys/module')
        code, measurements = self.moved('--operations', 'write,read,send')
        self.assertEqual((code, [one['operation'] for one in measurements]),
                         (0, ['write, GPU memory', 'read, GPU memory', 'send, GPU memory']), measurements)
        for one in measurements:
            self.assertEqual(one['from']['memory'], f'GPU {GPU}, nvidia-peermem')


class BurnIn(unittest.TestCase):
    def tearDown(self):
        for node in ('vm1', 'vm2'):
            PAIR.fault(node, 'clear')

    def test_rails_carry_checked_data_until_one_is_cut(self):
        """By RDMA, in turns of fifteen seconds, both directions at once, every message compared."""
        run = subprocess.Popen([str(RAILBED), 'burn', str(PAIR.cluster), '--only-rails', '--minutes', '1.2', '--unseen', '0',
                                '--no-store', '--json'],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        time.sleep(35)
        PAIR.fault('vm2', 'cut')
        out, err = run.communicate(timeout=300)
        self.assertEqual(run.returncode, 2, err)
        burn = json.loads(out)['burn']
        self.assertEqual({(port['node'], port['rail']) for port in burn['rails']['ports']}, {('vm1', 'rail0'), ('vm2', 'rail0')})
        for port in burn['rails']['ports']:
            self.assertEqual((port['engine'], port['wrong']), ('rdma', 0), port)
            self.assertGreater(min(port['turns'], port['sent'], port['received']), 0, port)
        self.assertGreater(burn['rails']['checked'], 0)
        self.assertGreater(burn['rails']['fault_count'], 0)
        told = ' '.join(one['message'] for one in burn['findings'] if one['status'] == 'fail')
        print(f'burn: {told}', file=sys.stderr)
        self.assertRegex(told, 'rail0 failed between vm1 and vm2')


# A line for the shell of a guest: does something to the agent's processes there.
AGENTS = 'for p in /proc/[0-9]*; do case $(readlink $p/exe) in */agents/*/railbed) {} ${{p#/proc/}};; esac; done'


class Broken(unittest.TestCase):
    def tearDown(self):
        for node in ('vm1', 'vm2'):
            PAIR.ssh(node, AGENTS.format('kill -9'))
        for node in ('vm1', 'vm2'):
            PAIR.fault(node, 'clear')

    def broken_by(self, breaking, *words):
        run = start('--sizes', '64K', '--seconds', '600', *words)
        self.addCleanup(run.kill)
        until_it_measures(run)
        breaking()
        code, measurements = result(run)
        self.assertEqual(code, 2)
        self.assertEqual(len(measurements), 1, measurements)
        failure = measurements[0]['failure']
        self.assertIsNotNone(failure)
        self.assertTrue(failure['remedy'], failure)
        print(f'{self.id().split(".")[-1]}: {failure["cause"]}', file=sys.stderr)
        return failure['cause']

    def test_cut_on_the_receiving_side(self):
        self.assertIn('vm2: eth1 is down', self.broken_by(lambda: PAIR.fault('vm2', 'cut'), '--bandwidth-only'))

    def test_cut_on_the_sending_side(self):
        self.assertIn('vm1: eth1 is down', self.broken_by(lambda: PAIR.fault('vm1', 'cut'), '--bandwidth-only'))

    def test_blackhole(self):
        cause = self.broken_by(lambda: PAIR.fault('vm2', 'blackhole'), '--bandwidth-only')
        self.assertIn('IBV_WC_RETRY_EXC_ERR: no acknowledgement from vm2', cause)

    def test_blackhole_while_pinging(self):
        cause = self.broken_by(lambda: PAIR.fault('vm2', 'blackhole'), '--latency-only')
        self.assertIn('vm2', cause)

    def test_killed_agent_of_the_receiver(self):
        cause = self.broken_by(lambda: PAIR.ssh('vm2', AGENTS.format('kill -9')), '--bandwidth-only')
        self.assertIn('the agent on vm2', cause)
        self.assert_no_agents('vm1')

    def test_killed_agent_of_the_sender(self):
        cause = self.broken_by(lambda: PAIR.ssh('vm1', AGENTS.format('kill -9')), '--bandwidth-only', '--operations',
                               'send')
        self.assertIn('the agent on vm1', cause)
        self.assert_no_agents('vm2')

    def test_stopped_agent_of_the_receiver(self):
        cause = self.broken_by(lambda: PAIR.ssh('vm2', AGENTS.format('kill -STOP')), '--bandwidth-only',
                               '--operations', 'send')
        self.assertIn('vm2', cause)
        self.assert_no_agents('vm1')

    def test_stopped_agent_while_pinging(self):
        cause = self.broken_by(lambda: PAIR.ssh('vm2', AGENTS.format('kill -STOP')), '--latency-only')
        self.assertIn('vm2 did not answer', cause)
        self.assert_no_agents('vm1')

    def test_loss_is_counted_and_ends_nothing(self):
        PAIR.fault('vm1', 'loss', '1%')
        code, measurements = result(start('--sizes', '64K', '--seconds', '2', '--bandwidth-only'))
        self.assertEqual(code, 0, measurements)
        self.assertGreater(measurements[0]['lost'], 0)
        self.assertEqual(measurements[0]['wrong_bytes'], 0)

    def assert_no_agents(self, node):
        until = time.monotonic() + PATIENCE
        while PAIR.ssh(node, AGENTS.format('echo')).stdout:
            self.assertLess(time.monotonic(), until, f'an agent was left on {node}')
            time.sleep(0.5)

    def test_no_gid_is_said_before_anything_runs(self):
        PAIR.fault('vm2', 'no-module')
        code, measurements = result(start('--sizes', '64K', '--seconds', '1', '--bandwidth-only'))
        self.assertEqual(code, 2)
        self.assertIn('vm2: eth1 has no RDMA device', measurements[0]['failure']['cause'])


if __name__ == '__main__':
    guardian.begin()
    unittest.main(verbosity=2)
