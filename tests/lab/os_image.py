"""Debian 12 with systemd, as the disk of two virtual machines: root file system, keys, and what starts it.

mmdebstrap makes one root file system with netplan and NetworkManager; each kind of guest is what is left when the other
of the two has been purged. The kernel and its modules are those of the smaller guests (guest_image.py).
"""
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import stat

import guest_image
from initramfs import OPTIONAL_MODULES, Initramfs
from packages import LabError, progress, run, write_private

HERE = pathlib.Path(__file__).resolve().parent
OVERLAY = HERE / 'os_guest'
DEFAULT_FOLDER = HERE.parent.parent / 'build/lab'
NODES = ('node1', 'node2')
KINDS = ('netplan', 'networkmanager')
# These files decide what is on the disk, and so does every file of the overlay.
RECIPE = ('os_image.py', 'os_customize', 'initramfs.py')
PACKAGES = ('systemd systemd-sysv udev dbus libpam-systemd openssh-server sudo iproute2 iputils-ping kmod procps ethtool '
            'pciutils rdma-core ibverbs-utils ibverbs-providers rdmacm-utils perftest netplan.io network-manager nfs-kernel-server').split()
BOOT_MODULES = ('virtio_pci', 'virtio_blk', 'ext4', 'crc32c_generic')
MODULES = (*BOOT_MODULES, *('virtio_net virtio_rng virtio_console rdma_rxe ib_uverbs rdma_cm rdma_ucm ib_umad ib_ipoib '
                            'crc32_generic autofs4 binfmt_misc configfs fuse af_packet nvme_rdma veth dummy bridge bonding 8021q '
                            'sch_fq_codel sch_netem sch_ingress sch_tbf cls_u32 act_gact nf_tables nvmet nvmet_tcp nvmet_rdma nvme_tcp '
                            'loop nfsd nfs nfsv4 rpcrdma').split())
DISK = '1G'

# A node takes its own names and keys at the first start of its disk.
INIT = '''#!/bin/sh
export PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
{modules}
tries=0
until [ -b /dev/vda ] || [ $tries = 250 ]; do sleep 0.02; tries=$((tries + 1)); done
mount -t ext4 /dev/vda /newroot || exec sh
node=$(sed 's/.*lab.node=//; s/ .*//' /proc/cmdline)
[ ! -d /newroot/lab ] || {{ cp -a /newroot/lab/$node/. /newroot/; rm -r /newroot/lab; }}
echo {started}
mount --move /dev /newroot/dev
umount /proc
exec switch_root /newroot /lib/systemd/systemd
'''
STARTED = 'LAB-STARTED'  # on the console, once a start

MANAGEMENT = {
    'netplan': ('etc/netplan/01-management.yaml', '''network:
  version: 2
  renderer: networkd
  ethernets:
    eth0:
      addresses: [{address}/24]
      routes: [{{to: default, via: 10.0.2.2}}]
'''),
    'networkmanager': ('etc/NetworkManager/system-connections/management.nmconnection', '''[connection]
id=management
type=ethernet
interface-name=eth0

[ipv4]
method=manual
address1={address}/24,10.0.2.2

[ipv6]
method=link-local
'''),
}


def management_address(node):
    return f'10.0.2.{11 + NODES.index(node)}'


@dataclasses.dataclass
class OsImage:
    """`folder` holds what is kept of this kind: root.img, initramfs.cpio and, once booted, saved states."""
    kind: str
    folder: pathlib.Path
    machine: guest_image.Image  # kernel and QEMU; its initrd is the smaller guests'
    keys: pathlib.Path
    password: str  # keeper's, for sudo


@contextlib.contextmanager
def exclusive(folder):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / 'lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(kind, folder=DEFAULT_FOLDER):
    """The image of this kind, made unless it lies there. The caller holds `exclusive`."""
    missing = [name for name in ('mmdebstrap', 'qemu-img', 'mke2fs') if not shutil.which(name, path=search_path())]
    if missing:
        raise LabError(f'{", ".join(missing)} not found; scripts/install-packages lab installs them')
    machine = guest_image.build(folder)
    ours = folder / 'os'
    make_keys(ours / 'keys')
    image = OsImage(kind, ours / kind, machine, ours / 'keys', (ours / 'keys/keeper-password').read_text())
    recipe = digest(folder, machine)
    made = image.folder / 'recipe'
    if not made.exists() or made.read_text() != recipe:
        packages = common(ours)
        shutil.rmtree(image.folder, ignore_errors=True)
        image.folder.mkdir(parents=True)
        make_disk(image, packages, Modules(folder / 'root', ours))
        made.write_text(recipe)
    return image


def search_path():
    return os.environ.get('PATH', '') + ':/usr/sbin:/sbin'


def digest(folder, machine):
    made_from = hashlib.sha256(f'{folder}{machine.digest}'.encode())
    for path in sorted([*(HERE / name for name in RECIPE), *(p for p in OVERLAY.rglob('*') if p.is_file())]):
        made_from.update(str(path.relative_to(HERE)).encode() + b'\0' + path.read_bytes())
    return made_from.hexdigest()


