#!/usr/bin/env python3
"""Storage over the rail between two machines with a whole operating system: node1 serves two block devices, by NVMe over TCP and over
software RDMA, and exports two directories by NFS over both; node2 connects to them, as `railbed apply` sets it up.

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
# One at a time: the kernel of a client has one connection to a server, so check refuses both at once.
SHARED = {'nfs-by-tcp': 'path: /srv/by-tcp, mount: /shared/by-tcp, protocol: nfs-tcp, nconnect: 2',
          'nfs-by-rdma': 'path: /srv/by-rdma, mount: /shared/by-rdma, protocol: nfs-rdma'}
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
        return {(one['rule'], one['node'], one['subject']): one for one in all_of_them
                if one['subject'] in EXPORTS or one['subject'] in SHARED}

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
        why = '/dev/loop1 (loop1) must not be served: it is swap'
        self.assertEqual(held, {'node1': [why], 'node2': [f'node1 will not serve it: {why}'] * 2})

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

    def share(self, *names):
        entries = ''.join(f'  - {{name: {name}, server: node1, rail: rail0, clients: node2, {SHARED[name]}}}\n' for name in names)
        self.cluster.write_text(self.pair.cluster.read_text() + ('storage:\n' + entries if names else ''))

    def sound_directory(self, name):
        self.railbed('apply', '--yes', '--timeout', '300', status=0)
        self.railbed('plan', '--as-root', status=0)
        self.wait_until_sound()
        passed = {key for key, one in self.findings().items() if one['status'] == 'pass'}
        self.assertLessEqual({('storage.exported', 'node1', name), ('storage.connected', 'node2', name),
                              ('storage.path', 'node2', name)}, passed)
        folder = name.removeprefix('nfs-')
        self.assertEqual(self.ok('node2', f'cat /shared/{folder}/file'), 'of-node1')
        # root of a client is nobody there
        status, _ = self.pair.run('node2', f'touch /shared/{folder}/mine', user='root')
        self.assertNotEqual(status, 0)

    def test_9_directories_are_mounted_over_the_rail(self):
        """Needs nfs-kernel-server in the image; without it the plan has to hold all of it, with the reason."""
        self.share(*SHARED)
        refused = self.pair.railbed('check', self.cluster, timeout=60)
        self.assertEqual(refused.returncode, 64)
        self.assertIn('has one connection to a server', refused.stderr)
        self.share('nfs-by-tcp')
        self.ok('node1', 'mkdir -p /srv/by-tcp /srv/by-rdma && echo of-node1 | tee /srv/by-tcp/file >/srv/by-rdma/file')
        status, _ = self.pair.run('node1', 'test -e /usr/sbin/exportfs', user='root')
        if status:
            plan = json.loads(self.railbed('plan', '--json', '--only', 'storage', '--as-root', status=1).stdout)
            held = [change['held'] for node in plan['nodes'] for change in node['changes']]
            self.assertEqual(len(held), 2, held)
            for why in held:
                self.assertIn('is not installed', why)
            self.skipTest('no nfs-kernel-server in the image')
        self.ok('node2', 'mkdir -p /shared/by-tcp && touch /shared/by-tcp/own')
        plan = json.loads(self.railbed('plan', '--json', '--only', 'storage', '--as-root', status=1).stdout)
        held = {change['held'] for node in plan['nodes'] for change in node['changes']}
        self.assertEqual(held, {'', '/shared/by-tcp is not empty: a mount would hide what is in it'})
        self.ok('node2', 'rm /shared/by-tcp/own')
        self.sound_directory('nfs-by-tcp')
        self.share('nfs-by-rdma')
        self.sound_directory('nfs-by-rdma')
        self.assertEqual(self.ok('node2', "grep -c ' /shared/by-tcp ' /proc/self/mountinfo || true"), '0')
        # By hand and by the other protocol: it works, and is red.
        self.ok('node2', 'umount /shared/by-rdma && mount -t nfs -o vers=4,proto=tcp 10.77.0.1:/srv/by-rdma /shared/by-rdma')
        self.assertIn(('storage.path', 'node2', 'nfs-by-rdma'), self.red())
        self.ok('node2', 'umount /shared/by-rdma && systemctl restart railbed-mount-nfs-by-rdma.service')
        self.wait_until_sound()
        self.share()
        self.railbed('apply', '--yes', '--timeout', '300', status=0)
        self.assertEqual(self.ok('node1', "exportfs -s | grep -c '^/srv/by-' || true"), '0')
        self.assertEqual(self.ok('node2', "grep -c ' /shared/' /proc/self/mountinfo || true"), '0')


if __name__ == '__main__':
    guardian.begin()
    unittest.main()
