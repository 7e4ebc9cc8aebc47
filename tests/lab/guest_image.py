"""Makes the guests' kernel and initramfs out of the distribution's own packages, without root.

Everything lies under one folder: downloaded packages, what they unpack to, and the finished image; those of another
architecture than x86-64 in a folder of its name within, but for the keys. apt solves
the guest's packages against an empty package database, so that the guest does not depend on what this host has
installed; and QEMU against the real one, because it runs here with this host's libraries.
"""
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil

from architecture import X86_64
from initramfs import NODES, OVERLAY, Initramfs
from packages import Apt, LabError, progress, run, write_private

HERE = pathlib.Path(__file__).resolve().parent

TOOLS = ('libc6 base-files busybox-static bash dash kmod iproute2 ethtool openssh-server openssh-sftp-server '
         'perftest iperf3 ibverbs-utils ibverbs-providers libibverbs1 librdmacm1 libibumad3').split()
# These files decide what is in the image, and so does every file of the overlay.
RECIPE = ('architecture.py', 'guest_image.py', 'initramfs.py', 'packages.py')


@dataclasses.dataclass
class Image:
    kernel: str
    initrd: str
    digest: str
    qemu: list
    qemu_env: dict


def recipe(folder):
    """Digest of what the image is made from: it changes, the image is made anew."""
    digest = hashlib.sha256(str(folder).encode())
    for path in sorted([*(HERE / name for name in RECIPE), *(p for p in OVERLAY.rglob('*') if p.is_file())]):
        digest.update(str(path.relative_to(HERE)).encode() + b'\0' + path.read_bytes())
    return digest.hexdigest()


def home(folder, architecture):
    """Where all of an architecture's image lies."""
    return folder if architecture is X86_64 else folder / architecture.name


def load(folder, architecture=X86_64):
    """The image that `build` left, or None when there is none or it is out of date."""
    try:
        saved = json.loads((home(folder, architecture) / 'image.json').read_text())
    except (OSError, ValueError):
        return None
    if saved.pop('recipe', None) != recipe(folder) or not os.path.exists(saved['initrd']):
        return None
    if not os.path.exists(saved['qemu'][0]):
        return None
    return Image(**saved)


def build(folder, architecture=X86_64):
    image = load(folder, architecture)
    if image:
        return image
    if os.uname().machine != 'x86_64' or not shutil.which('apt-get'):
        raise LabError('the emulated cluster is made from x86-64 Debian or Ubuntu packages by apt-get; '
                       'this machine has not got that')
    if architecture.runner and not shutil.which(architecture.runner[0]):
        raise LabError(f'{architecture.runner[0]} not found; scripts/install-packages package installs it')
    ours = home(folder, architecture)
    ours.mkdir(parents=True, exist_ok=True)
    qemu, qemu_env = provide_qemu(ours, architecture)
    root = provide_guest_packages(ours, architecture)
    make_keys(folder)
    progress(f'initramfs ({architecture.name})')
    kernel, initrd = Initramfs(root, ours, folder / 'keys', architecture).make()
    digest = hashlib.sha256(initrd.read_bytes() + kernel.read_bytes()).hexdigest()
    image = Image(str(kernel), str(initrd), digest, qemu, qemu_env)
    saved = {**dataclasses.asdict(image), 'recipe': recipe(folder)}
    write_private(ours / 'image.json', json.dumps(saved, indent=1))
    progress('image ready')
    return image


def provide_qemu(folder, architecture):
    name = f'qemu-system-{architecture.name}'
    found = shutil.which(name)
    if found:
        return [found], {}
    root = folder / 'qemu'
    Apt(folder).get([[architecture.qemu_package]], root, installed=True)
    libraries = ':'.join(str(p) for p in (root / 'usr/lib').glob('*-linux-gnu'))
    argv = [str(root / 'usr/bin' / name)]
    for data in architecture.firmware:
        argv += ['-L', str(root / data)]
    return argv, {'LD_LIBRARY_PATH': libraries}


def provide_guest_packages(folder, architecture):
    root = folder / 'root'
    apt = Apt(folder, None if architecture is X86_64 else architecture.debian)
    apt.get([[kernel, *TOOLS] for kernel in architecture.kernels], root)
    return root


def make_keys(folder):
    """One key to log in with, and each guest's host key, so that ssh can check whom it talks to."""
    keys = folder / 'keys'
    keys.mkdir(mode=0o700, exist_ok=True)
    known_hosts = ''
    for name in ('login', *NODES):
        if not (keys / name).exists():
            run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', f'railbed-lab-{name}',
                 '-f', str(keys / name)])
        if name != 'login':
            known_hosts += f'{name} {(keys / (name + ".pub")).read_text()}'
    (folder / 'known_hosts').write_text(known_hosts)