def make_keys(keys):
    keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ('login', *NODES):
        if not (keys / name).exists():
            run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', f'railbed-lab-{name}', '-f', str(keys / name)])
    (keys / 'known_hosts').write_text(''.join(f'{node} {(keys / (node + ".pub")).read_text()}' for node in NODES))
    if not (keys / 'keeper-password').exists():
        write_private(keys / 'keeper-password', secrets.token_hex(8))


def common(ours):
    """The packages, as a tar file, made unless it lies there: the part that takes long, and that both kinds have in common."""
    made = ours / f'debian-{hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:16]}.tar'
    if not made.exists():
        progress('Debian 12 by mmdebstrap')
        scratch = made.with_suffix('.new.tar')
        without = [f'--dpkgopt=path-exclude=/usr/share/{part}/*' for part in ('man', 'locale', 'doc')]
        run(['mmdebstrap', '--quiet', '--variant=minbase', f'--include={",".join(PACKAGES)}', *without,
             '--dpkgopt=force-unsafe-io', '--aptopt=APT::Install-Recommends "false"', 'bookworm', str(scratch)])
        os.replace(scratch, made)
    return made


def as_root():
    """What goes before a command that makes files of several owners."""
    return [] if os.geteuid() == 0 else ['unshare', '--map-root-user', '--map-auto']


def make_disk(image, common, modules):
    progress(f'disk of the {image.kind} guests')
    root, ours = image.folder / 'root', image.folder / 'ours'
    modules.make(image.folder / 'initramfs.cpio')
    lay_out(modules.entries, ours)
    lay_out(own_files(image), ours)
    run([*as_root(), 'sh', '-euc', '''
        mkdir "$1"
        tar -x --numeric-owner --xattrs --xattrs-include="*" --exclude="./dev/*" -C "$1" -f "$2"
        tar -c --owner=0 --group=0 --numeric-owner -C "$3" . | tar -x --keep-directory-symlink -C "$1"
        "$4/os_customize" "$1" "$5" "$6"
        mke2fs -q -t ext4 -L root -d "$1" "$7" "$8"
        rm -r "$1"
        ''', 'sh', str(root), str(common), str(ours), str(HERE), image.kind, image.password,
         str(image.folder / 'root.img'), DISK], env={**os.environ, 'PATH': search_path()})
    shutil.rmtree(ours)


def own_files(image):
    """What the overlay and the nodes' own folders hold, as {path: (mode, bytes)}."""
    files = {'lab/login.pub': (0o644, (image.keys / 'login.pub').read_bytes())}
    for path in (p for p in OVERLAY.rglob('*') if p.is_file()):
        files[str(path.relative_to(OVERLAY))] = (0o644, path.read_bytes())
    if image.kind == 'networkmanager':  # as RHEL's servers have it: else a bare port asks for an address for ever
        files['etc/NetworkManager/conf.d/lab.conf'] = (0o644, b'[main]\nno-auto-default=*\n')
    where, text = MANAGEMENT[image.kind]
    for node in NODES:
        own = {
            where: (0o600, text.format(address=management_address(node))),
            'etc/hostname': (0o644, node + '\n'),
            'etc/hosts': (0o644, f'127.0.0.1 localhost\n127.0.1.1 {node}\n'),
            'etc/machine-id': (0o444, hashlib.md5(node.encode()).hexdigest() + '\n'),
            'etc/ssh/ssh_host_ed25519_key': (0o600, (image.keys / node).read_text()),
            'etc/ssh/ssh_host_ed25519_key.pub': (0o644, (image.keys / (node + '.pub')).read_text()),
        }
        files.update({f'lab/{node}/{path}': (mode, data.encode()) for path, (mode, data) in own.items()})
    return files


def lay_out(files, target):
    for path, (mode, data) in files.items():
        if stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
            continue
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)
        (target / path).chmod(stat.S_IMODE(mode))


class Modules(Initramfs):
    """The guest's kernel modules, which go onto the disk; of these, the initramfs has those that reach the disk."""

    def __init__(self, root, folder):
        super().__init__(root, folder)
        self.add_modules(MODULES, OPTIONAL_MODULES)

    def make(self, path):
        on_disk, self.entries = self.entries, {}
        for name in 'dev proc newroot'.split():
            self.folder_entry(name)
        self.copy(self.root / 'usr/bin/busybox', 'bin/busybox')
        for applet in 'sh mount umount insmod sleep sed cp rm switch_root'.split():
            self.link(f'bin/{applet}', 'busybox')
        lines = self.kmod('modprobe', '-C', '/dev/null', '-d', str(self.root), '-S', self.release, '--show-depends', '-a',
                          *BOOT_MODULES).splitlines()
        names = []
        for line in lines:
            if line.startswith('insmod '):
                relative = line.strip().split(f'/modules/{self.release}/')[1]
                where = f'usr/lib/modules/{self.release}/{relative}'
                if where not in names:
                    self.copy(self.root / where, where)
                    names.append(where)
        load = '\n'.join(f'insmod /{name}' for name in names)
        self.put('init', INIT.format(modules=load, started=STARTED).encode(), 0o755)
        path.write_bytes(self.archive())
        self.entries = on_disk
