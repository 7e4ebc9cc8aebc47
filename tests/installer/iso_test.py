#!/usr/bin/env python3
"""`railbed autoinstall --iso`: ISOs of the makers' layout are written anew and booted by BIOS and UEFI, as a CD and as a stick.

Each guest prints the kernel's arguments and the answers that they name on its serial console. Exits 77 where the tools that
compose and boot ISOs are missing.
"""
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import maker_isos
from packages import LabError

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import guardian  # noqa: E402

RAILBED = os.environ['RAILBED']
LAB = HERE.parent.parent / 'build/lab'
OVMF = next((p for p in map(pathlib.Path, ('/usr/share/OVMF/OVMF_CODE_4M.fd', '/usr/share/OVMF/OVMF_CODE.fd')) if p.exists()),
            None)
NEEDED = {'xorriso': 'xorriso', 'mcopy': 'mtools', 'mkfs.vfat': 'dosfstools', 'grub-mkimage': 'grub-common',
          'isohybrid': 'syslinux-utils', 'qemu-system-x86_64': 'qemu-system-x86'}
NEEDED_FILES = {'/usr/lib/grub/i386-pc/boot_hybrid.img': 'grub-pc-bin', '/usr/lib/grub/x86_64-efi/linux.mod':
                'grub-efi-amd64-bin', '/usr/lib/ISOLINUX/isolinux.bin': 'isolinux',
                '/usr/lib/syslinux/modules/bios/vesamenu.c32': 'syslinux-common'}

CLUSTER = """railbed: 1
cluster: pod
configure:
  user: ops
  authorized_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample ops@desk"]
  management_interface: eno1
  management_address: 192.168.1.70/24
  console: ttyS0
nodes: ["gpu[1-3]"]
"""


def missing():
    lacks = [package for tool, package in NEEDED.items()
             if not shutil.which(tool, path=os.environ['PATH'] + ':/usr/sbin:/sbin')]
    return lacks + [package for file, package in NEEDED_FILES.items() if not os.path.exists(file)]


