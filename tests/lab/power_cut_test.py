#!/usr/bin/env python3
"""The history of runs survives a power cut at any moment: a run that was said to be kept is there, one that was not is
there whole or not at all.

Usage: power_cut_test.py RAILBED. A virtual machine keeps and removes runs on an ext4 disk. QEMU logs each write to that
disk and each flush (blklogwrites, in the format of the kernel's dm-log-writes), and the guest goes on only when we have
noted how long the log was as `railbed` ended. From the log we make what a disk may hold after a cut: all that was flushed,
and of the later writes any, some of them torn between two sectors. Each such disk has its journal replayed as at a mount,
and `railbed` reads the history.
"""
import json
import os
import pathlib
import random
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import guest_image  # noqa: E402
from initramfs import Initramfs  # noqa: E402
from vm_pair import Pair  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

PAIR = Pair(os.environ.get('RAILBED_LAB_DIR', HERE.parent.parent / 'build/lab'))
RAILBED = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else os.environ['RAILBED']).resolve()
RUN = HERE.parent / 'sessions/runs/switch.json'
STEPS = 12  # of three commands each
CUTS = 300
BOOT_SECONDS = 240
DISK_BYTES = 16 << 20
SECTOR = 512

# Keeps runs, and removes every third, so that pages of the file are used again. "said" is what was promised by then.
INIT = '''#!/bin/sh
export PATH=/usr/bin:/usr/sbin HOME=/root XDG_STATE_HOME=/mnt
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
exec </dev/ttyS0 >/dev/ttyS0 2>/dev/console
stty -echo
{modules}
mount -t ext4 /dev/vda /mnt || echo "no disk"
last=0
step=0
while [ $step -lt {steps} ]; do
  step=$((step + 1))
  for action in "import /run.json" "import /run.json" "remove $((last + 1))"; do
    said=$(railbed runs $action 2>&1) || echo "failed: $said"
    case $action in import*) last=${{said#run }} ;; esac
    echo "done $action"
    read -r go
  done
done
echo "end"
reboot -f
'''


class Extra(Initramfs):
    """What is laid over the lab's own file system: the program, a disk's modules, and another init."""

    def make(self, path):
        modules = []
        for line in self.kmod('modprobe', '-C', '/dev/null', '-d', str(self.root), '-S', self.release, '--show-depends',
                              '-a', 'virtio_pci', 'virtio_blk', 'ext4', 'crc32c_generic').splitlines():
            if line.startswith('insmod '):
                relative = line.strip().split(f'/modules/{self.release}/')[1]
                where = f'usr/lib/modules/{self.release}/{relative}'
                if where not in modules:
                    self.copy(self.root / where, where)
                    modules.append(where)
        self.put('power-cut', INIT.format(modules='\n'.join(f'insmod /{one}' for one in modules),
                                          steps=STEPS).encode(), 0o755)
        self.put('usr/bin/railbed', RAILBED.read_bytes(), 0o755)
        self.put('run.json', RUN.read_bytes())
        path.write_bytes(self.archive())


