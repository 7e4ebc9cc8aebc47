#!/usr/bin/env python3
"""Storage over the rail between two machines with a whole operating system: node1 serves two block devices, by NVMe over TCP and over
software RDMA, and node2 connects to them, as `railbed apply` sets it up.

The binary is found in RAILBED. Builds what is missing in RAILBED_LAB_DIR (default: build/lab). RAILBED_OS_LAB=all reboots the server, too.
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
SECONDS = 900  # should a wait never end, its guests do
ALL = os.environ.get('RAILBED_OS_LAB') == 'all'
EXPORTS = {'by-tcp': 'nvme-tcp', 'by-rdma': 'nvme-rdma'}
STORAGE = '''storage:
  - {name: by-tcp, server: node1, device: /dev/loop1, protocol: nvme-tcp, rail: rail0, clients: node2}
  - {name: by-rdma, server: node1, device: /dev/loop2, protocol: nvme-rdma, rail: rail0, clients: node2}
'''
# Plays the drives: two block devices that are there at each boot.
DRIVES = '''set -e
for n in 1 2; do truncate -s 48M /var/lib/lab-drive$n; done
cat >/etc/systemd/system/lab-drives.service <<END
[Unit]
Before=railbed-nvmet.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/modprobe loop
ExecStart=/sbin/losetup /dev/loop1 /var/lib/lab-drive1
ExecStart=/sbin/losetup /dev/loop2 /var/lib/lab-drive2
[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable --now lab-drives.service
'''
# Writes random data past the client's cache and reads them again. Both machines print what they have of them.
WRITE = '''set -e
dd if=/dev/urandom of=/tmp/data bs=1M count=8 status=none
dd if=/tmp/data of={device} bs=1M oflag=direct conv=fsync status=none
sha256sum </tmp/data'''
READ = 'dd if={device} bs=1M count=8 iflag=direct status=none | sha256sum'
# Seconds for 32 MiB, past the client's cache.
TIME = '''t0=$(date +%s%N); dd if={device} of=/dev/null bs=1M count=32 iflag=direct status=none; echo $(($(date +%s%N) - t0))'''


def setUpModule():
    try:
        with os_image.exclusive(FOLDER / 'os'):
            os_image.build('netplan', FOLDER)
    except LabError as problem:
        print(problem, file=sys.stderr)
        sys.exit(77)


class Storage(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.pair = OsPair('netplan', SECONDS, FOLDER)
        cls.addClassCleanup(cls.pair.down)
        cls.pair.up()
        cls.cluster = cls.pair.folder / 'storage.yaml'
        cls.cluster.write_text(cls.pair.cluster.read_text() + STORAGE)
        status, output = cls.pair.run('node1', DRIVES, user='root')
        if status:
            raise LabError(output)

    def ok(self, node, command, **options):
        status, output = self.pair.run(node, command, user='root', **options)
        self.assertEqual(status, 0, output)
        return output.strip()

    def railbed(self, command, *words, status=None):
        done = self.pair.railbed(command, self.cluster, '--connect-timeout', '120', *words, timeout=600)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout[-6000:] + done.stderr[-4000:])
        return done

    def findings(self):
        """{(rule, node, export): finding}, each with its cause."""
        all_of_them = json.loads(self.railbed('verify', '--json', '--all').stdout)['findings']
        for one in all_of_them:
            one['cause'] = None if one['caused_by'] is None else all_of_them[one['caused_by']]
        return {(one['rule'], one['node'], one['subject']): one for one in all_of_them if one['subject'] in EXPORTS}

    def red(self):
        return {key: one for key, one in self.findings().items() if one['status'] in ('fail', 'warn', 'unknown')}

    def wait_until_sound(self):
        for _ in range(6):
            red = self.red()
            if not red:
                return
            time.sleep(3)
        self.fail(red)

    def device(self, name):
        path = self.ok('node2', f'''for d in /dev/disk/by-id/nvme-uuid.*; do b=$(readlink -f $d);
            [ "$(cat /sys/block/${{b##*/}}/device/subsysnqn)" = nqn.2024-07.internal.railbed:node1:{name} ] && echo $d; done; true''')
        self.assertRegex(path, r'^/dev/disk/by-id/nvme-uuid\.\S+$', name)
        return path

    def data(self, device):
        return self.ok('node2', READ.format(device=device))

    def test_1_a_device_in_use_is_refused(self):
        self.ok('node1', 'mkswap /dev/loop1 && swapon /dev/loop1')
        try:
            plan = json.loads(self.railbed('plan', '--json', '--only', 'storage', status=1).stdout)
        finally:
            self.ok('node1', 'swapoff /dev/loop1 && dd if=/dev/zero of=/dev/loop1 bs=1M count=1 status=none')
        held = {node['node']: [change['held'] for change in node['changes']] for node in plan['nodes']}
        self.assertEqual(held, {'node1': ['/dev/loop1 (loop1) must not be served: it is swap'], 'node2': ['', '']})

    def test_2_apply_connects_it_and_nothing_is_left_to_do(self):
        outcome = json.loads(self.railbed('apply', '--yes', '--json', '--timeout', '300', status=0).stdout)
        self.assertTrue(outcome['committed'], outcome)
        self.railbed('plan', '--as-root', status=0)
        self.wait_until_sound()
        passed = {key for key, one in self.findings().items() if one['status'] == 'pass'}
        for name in EXPORTS:
            self.assertLessEqual({('storage.exported', 'node1', name), ('storage.connected', 'node2', name),
                                  ('storage.path', 'node2', name)}, passed)

    def test_3_what_a_client_writes_is_on_the_drive(self):
        for number, name in enumerate(EXPORTS, 1):
            with self.subTest(name):
                written = self.ok('node2', WRITE.format(device=self.device(name)))
                self.assertEqual(self.data(self.device(name)), written)
                self.assertEqual(self.ok('node1', READ.format(device=f'/dev/loop{number}')), written)

    def test_3_what_is_mounted_stays_connected(self):
        device = self.device('by-tcp')
        self.ok('node2', f'mkfs.ext4 -q -F {device} && mkdir -p /scratch && mount {device} /scratch && cp /tmp/data /scratch/')
        try:
            self.ok('node2', 'systemctl stop railbed-connect-by-tcp.service; cmp /tmp/data /scratch/data && '
                             'systemctl start railbed-connect-by-tcp.service')
        finally:
            self.ok('node2', 'umount /scratch')
        self.wait_until_sound()

    def test_4_a_target_that_is_gone_is_the_cause(self):
        before = {name: self.data(self.device(name)) for name in EXPORTS}
        self.ok('node1', 'systemctl stop railbed-nvmet.service; [ -z "$(ls /sys/kernel/config/nvmet/subsystems)" ]')
        red = self.red()
        self.assertEqual(set(red), {('storage.exported', 'node1', name) for name in EXPORTS} |
                         {('storage.connected', 'node2', name) for name in EXPORTS})
        for name in EXPORTS:
            cause = red['storage.connected', 'node2', name]['cause']
            self.assertEqual((cause['rule'], cause['subject']), ('storage.exported', name))
        self.ok('node1', 'systemctl start railbed-nvmet.service')
        self.wait_until_sound()
        self.assertEqual({name: self.data(self.device(name)) for name in EXPORTS}, before)

    def test_5_a_rail_that_is_down_turns_the_client_red(self):
        before = {name: self.data(self.device(name)) for name in EXPORTS}
        self.pair.cut_rail()
        try:
            time.sleep(12)  # a keep-alive of five seconds has failed
            red = self.red()
        finally:
            self.pair.mend_rail()
        self.assertEqual(set(red), {('storage.connected', 'node2', name) for name in EXPORTS})
        self.wait_until_sound()
        self.assertEqual({name: self.data(self.device(name)) for name in EXPORTS}, before)

    def test_6_rates(self):
        """For docs/how-to/storage.md; nothing is asserted of them."""
        rates = {}
        for name in EXPORTS:
            nanoseconds = min(int(self.ok('node2', TIME.format(device=self.device(name)))) for _ in range(3))
            rates[name] = f'{32 * 8 * 1.048576e9 / nanoseconds:.0f} Mb/s'
        bench = self.pair.railbed('bench', 'tcp', 'node1', 'node2', '--cluster', self.cluster, '--rail', 'rail0', '--seconds', '2', timeout=600)
        print(f'reading 32 MiB: {rates}\n{bench.stdout}{bench.stderr}', file=sys.stderr)

    @unittest.skipUnless(ALL, 'RAILBED_OS_LAB=all does it')
    def test_7_the_server_reboots_and_the_client_goes_on(self):
        before = {name: self.data(self.device(name)) for name in EXPORTS}
        # railbed's own unit makes the RDMA device of the rail then; the lab's would want to make it, too.
        self.ok('node1', 'systemctl disable lab-rxe.service')
        self.pair.reboot('node1')
        self.wait_until_sound()
        self.assertEqual({name: self.data(self.device(name)) for name in EXPORTS}, before)
        self.railbed('plan', '--as-root', status=0)

    def test_8_a_rollback_leaves_nothing(self):
        self.railbed('rollback', '--yes', status=0)
        self.assertEqual(self.ok('node1', 'ls /sys/kernel/config/nvmet/subsystems /etc/railbed 2>/dev/null || true'),
                         '/sys/kernel/config/nvmet/subsystems:')
        self.assertEqual(self.ok('node2', 'ls -d /sys/class/nvme/nvme* /etc/railbed 2>/dev/null || true'), '')


if __name__ == '__main__':
    guardian.begin()
    unittest.main()