def boot(*argv, firmware='bios', choose='Install gpu1 (railbed)', seconds=300):
    """What a guest that boots so prints on its serial console until it switches itself off. When the boot menu shows `choose`
    there, Enter starts the entry that it has chosen, rather than wait for the end of the menu's time."""
    words = ['qemu-system-x86_64', '-M', 'pc', '-accel', 'tcg', '-m', '512', '-display', 'none', '-serial', 'stdio', '-monitor',
             'none', '-no-reboot', '-nodefaults', '-device', 'VGA']
    if firmware == 'uefi':
        words += ['-drive', f'if=pflash,format=raw,readonly=on,file={OVMF}']
    told = ''
    with subprocess.Popen([*words, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        last = threading.Timer(seconds, guest.kill)
        last.start()
        while piece := os.read(guest.stdout.fileno(), 65536):
            told += piece.decode(errors='replace').replace('\r', '')
            if choose and choose in told:
                guest.stdin.write(b'\r')
                guest.stdin.flush()
                choose = None
        last.cancel()
    return told


def cd(iso):
    return ('-cdrom', str(iso), '-boot', 'd', '-net', 'none')


def stick(iso):
    return ('-drive', f'file={iso},format=raw,if=ide,readonly=off,snapshot=on', '-net', 'none')


class InstallerIso(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.folder = pathlib.Path(cls.kept.name)
        cls.cluster = cls.folder / 'cluster.yaml'
        cls.cluster.write_text(CLUSTER)
        LAB.mkdir(parents=True, exist_ok=True)
        kernel, initrd = maker_isos.kernel_and_initrd(cls.folder, LAB)
        cls.ubuntu = maker_isos.ubuntu_iso(cls.folder, kernel, initrd)
        cls.rocky = maker_isos.rocky_iso(cls.folder, kernel, initrd)

    def run_railbed(self, *words):
        return subprocess.run([RAILBED, 'autoinstall', str(self.cluster), *map(str, words)], capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL, env={**os.environ, 'NO_COLOR': '1'})

    def write(self, *words):
        done = self.run_railbed(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, *words):
        done = self.run_railbed(*words)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def list_folder(self):
        return sorted(os.listdir(self.folder))

    def file_of(self, iso, path):
        """A file of an ISO, as xorriso reads it."""
        copy = self.folder / 'extracted'
        copy.unlink(missing_ok=True)
        maker_isos.run(['xorriso', '-no_rc', '-osirrox', 'on', '-indev', str(iso), '-extract_single', path, str(copy)])
        return copy.read_text()

    def test_ubuntu_boots_with_the_answers(self):
        said = self.write('gpu1', '--iso', self.ubuntu, '-o', self.folder / 'gpu1.iso')
        self.assertIn('Ubuntu-Server 24.04.1 LTS', said)
        iso = self.folder / 'gpu1.iso'
        ways = [('bios', cd)] + ([('uefi', stick)] if OVMF else [])
        for firmware, medium in ways:
            with self.subTest(firmware=firmware, medium=medium.__name__):
                told = boot(*medium(iso), firmware=firmware)
                self.assertRegex(told, r'ARGUMENTS BOOT_IMAGE=/casper/vmlinuz autoinstall ds=nocloud;s=/cdrom/railbed/gpu1/ console=tty0 '
                                       r'console=ttyS0,115200n8 ---')
                self.assertIn('ANSWERS /cdrom/railbed/gpu1/user-data\n#cloud-config', told)
                self.assertIn('hostname: "gpu1"', told)
                self.assertIn('interactive-sections:\n    - storage', told)
                self.assertIn('instance-id: "gpu1"', told)
        # The maker's entries stay, and the list of sums no longer names what was changed.
        menu = self.file_of(iso, '/boot/grub/grub.cfg')
        self.assertTrue(menu.startswith(maker_isos.UBUNTU_GRUB), menu)
        self.assertIn('iso-scan/filename=${iso_path} autoinstall', self.file_of(iso, '/boot/grub/loopback.cfg'))
        self.assertEqual(self.file_of(iso, '/md5sum.txt'), '0123456789abcdef0123456789abcdef  ./casper/vmlinuz\n')
        # A second time it would have the entries twice.
        self.assertIn("begin with the maker's own ISO", self.refused('gpu1', '--iso', iso, '-o', self.folder / 'twice.iso'))

    def test_rocky_boots_with_the_answers(self):
        self.write('gpu1', '--iso', self.rocky, '-o', self.folder / 'gpu1-rocky.iso', '--os', 'rhel-9')
        iso = self.folder / 'gpu1-rocky.iso'
        ways = [('bios', stick)] + ([('uefi', stick)] if OVMF else [('bios', cd)])
        for firmware, medium in ways:
            with self.subTest(firmware=firmware, medium=medium.__name__):
                told = boot(*medium(iso), firmware=firmware)
                self.assertRegex(told, r'ARGUMENTS .*inst.stage2=hd:LABEL=Rocky-9-4-x86_64-dvd quiet '
                                       r'inst.ks=hd:LABEL=Rocky-9-4-x86_64-dvd:/railbed/gpu1/ks.cfg inst.text console=tty0 '
                                       r'console=ttyS0,115200n8')
                self.assertIn('ANSWERS /cdrom/railbed/gpu1/ks.cfg\n# Written by railbed', told)
                self.assertIn('--hostname=gpu1', told)
                self.assertNotIn('clearpart --', told)
        menu = self.file_of(iso, '/isolinux/isolinux.cfg')
        self.assertTrue(menu.startswith('serial 0 115200\n'), menu)
        self.assertIn('label check\n  menu label Test this ^media', menu)
        self.assertEqual(menu.count('menu default'), 1)

    def test_several_nodes_wait_for_a_choice(self):
        said = self.write('gpu[1-2]', 'gpu3', '--iso', self.ubuntu, '-o', self.folder / 'pod.iso')
        self.assertIn('one of 3 nodes', said)
        menu = self.file_of(self.folder / 'pod.iso', '/boot/grub/grub.cfg')
        for node in ('gpu1', 'gpu2', 'gpu3'):
            self.assertIn(f'menuentry "Install {node} (railbed)" --id railbed-{node} {{', menu)
            self.assertIn(f'hostname: "{node}"', self.file_of(self.folder / 'pod.iso', f'/railbed/{node}/user-data'))
        self.assertIn('set timeout=-1\n', menu)
        self.assertNotIn('set default=', menu)
        self.write('gpu[1-2]', '--iso', self.rocky, '-o', self.folder / 'pod-rocky.iso')
        menu = self.file_of(self.folder / 'pod-rocky.iso', '/isolinux/isolinux.cfg')
        self.assertTrue(menu.endswith('timeout 0\n'), menu)
        self.assertEqual(menu.count('menu default'), 1)  # the maker's own

    def test_what_is_there_stays(self):
        output = self.folder / 'kept.iso'
        output.write_text('precious')
        before = self.list_folder()
        self.assertIn('--force replaces it', self.refused('gpu1', '--iso', self.ubuntu, '-o', output))
        self.assertEqual(output.read_text(), 'precious')
        self.assertIn('cannot be the one that is written', self.refused('gpu1', '--iso', self.ubuntu, '-o', self.ubuntu, '--force'))
        self.assertIn('the node is to have rocky 9',
                      self.refused('gpu1', '--iso', self.ubuntu, '-o', self.folder / 'new.iso', '--os', 'rocky-9'))
        self.assertIn('the node is to have ubuntu 22.04',
                      self.refused('gpu1', '--iso', self.ubuntu, '-o', self.folder / 'new.iso', '--os', 'ubuntu-22.04'))
        self.assertEqual(self.list_folder(), before)
        self.write('gpu1', '--iso', self.ubuntu, '-o', output, '--force')
        self.assertGreater(output.stat().st_size, 1 << 20)
        self.assertEqual(stat.S_IMODE(output.stat().st_mode), 0o644)

    def test_without_room_nothing_is_written(self):
        small = self.folder / 'small'
        small.mkdir()
        self.addCleanup(small.rmdir)
        if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', str(small)], capture_output=True).returncode:
            self.skipTest('mounting is not allowed')
        self.addCleanup(subprocess.run, ['umount', str(small)], check=True)
        self.assertIn('of room', self.refused('gpu1', '--iso', self.ubuntu, '-o', small / 'gpu1.iso'))
        self.assertEqual(os.listdir(small), [])

    def test_a_stop_leaves_nothing(self):
        folder = self.folder / 'stopped'
        folder.mkdir()
        # A stand-in for xorriso that never ends, so that the stop comes while it writes.
        # Not below /tmp: root runs no program that others can change.
        kept = tempfile.TemporaryDirectory(dir=LAB)
        self.addCleanup(kept.cleanup)
        programs = pathlib.Path(kept.name)
        (programs / 'xorriso').write_text('#!/bin/sh\ntouch "$(dirname "$0")/began"\nexec sleep 1000\n')
        (programs / 'xorriso').chmod(0o755)
        process = subprocess.Popen([RAILBED, 'autoinstall', str(self.cluster), 'gpu1', '--iso', str(self.ubuntu), '-o',
                                    str(folder / 'gpu1.iso')], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, 'PATH': f'{programs}:{os.environ["PATH"]}'})
        while not (programs / 'began').exists():
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        self.assertEqual(len(os.listdir(folder)), 1)  # the temporary folder
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 3, said)
        self.assertEqual(os.listdir(folder), [])

    def test_other_isos_are_refused(self):
        output = self.folder / 'other.iso'
        for info, reason in (('Debian GNU/Linux 12.5.0 "Bookworm" - Official amd64 NETINST with firmware 20240210-11:27',
                              'a preseed, which railbed does not write'),
                             ('Ubuntu 24.04.1 LTS "Noble Numbat" - Release amd64 (20240827.1)', "Ubuntu's live server"),
                             ('\x1b[2J' * 50, "Ubuntu's live server")):
            tree = self.folder / 'other-tree'
            maker_isos.fill(tree, {'.disk/info': info})
            other = self.folder / 'foreign.iso'
            maker_isos.run(['xorriso', '-as', 'mkisofs', '-r', '-quiet', '-o', str(other), str(tree)])
            said = self.refused('gpu1', '--iso', other, '-o', output)
            self.assertIn(reason, said)
            self.assertNotIn('\x1b', said)
            shutil.rmtree(tree)
        for path, reason in ((self.cluster, 'is no ISO 9660 image'), (self.folder / 'none.iso', 'No such file'),
                             (self.folder, 'is not a file')):
            self.assertIn(reason, self.refused('gpu1', '--iso', path, '-o', output))
        self.assertFalse(output.exists())

    def test_a_hostile_iso_changes_and_shows_nothing(self):
        secret = self.folder / 'secret'
        secret.write_text('SECRET')
        hostile = self.folder / 'hostile.iso'
        output = self.folder / 'hostile-out.iso'
        before = self.list_folder()
        # A menu that is a link, one without an end, folders that hold themselves, extents behind the image's end.
        for files in ({'.disk': (stat.S_IFLNK | 0o777, 20, 0)}, {'.treeinfo': (stat.S_IFREG | 0o644, 20, 0xffffffff)},
                      {'.disk': (stat.S_IFDIR | 0o755, 18, 2048)}, {'.disk': (stat.S_IFDIR | 0o755, 20, 0xfffff800)},
                      {'EFI': (stat.S_IFDIR | 0o755, 0xffffff, 2048)}, {'..': (stat.S_IFDIR | 0o755, 18, 2048)}):
            maker_isos.raw_iso(hostile, files)
            self.refused('gpu1', '--iso', hostile, '-o', output)
            hostile.unlink()
        # Ubuntu's layout, whose menu is a link out of the ISO, and names that leave their folder.
        tree = self.folder / 'hostile.tree'
        maker_isos.fill(tree, {'.disk/info': 'Ubuntu-Server 24.04.1 LTS "Noble Numbat"', 'casper/vmlinuz': 'x', 'casper/initrd': 'x',
                               '$(touch harm);-outdev x': 'x'})
        (tree / 'boot/grub').mkdir(parents=True)
        (tree / 'boot/grub/grub.cfg').symlink_to(secret)
        (tree / 'railbed').symlink_to(self.folder)
        maker_isos.run(['xorriso', '-as', 'mkisofs', '-r', '-quiet', '-o', str(hostile), str(tree)])
        shutil.rmtree(tree)
        said = self.refused('gpu1', '--iso', hostile, '-o', output)
        self.assertNotIn('SECRET', said)
        hostile.unlink()
        # The same with a menu that boots: the answers' folder is a link to a folder of this machine.
        maker_isos.fill(tree, {'.disk/info': 'Ubuntu-Server 24.04.1 LTS "Noble Numbat"', 'casper/vmlinuz': 'x', 'casper/initrd': 'x',
                               'boot/grub/grub.cfg': maker_isos.UBUNTU_GRUB})
        (tree / 'railbed').symlink_to(self.folder)
        maker_isos.run(['xorriso', '-as', 'mkisofs', '-r', '-quiet', '-o', str(hostile), str(tree)])
        shutil.rmtree(tree)
        self.run_railbed('gpu1', '--iso', hostile, '-o', output)
        hostile.unlink()
        output.unlink(missing_ok=True)
        self.assertEqual(self.list_folder(), before)
        self.assertEqual(secret.read_text(), 'SECRET')
        secret.unlink()


if __name__ == '__main__':
    guardian.begin()
    if missing():
        print('skipped: not installed here: ' + ' '.join(missing()))
        sys.exit(77)
    try:
        unittest.main(verbosity=2)
    except LabError as error:
        print(f'skipped: {error}')
        sys.exit(77)
