#!/usr/bin/env python3
"""The emulated cluster: host keys are checked, RDMA works, faults show and mend, nothing stays behind.

Uses the pair in RAILBED_LAB_DIR (default: build/lab), which must not be up. Builds what is missing.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import faults  # noqa: E402
from initramfs import NODES  # noqa: E402
from vm_pair import Pair  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

PAIR = Pair(os.environ.get('RAILBED_LAB_DIR', HERE.parent.parent / 'build/lab'))
PATIENCE = 30  # seconds until a wait gives up; nothing is expected to take as long
MINUTES = 10  # should this process be killed, its guests end by themselves


def setUpModule():
    if PAIR.locked():
        raise AssertionError(f'{PAIR.folder} is in use: `vms down` first')


def tearDownModule():
    PAIR.down()


def eventually(condition):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    return condition()


def alive(pids):
    return [pid for pid in pids if os.path.exists(f'/proc/{pid}/exe')]  # a zombie has none


def processes():
    state = PAIR.state()
    return [state['supervisor'], *state['pids'].values()]


class FaultArguments(unittest.TestCase):
    def test_only_what_the_table_allows_reaches_a_shell(self):
        wrong = (('mtu', '9000; reboot'), ('mtu', None), ('loss', '1'), ('cut', 'eth0'), ('fire', None))
        for name, argument in wrong:
            with self.subTest(name=name, argument=argument), self.assertRaises(ValueError):
                faults.script(name, argument)
        self.assertIn('loss 1%', faults.script('loss', '1%'))


class Lifecycle(unittest.TestCase):
    def tearDown(self):
        PAIR.down()

    def test_down_leaves_no_process(self):
        PAIR.up(MINUTES)
        pids = processes()
        self.assertEqual(len(alive(pids)), 3)
        self.assertTrue(PAIR.down())
        self.assertEqual(alive(pids), [])
        self.assertIsNone(PAIR.state())
        self.assertFalse((PAIR.run / 'state.json').exists())

    def test_guests_do_not_outlive_a_killed_supervisor(self):
        PAIR.up(MINUTES)
        supervisor, *guests = processes()
        os.kill(supervisor, signal.SIGKILL)
        self.assertTrue(eventually(lambda: not alive(guests)))
        self.assertFalse(PAIR.down())

    def test_guests_end_at_their_maximum_lifetime(self):
        PAIR.up(max_minutes=0.1)
        self.assertTrue(eventually(lambda: not PAIR.locked()))

    def test_interrupt_while_coming_up_cleans_up(self):
        up = subprocess.Popen([sys.executable, str(HERE / 'vms'), '--dir', str(PAIR.folder), 'up', '--fresh'],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pids = eventually(lambda: (PAIR.state() or {}).get('pids') and processes())
        up.send_signal(signal.SIGINT)
        self.assertEqual(up.wait(PATIENCE), 130)
        self.assertEqual(len(pids), 3)
        self.assertEqual(alive(pids), [])
        self.assertFalse(PAIR.locked())


class Nodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        PAIR.up(MINUTES)
        cls.scratch = tempfile.mkdtemp(prefix='lab')  # short: a socket path has 108 bytes
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        for node in NODES:
            master = subprocess.Popen([*cls.shared(), '-MN', node])
            cls.addClassCleanup(master.wait)
            cls.addClassCleanup(master.terminate)

            eventually(lambda: os.path.exists(f'{cls.scratch}/{node}'))

    @classmethod
    def shared(cls):
        return ['ssh', '-F', str(PAIR.ssh_config), '-o', f'ControlPath={cls.scratch}/%n']

    def ssh(self, node, command, stdin=subprocess.DEVNULL):
        return subprocess.run([*self.shared(), node, command], stdin=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE)

    def output(self, node, command):
        return self.ssh(node, command).stdout.decode().strip()

    def succeeds(self, node, command):
        return self.ssh(node, command).returncode == 0

    def active_mtu(self, node):
        return re.search(r'active_mtu:\s+(\d+)', self.output(node, 'ibv_devinfo'))[1]

    def test_host_key_is_checked(self):
        impostor = pathlib.Path(self.scratch) / 'known_hosts'
        # vm2's key under vm1's name
        impostor.write_text(next(line for line in (PAIR.folder / 'known_hosts').read_text().splitlines()
                                 if line.startswith('vm2')).replace('vm2', 'vm1', 1) + '\n')
        argv = ['ssh', '-F', str(PAIR.ssh_config), '-o', f'UserKnownHostsFile={impostor}', 'vm1', 'true']
        refused = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, timeout=PATIENCE)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn('Host key verification failed', refused.stdout)
        self.assertEqual(PAIR.ssh('vm1', 'hostname').stdout, 'vm1\n')

    def test_private_keys_are_private(self):
        keys = [PAIR.folder / 'keys' / name for name in ('login', *NODES)]
        for path in (*keys, PAIR.folder / 'initramfs.cpio', *(PAIR.folder / 'saved').iterdir()):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_connections_are_shared(self):
        self.assertTrue(self.succeeds('vm1', 'true'))
        checked = subprocess.run([*self.shared(), '-O', 'check', 'vm1'], stderr=subprocess.PIPE, text=True)
        self.assertIn('Master running', checked.stderr)

    def test_rail_is_active_with_jumbo_frames(self):
        for node in NODES:
            self.assertEqual(self.output(node, 'cat /sys/class/infiniband/rxe0/ports/1/state'), '4: ACTIVE')
            self.assertEqual(self.active_mtu(node), '4096')

    def test_guest_is_set_up_as_a_node(self):
        self.assertEqual(self.output('vm2', 'hostname'), 'vm2')
        self.assertEqual(self.output('vm1', 'ulimit -l; cd && touch x && rm x && pwd'), 'unlimited\n/root')
        buffers = self.output('vm1', 'sysctl -n net.core.rmem_max net.core.wmem_max')
        self.assertEqual(buffers, '268435456\n268435456')
        for tool in 'ip tc rdma ethtool modprobe sha256sum gzip ib_write_bw ib_write_lat iperf3'.split():
            self.assertTrue(self.succeeds('vm1', f'command -v {tool}'), tool)
        clock = int(self.output('vm1', 'date +%s'))
        self.assertLess(abs(clock - time.time()), PATIENCE)

    def test_cplusplus_program_finds_the_rdma_libraries(self):
        compiler = shutil.which('g++')
        if not compiler:
            self.skipTest('no g++')
        source = ('#include <dlfcn.h>\n#include <cmath>\n#include <iostream>\nint main(int argc, char**) {\n'
                  'for (auto name : {"libibverbs.so.1", "librdmacm.so.1", "libibumad.so.3"})\n'
                  'if (!dlopen(name, RTLD_NOW)) { std::cout << dlerror() << std::endl; return 1; }\n'
                  'std::cout << std::lround(std::cbrt(27.0 * argc)) << std::endl; }\n')
        program = pathlib.Path(self.scratch) / 'program'
        subprocess.run([compiler, '-static-libstdc++', '-x', 'c++', '-', '-o', str(program)],
                       input=source.encode(), check=True)
        with open(program, 'rb') as binary:
            ran = self.ssh('vm1', 'cat >/tmp/program && chmod +x /tmp/program && /tmp/program', stdin=binary)
        self.assertEqual((ran.returncode, ran.stdout), (0, b'3\n'))

    def test_rdma_write_between_the_nodes(self):
        # perftest's clock calibration may fail under emulation, and then it prints 0.00: the row counts.
        command = 'timeout 30 ib_write_bw -d rxe0 -x 1 -F -n 200 -s 65536'
        server = subprocess.Popen([*self.shared(), 'vm1', command], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertTrue(eventually(lambda: self.succeeds('vm1', 'ss -Hltn sport = :18515 | grep -q LISTEN')))
        client = self.output('vm2', command + ' 10.77.0.1')
        self.assertEqual(server.wait(PATIENCE), 0, server.stdout.read())
        server.stdout.close()
        self.assertRegex(client, r'(?m)^\s*65536\s+200\s')

    def test_every_fault_shows_and_clears(self):
        rxe = '/sys/class/infiniband/rxe0'
        gid = f'cat {rxe}/ports/1/gids/* | grep 0000:0000:0000:0000:0000:ffff:0a4d:0001'
        reach = 'ping -c 1 -W 2 10.77.0.1'
        # One datagram to RoCE's UDP port, then what the ingress filter has dropped.
        dropped = 'tc -s filter show dev eth1 parent ffff: | grep -o "dropped [1-9][0-9]*"'

        def black():
            return self.succeeds('vm2', 'echo >/dev/udp/10.77.0.1/4791') and self.succeeds('vm1', dropped)

        # By fault: its argument; what holds if healthy and not if broken; what holds even so.
        cases = {
            'mtu': ('1500', lambda: self.active_mtu('vm1') == '4096', None),
            'no-gid': (None, lambda: self.succeeds('vm1', gid), lambda: self.succeeds('vm2', reach)),
            'no-address': (None, lambda: self.succeeds('vm2', reach), None),
            'wrong-subnet': (None, lambda: self.succeeds('vm1', '! ip addr show eth1 | grep 10.78.0.1/24'), None),
            'no-module': (None, lambda: self.succeeds('vm1', f'ls -d {rxe} /sys/module/rdma_rxe'), None),
            'no-uverbs': (None, lambda: self.succeeds('vm1', 'test -c /dev/infiniband/uverbs0'),
                          lambda: self.succeeds('vm1', f'ls -d {rxe}')),
            'bad-cable': ('1', lambda: self.succeeds('vm2', reach), None),
            'delay': ('3000ms', lambda: self.succeeds('vm2', reach), None),
            'slow': ('1mbit', lambda: self.succeeds('vm1', '! tc qdisc show dev eth1 | grep tbf'),
                     lambda: self.succeeds('vm2', reach)),
            'neighbour': (None, lambda: self.succeeds('vm1', 'ping -c 1 -W 2 10.77.0.2'), None),
            'loss': ('100%', lambda: self.succeeds('vm2', reach), None),
            'cut': (None, lambda: self.output('vm1', f'cat {rxe}/ports/1/state') == '4: ACTIVE', None),
            'blackhole': (None, lambda: not black(),
                          lambda: self.succeeds('vm2', 'echo >/dev/tcp/10.77.0.1/22')),
        }
        self.assertEqual(set(cases), set(faults.FAULTS) - {'clear'})
        for name, (argument, healthy, unharmed) in cases.items():
            self.assertTrue(eventually(healthy), f'{name}: before')
            PAIR.fault('vm1', name, argument)
            self.assertTrue(eventually(lambda: not healthy()), f'{name}: broken')
            if unharmed:
                self.assertTrue(unharmed(), f'{name}: what it must leave alone')
            self.assertIn(name, self.output('vm1', 'cat /run/lab-faults'))
            PAIR.fault('vm1', 'clear')
            self.assertTrue(eventually(healthy), f'{name}: cleared')
            self.assertFalse(self.succeeds('vm1', 'cat /run/lab-faults'))

    def test_up_is_content_when_the_pair_is_up(self):
        pids = processes()
        self.assertEqual(PAIR.up()[1], 'were up')
        self.assertEqual(processes(), pids)

    def test_cluster_file_names_the_ssh_configuration(self):
        text = PAIR.cluster.read_text()
        self.assertIn(f'config: {json.dumps(str(PAIR.ssh_config))}', text)
        self.assertTrue(PAIR.ssh_config.is_absolute() and PAIR.ssh_config.exists())


if __name__ == '__main__':
    guardian.begin()
    unittest.main(verbosity=2)
