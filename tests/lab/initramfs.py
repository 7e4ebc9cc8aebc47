"""The guests' root file system, as an initramfs of programs and modules from unpacked packages."""
import lzma
import os
import pathlib
import shutil
import stat
import struct

from architecture import X86_64
from packages import LabError, run, write_private

OVERLAY = pathlib.Path(__file__).resolve().parent / 'guest'
NODES = ('vm1', 'vm2')

PROGRAMS = ('bash dash kmod ip tc ss bridge rdma devlink ethtool sshd ib_write_bw ib_write_lat ib_read_bw '
            'ib_read_lat ib_send_bw ib_send_lat ibv_devinfo ibv_devices ibv_rc_pingpong iperf3').split()
# For the programs that are brought along: what they open, and the C library's parts that older ones name.
LIBRARIES = ('libibverbs.so.1 librdmacm.so.1 libibumad.so.3 libm.so.6 libgcc_s.so.1 libdl.so.2 '
             'libpthread.so.0 librt.so.1').split()
MODULES = ('rdma_rxe ib_uverbs rdma_ucm ib_umad crc32_generic virtio_pci virtio_net virtio_rng '
           'sch_netem sch_ingress sch_tbf cls_u32 act_gact bonding 8021q').split()
OPTIONAL_MODULES = ('crc32_pclmul', 'crc32c_intel', 'vmgenid')  # built in, or absent, on some kernels