class Guest:
    """The machine whose disk is logged; `follow` yields each line it says on its serial line."""

    def __init__(self, image, initrd, disk, log):
        blocks = {'driver': 'blklogwrites', 'node-name': 'disk',
                  'file': {'driver': 'file', 'filename': str(disk)},
                  'log': {'driver': 'file', 'filename': str(log)}, 'log-sector-size': SECTOR}
        argv = [*image.qemu, '-machine', 'q35', '-cpu', 'max', '-smp', '1', '-m', '512', '-nodefaults', '-display', 'none',
                '-no-reboot', '-serial', 'stdio', '-kernel', image.kernel, '-initrd', str(initrd),
                '-append', 'console=ttyS0 quiet loglevel=0 rdinit=/power-cut panic=-1',
                '-blockdev', json.dumps(blocks), '-device', 'virtio-blk-pci,drive=disk']
        self.process = subprocess.Popen(argv, env={**os.environ, **image.qemu_env}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def follow(self):
        for line in self.process.stdout:
            yield line.decode(errors='replace').strip()

    def go_on(self):
        self.process.stdin.write(b'\n')
        self.process.stdin.flush()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class WriteLog:
    """Documentation/admin-guide/device-mapper/log-writes.rst of the kernel; drivers/md/dm-log-writes.c: a super block,
    then entries of a sector each with their data behind them."""
    FLUSH, FUA, DISCARD = 1, 2, 4

    def __init__(self, data):
        magic, version, _, sector = struct.unpack_from('<QQQI', data)
        assert (magic, version, sector) == (0x6a736677736872, 1, SECTOR), (hex(magic), version, sector)
        self.entries = []  # (end in the log, flags, offset on the disk, bytes or None)
        at = SECTOR
        while at + 32 <= len(data):
            where, count, flags, _ = struct.unpack_from('<QQQQ', data, at)
            begin = at + SECTOR
            body = 0 if flags & self.DISCARD else count * SECTOR
            if where == count == flags == 0 or begin + body > len(data):
                break
            at = begin + body
            self.entries.append((at, flags, where * SECTOR, data[begin:at] if body else b'\0' * 0))


class Disk:
    """What is on it for good, and what may or may not be."""

    def __init__(self, data):
        self.durable = bytearray(data)
        self.pending = []

    def take(self, flags, offset, data):
        if flags & WriteLog.FLUSH:
            for one in self.pending:
                self.write(self.durable, one)
            self.pending = []
        if data:
            self.pending.append((offset, data))
        if data and flags & WriteLog.FUA:
            self.write(self.durable, (offset, data))

    @staticmethod
    def write(to, write):
        offset, data = write
        to[offset:offset + len(data)] = data

    def after_a_cut(self, chance):
        """Each write that was not flushed is there, or not, or torn."""
        disk = bytearray(self.durable)
        for offset, data in self.pending:
            fate = chance.random()
            if fate < 0.45:
                self.write(disk, (offset, data))
            elif fate < 0.6 and len(data) > SECTOR:
                self.write(disk, (offset, data[:chance.randrange(1, len(data) // SECTOR) * SECTOR]))
        return disk


@unittest.skipUnless(shutil.which('mke2fs') and shutil.which('debugfs'), 'e2fsprogs are missing')
class PowerCut(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='railbed-power-cut-')
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_what_was_kept_is_kept(self):
        PAIR.build()
        image = guest_image.load(PAIR.folder)
        initrd = self.folder / 'initrd'
        Extra(PAIR.folder / 'root', self.folder).make(self.folder / 'extra')
        # The kernel unpacks several archives one after the other (initramfs-buffer-format.rst).
        initrd.write_bytes(pathlib.Path(image.initrd).read_bytes() + (self.folder / 'extra').read_bytes())
        blank = self.folder / 'blank'
        self.make_file_system(blank)
        shutil.copy(blank, self.folder / 'disk')
        (self.folder / 'log').write_bytes(b'')
        promised = self.record(image, initrd)
        self.judge(blank.read_bytes(), promised)

    def make_file_system(self, path):
        with open(path, 'wb') as file:
            file.truncate(DISK_BYTES)
        subprocess.run(['mke2fs', '-q', '-t', 'ext4', '-J', 'size=4', str(path)], check=True, stdin=subprocess.DEVNULL)

    def record(self, image, initrd):
        """[(length of the log, runs that are kept from there on)]"""
        guest = Guest(image, initrd, self.folder / 'disk', self.folder / 'log')
        self.addCleanup(guest.end)
        runs, last, promised = set(), 0, []
        for line in guest.follow():
            words = line.split()
            if words[:1] != ['done']:
                self.assertFalse(line.startswith(('failed', 'no disk')), line)
                if words == ['end']:
                    break
                continue
            if words[1] == 'import':
                last = max(runs | {last}) + 1
                runs = runs | {last}
            else:
                runs = runs - {int(words[2])}
            promised.append(((self.folder / 'log').stat().st_size, runs))
            guest.go_on()
        guest.end()
        self.assertEqual(len(promised), 3 * STEPS)
        return promised

    def judge(self, blank, promised):
        log = WriteLog((self.folder / 'log').read_bytes())
        chance = random.Random(1)
        flushes = sum(flags & WriteLog.FLUSH != 0 for _, flags, _, _ in log.entries)
        print(f'{len(log.entries)} writes and {flushes} flushes', file=sys.stderr)
        cuts = set(chance.sample(range(len(log.entries)), min(CUTS, len(log.entries))))
        disk = Disk(blank)
        lost = []
        for number, (end, flags, offset, data) in enumerate(log.entries):
            disk.take(flags, offset, data)
            if number in cuts:
                allowed = self.allowed(promised, end)
                runs = self.runs_on(disk.after_a_cut(chance))
                if runs not in allowed:
                    lost.append(f'cut after write {number}: {sorted(runs)}, expected {[sorted(one) for one in allowed]}')
        self.assertEqual(len(lost), 0, f'of {len(cuts)} cuts:\n' + '\n'.join(lost[:5]))

    def allowed(self, promised, end):
        """What the last command left that had ended, or what the one under way will leave."""
        ended = sum(length <= end for length, _ in promised)
        states = [set(), *(runs for _, runs in promised)]
        return states[ended:ended + 2]

    def runs_on(self, data):
        path = self.folder / 'cut'
        path.write_bytes(data)
        fsck = subprocess.run(['e2fsck', '-y', '-E', 'journal_only', str(path)], capture_output=True, text=True)
        self.assertLess(fsck.returncode, 4, fsck.stdout)
        state = self.folder / 'state'
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir()
        subprocess.run(['debugfs', '-R', f'rdump /railbed {state}', str(path)], capture_output=True, check=True)
        if not (state / 'railbed/runs.sqlite').exists():
            return set()
        listed = subprocess.run([str(RAILBED), 'runs', '--json'], capture_output=True, text=True,
                                env=os.environ | {'XDG_STATE_HOME': str(state)})
        self.assertEqual(listed.returncode, 0, listed.stderr)
        runs = {one['id'] for one in json.loads(listed.stdout)['runs']}
        for run in sorted(runs)[-2:]:
            shown = subprocess.run([str(RAILBED), 'runs', 'export', str(run)], capture_output=True, text=True,
                                   env=os.environ | {'XDG_STATE_HOME': str(state)})
            self.assertEqual(len(json.loads(shown.stdout)['measurements']), len(json.loads(RUN.read_text())['measurements']))
        return runs


if __name__ == '__main__':
    guardian.begin()
    unittest.main(verbosity=2)