class Initramfs:
    """Programs, libraries, modules and the overlay, as a cpio archive (newc; buffer-format.rst)."""

    def __init__(self, root, folder, keys=None, architecture=X86_64):
        self.root, self.folder, self.keys, self.architecture = root, folder, keys, architecture
        self.entries = {}  # path in the guest, without leading slash: (mode, bytes)
        self.libraries = next((root / 'usr/lib').glob('*-linux-gnu'))
        self.loader = self.libraries / os.path.basename(architecture.loader)  # the one in lib64 may be an absolute link
        versions = sorted(p.name for p in (root / 'usr/lib/modules').iterdir() if (p / 'kernel').is_dir())
        if len(versions) != 1:
            raise LabError(f'one kernel expected under {root}/lib/modules, found {versions}')
        self.release = versions[0]

    def make(self):
        for name in 'dev proc sys run tmp root mnt etc var/log usr/bin usr/sbin usr/lib64'.split():
            self.folder_entry(name)
        for name in ('bin', 'sbin', 'lib', 'lib64'):
            self.link(name, f'usr/{name}')
        self.link('var/run', '../run')
        self.add_programs()
        self.add_modules()
        self.add_settings()
        initrd = self.folder / 'initramfs.cpio'
        write_private(initrd, self.archive())  # private: the guests' host keys are in it
        return self.kernel(), initrd

    def kernel(self):
        """The kernel, uncompressed where QEMU can start that (PVH): unpacking it is half of the boot."""
        packed = self.root / f'boot/vmlinuz-{self.release}'
        config = (self.root / f'boot/config-{self.release}').read_text()
        if 'CONFIG_PVH=y' not in config:
            return packed
        image = packed.read_bytes()
        # Kernel's arch/x86/boot.rst: setup_sects at 0x1f1, payload_offset at 0x248, then payload_length.
        offset, length = struct.unpack_from('<II', image, 0x248)
        start = (image[0x1f1] + 1) * 512 + offset
        if image[start:start + 6] != b'\xfd7zXZ\0':
            return packed
        unpacked = self.folder / 'vmlinux'
        # The length of the unpacked kernel follows the compressed stream, which ends by itself.
        unpacked.write_bytes(lzma.LZMADecompressor().decompress(image[start:start + length]))
        return unpacked

    # Entries.
    def folder_entry(self, path):
        parts = path.split('/')
        for i in range(1, len(parts) + 1):
            self.entries.setdefault('/'.join(parts[:i]), (stat.S_IFDIR | 0o755, b''))

    def put(self, path, data, mode=0o644):
        self.folder_entry(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, data)

    def link(self, path, target):
        if os.path.dirname(path):
            self.folder_entry(os.path.dirname(path))
        self.entries.setdefault(path, (stat.S_IFLNK | 0o777, target.encode()))

    def copy(self, source, path=None):
        mode = source.stat().st_mode & 0o777
        self.put(path or str(source.relative_to(self.root)), source.read_bytes(), mode)

    # Contents.
    def add_programs(self):
        programs = []
        for name in PROGRAMS:
            places = (self.root / 'usr/bin' / name, self.root / 'usr/sbin' / name)
            source = next((p for p in places if p.exists()), None)
            if source is None:
                raise LabError(f'{name} is in none of the unpacked packages')
            programs.append(source)
        for name in ('sftp-server', 'sshd-session', 'sshd-auth'):  # OpenSSH 9.8 split sshd
            source = self.root / 'usr/lib/openssh' / name
            if source.exists():
                programs.append(source)
        opened = [self.libraries / name for name in LIBRARIES]
        opened += (self.libraries / 'libibverbs').glob('librxe-rdmav*.so')
        for source in [*programs, *opened, *self.library_closure([*programs, *opened])]:
            self.copy(source)
        self.copy(self.loader, self.architecture.loader)
        self.copy(self.root / 'etc/libibverbs.d/rxe.driver')
        for name in ('modprobe', 'lsmod', 'insmod', 'rmmod', 'modinfo', 'depmod'):
            self.link(f'usr/sbin/{name}', '../bin/kmod')
        self.link('usr/bin/sh', 'dash')  # busybox's own shell would run its own ip and tc
        self.copy((self.root / 'usr/bin/busybox').resolve(), 'usr/bin/busybox')
        for applet in run([*self.architecture.runner, str(self.root / 'usr/bin/busybox'), '--list']).split():
            if f'usr/sbin/{applet}' not in self.entries:
                self.link(f'usr/bin/{applet}', 'busybox')
        self.link('init', 'usr/bin/busybox')

    def loaded(self, *argv):
        """argv to run a program of the guest on this host with the guest's own loader and libraries."""
        return [*self.architecture.runner, str(self.loader), '--library-path', str(self.libraries), *argv]

    def library_closure(self, files):
        found = set()
        for file in files:
            for line in run(self.loaded('--list', str(file))).splitlines():
                path = line.split('=>')[-1].split('(')[0].strip()
                if not path.startswith('/') or path.startswith(str(self.loader)):
                    continue
                if not path.startswith(str(self.root)):
                    raise LabError(f'{file} needs {line.split()[0]}, which no package of the guest has')
                found.add(pathlib.Path(path))
        return sorted(found)

    def kmod(self, name, *argv):
        return run([*self.architecture.runner, str(self.loader), '--argv0', name, '--library-path', str(self.libraries),
                    str(self.root / 'usr/bin/kmod'), *argv])

    def add_modules(self, modules=MODULES, optional=OPTIONAL_MODULES):
        tree = self.root / 'usr/lib/modules' / self.release
        self.kmod('depmod', '-b', str(self.root), self.release)
        nothing = self.folder / 'no-modprobe-configuration'  # not this host's
        nothing.mkdir(exist_ok=True)
        lookup = ['-C', str(nothing), '-d', str(self.root), '-S', self.release, '--show-depends']
        lines = self.kmod('modprobe', *lookup, '-a', *modules).splitlines()
        for name in optional:
            try:
                lines += self.kmod('modprobe', *lookup, name).splitlines()
            except LabError:
                pass
        for line in lines:
            if line.startswith('insmod '):
                relative = line.strip().split(f'/modules/{self.release}/')[1]
                self.copy(tree / relative, f'usr/lib/modules/{self.release}/{relative}')
        for name in ('modules.order', 'modules.builtin', 'modules.builtin.modinfo'):
            self.copy(tree / name)
        self.add_module_index(tree)

    def add_module_index(self, tree):
        """modules.dep and its like for the modules taken only: a name that is listed is there."""
        scratch = self.folder / 'modules-scratch'
        shutil.rmtree(scratch, ignore_errors=True)
        prefix = f'usr/lib/modules/{self.release}/'
        for path, (_, data) in self.entries.items():
            if path.startswith(prefix) and data:
                target = scratch / 'lib/modules' / self.release / path[len(prefix):]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        self.kmod('depmod', '-b', str(scratch), self.release)
        for source in (scratch / 'lib/modules' / self.release).glob('modules.*'):
            self.put(prefix + source.name, source.read_bytes())
        shutil.rmtree(scratch)

    def add_settings(self):
        self.copy(self.root / 'usr/lib/os-release')
        self.link('etc/os-release', '../usr/lib/os-release')
        if (self.root / 'etc/debian_version').exists():
            self.copy(self.root / 'etc/debian_version')
        for source in (p for p in OVERLAY.rglob('*') if p.is_file()):
            mode = 0o755 if os.access(source, os.X_OK) else 0o644  # git keeps no more of a mode than this
            self.put(str(source.relative_to(OVERLAY)), source.read_bytes(), mode)
        for name in NODES:
            self.put(f'etc/ssh/{name}_key', (self.keys / name).read_bytes(), 0o600)
        self.put('root/.ssh/authorized_keys', (self.keys / 'login.pub').read_bytes(), 0o600)
        for path in ('root', 'root/.ssh'):
            self.entries[path] = (stat.S_IFDIR | 0o700, b'')

    def archive(self):
        out = []
        trailer = ('TRAILER!!!', (0, b''))
        for inode, (path, (mode, data)) in enumerate([*sorted(self.entries.items()), trailer], 1):
            name = path.encode() + b'\0'
            fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
            header = b'070701' + b''.join(b'%08X' % f for f in fields) + name
            out += [header, b'\0' * (-len(header) % 4), data, b'\0' * (-len(data) % 4)]
        return b''.join(out)
