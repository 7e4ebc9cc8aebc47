"""Small installer ISOs with the layout of their makers, whose kernel and initial file system are the lab's.

The trees, menus and boot records follow tests/SOURCES.md, "Installer ISOs". The initial file system starts no installer: it
mounts the medium that it was told of, prints the answers that the kernel's arguments name, and switches the machine off.
"""
import pathlib
import shutil
import stat
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'lab'))
import guest_image  # noqa: E402
from packages import run  # noqa: E402

MODULES = ('cdrom sr_mod sd_mod ata_piix ahci isofs nls_ascii virtio_pci virtio_net e1000 virtio_blk').split()

UBUNTU_GRUB = """set timeout=30

loadfont unicode

set menu_color_normal=white/black
set menu_color_highlight=black/light-gray

menuentry "Try or Install Ubuntu Server" {
	set gfxpayload=keep
	linux	/casper/vmlinuz  ---
	initrd	/casper/initrd
}
menuentry "Ubuntu Server with the HWE kernel" {
	set gfxpayload=keep
	linux	/casper/hwe-vmlinuz  ---
	initrd	/casper/hwe-initrd
}
grub_platform
if [ "$grub_platform" = "efi" ]; then
menuentry 'Boot from next volume' {
	exit 1
}
menuentry 'UEFI Firmware Settings' {
	fwsetup
}
else
menuentry 'Test memory' {
	linux16 /boot/memtest86+x64.bin
}
fi
"""

UBUNTU_LOOPBACK = """menuentry "Try or Install Ubuntu Server" {
	set gfxpayload=keep
	linux	/casper/vmlinuz  iso-scan/filename=${iso_path} ---
	initrd	/casper/initrd
}
"""

ROCKY_LABEL = 'Rocky-9-4-x86_64-dvd'

ROCKY_GRUB = """set default="1"

function load_video {
  insmod efi_gop
  insmod efi_uga
  insmod video_bochs
  insmod video_cirrus
  insmod all_video
}

load_video
set gfxpayload=keep
insmod gzio
insmod part_gpt
insmod ext2

set timeout=60
### END /etc/grub.d/00_header ###

search --no-floppy --set=root -l 'Rocky-9-4-x86_64-dvd'

### BEGIN /etc/grub.d/10_linux ###
menuentry 'Install Rocky Linux 9.4' --class fedora --class gnu-linux --class gnu --class os {
	linux /images/pxeboot/vmlinuz inst.stage2=hd:LABEL=Rocky-9-4-x86_64-dvd quiet
	initrd /images/pxeboot/initrd.img
}
menuentry 'Test this media & install Rocky Linux 9.4' --class fedora --class gnu-linux --class gnu --class os {
	linux /images/pxeboot/vmlinuz inst.stage2=hd:LABEL=Rocky-9-4-x86_64-dvd rd.live.check quiet
	initrd /images/pxeboot/initrd.img
}
"""

ROCKY_ISOLINUX = """default vesamenu.c32
timeout 600

display boot.msg

menu clear
menu title Rocky Linux 9.4
menu tabmsg Press Tab for full configuration options on menu items.

menu separator # insert an empty line

label linux
  menu label ^Install Rocky Linux 9.4
  kernel vmlinuz
  append initrd=initrd.img inst.stage2=hd:LABEL=Rocky-9-4-x86_64-dvd quiet

label check
  menu label Test this ^media & install Rocky Linux 9.4
  menu default
  kernel vmlinuz
  append initrd=initrd.img inst.stage2=hd:LABEL=Rocky-9-4-x86_64-dvd rd.live.check quiet

menu separator # insert an empty line

# utilities submenu
menu begin ^Troubleshooting
  menu title Troubleshooting Rocky Linux 9.4

label rescue
  menu indent count 5
  menu label ^Rescue a Rocky Linux system
  text help
	If the system will not boot, this lets you access files
	and edit config files to try to get it booting again.
  endtext
  kernel vmlinuz
  append initrd=initrd.img inst.stage2=hd:LABEL=Rocky-9-4-x86_64-dvd inst.rescue quiet

label returntomain
  menu label Return to ^main menu
  menu exit

menu end
"""

ROCKY_TREEINFO = """[checksums]
images/efiboot.img = sha256:0000000000000000000000000000000000000000000000000000000000000000

[general]
arch = x86_64
family = Rocky Linux
name = Rocky Linux 9.4
packagedir = Packages
platforms = x86_64,xen
repository = .
variants = AppStream,BaseOS
version = 9.4

[header]
type = productmd.treeinfo
version = 1.2

[release]
name = Rocky Linux
short = Rocky
version = 9.4
"""

# What the initial file system does, by busybox alone.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /cdrom /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
for module in /modules/*.ko; do /bin/busybox insmod "$module" 2>/dev/null; done
exec >/dev/ttyS0 2>&1
read -r line </proc/cmdline
echo "ARGUMENTS $line"
address=
for word in $line; do
  case $word in
    ds=nocloud*";s="*) address=${word#*;s=} files="user-data meta-data" ;;
    inst.ks=hd:LABEL=*:*) address=/cdrom${word#*:*:} files= ;;
    inst.ks=http*) address=${word#inst.ks=} files= ;;
  esac
done
case $address in
  http*)
    /bin/busybox ip link set eth0 up
    /bin/busybox udhcpc -i eth0 -q -n -s /udhcpc -t 20 -T 1 >/dev/null
    for file in ${files:-""}; do echo "ANSWERS $address$file"; /bin/busybox wget -q -O - "$address$file"; done ;;
  *)
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
      for disk in /dev/sr0 /dev/sda /dev/sdb; do
        [ -b $disk ] && /bin/busybox mount -t iso9660 -o ro $disk /cdrom 2>/dev/null && break 2
      done
      /bin/busybox sleep 1
    done
    for file in ${files:-""}; do echo "ANSWERS $address$file"; /bin/busybox cat "$address$file"; done ;;
esac
echo "END"
/bin/busybox poweroff -f
"""

UDHCPC = """#!/bin/busybox sh
[ "$1" = bound ] && /bin/busybox ip address add "$ip/${mask:-24}" dev "$interface"
exit 0
"""


def cpio(entries):
    """A newc archive of {path: (mode, bytes)}; the kernel's buffer-format.rst."""
    pieces = []
    for number, (name, (mode, data)) in enumerate([*entries.items(), ('TRAILER!!!', (0, b''))], 1):
        encoded = name.encode() + b'\0'
        head = '070701' + ''.join(f'{value:08x}' for value in (
            number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0))
        for piece in (head.encode() + encoded, data):
            pieces.append(piece + b'\0' * (-len(piece) % 4))
    return b''.join(pieces)


def module_order(root, release):
    """The modules' files in an order in which each finds what it needs loaded."""
    folder = root / 'usr/lib/modules' / release
    needs = {}
    for file in folder.rglob('*.ko*'):
        needs[file.name.split('.')[0].replace('-', '_')] = file
    ordered = []

    def add(name):
        file = needs.get(name.replace('-', '_'))
        if file is None or file in ordered:
            return  # built in
        for line in subprocess.run(['modinfo', '-F', 'depends', str(file)], capture_output=True, text=True,
                                   check=True).stdout.strip().split(','):
            if line:
                add(line)
        ordered.append(file)
    for name in MODULES:
        add(name)
    return ordered


def kernel_and_initrd(folder, lab):
    """Puts the lab's kernel and an initial file system into `folder` and returns their paths."""
    root = guest_image.provide_guest_packages(lab, guest_image.X86_64)
    kernel = next((root / 'boot').glob('vmlinuz-*'))
    release = kernel.name.removeprefix('vmlinuz-')
    entries = {name: (stat.S_IFDIR | 0o755, b'') for name in ('bin', 'modules')}
    entries['bin/busybox'] = (stat.S_IFREG | 0o755, (root / 'usr/bin/busybox').read_bytes())
    for number, module in enumerate(module_order(root, release)):
        name = f'modules/{number:02}-{module.name.removesuffix(".xz")}'
        data = run_bytes(['xz', '-dc', str(module)]) if module.name.endswith('.xz') else module.read_bytes()
        entries[name] = (stat.S_IFREG | 0o644, data)
    entries['init'] = (stat.S_IFREG | 0o755, INIT.encode())
    entries['udhcpc'] = (stat.S_IFREG | 0o755, UDHCPC.encode())
    initrd = folder / 'initrd'
    initrd.write_bytes(cpio(entries))
    return kernel, initrd


def run_bytes(argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout


def fill(tree, files):
    for name, content in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pathlib.Path):
            shutil.copyfile(content, path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def fat_image(path, megabytes, files):
    """A FAT image of these files, as the boot partition of an ISO is one."""
    with open(path, 'wb') as image:
        image.truncate(megabytes << 20)
    run(['mkfs.vfat', str(path)])
    folders = set()
    for name in files:
        for parent in reversed(pathlib.PurePosixPath(name).parents[:-1]):
            if parent not in folders:
                folders.add(parent)
                run(['mmd', '-i', str(path), f'::/{parent}'])
    for name, source in files.items():
        run(['mcopy', '-i', str(path), str(source), f'::/{name}'])


GRUB_MODULES = ('iso9660 fat part_gpt part_msdos normal linux search search_label search_fs_file configfile echo test '
                'serial terminal gzio all_video font loadenv reboot sleep').split()


def ubuntu_iso(folder, kernel, initrd, name='ubuntu.iso', info=None, more=None):
    """Ubuntu 22.04's and 24.04's: GRUB for BIOS and UEFI, an appended EFI partition, a GPT."""
    tree = folder / (name + '.tree')
    early = folder / 'early.cfg'
    early.write_text('search --file --set=root /.disk/info\nset prefix=($root)/boot/grub\n')
    bios = folder / 'eltorito.img'
    run(['grub-mkimage', '-O', 'i386-pc-eltorito', '-c', str(early), '-p', '/boot/grub', '-o', str(bios),
         'biosdisk', *(m for m in GRUB_MODULES if m != 'all_video')])
    efi = folder / 'grubx64.efi'
    run(['grub-mkimage', '-O', 'x86_64-efi', '-c', str(early), '-p', '/boot/grub', '-o', str(efi), *GRUB_MODULES])
    fill(tree, {
        '.disk/info': info or 'Ubuntu-Server 24.04.1 LTS "Noble Numbat" - Release amd64 (20240827)',
        'boot/grub/grub.cfg': UBUNTU_GRUB, 'boot/grub/loopback.cfg': UBUNTU_LOOPBACK,
        'boot/grub/i386-pc/eltorito.img': bios, 'EFI/boot/bootx64.efi': efi,
        'casper/vmlinuz': kernel, 'casper/initrd': initrd,
        'md5sum.txt': '0123456789abcdef0123456789abcdef  ./boot/grub/grub.cfg\n'
                      '0123456789abcdef0123456789abcdef  ./casper/vmlinuz\n', **(more or {})})
    partition = folder / 'esp.img'
    fat_image(partition, 4, {'EFI/boot/bootx64.efi': efi})
    iso = folder / name
    run(['xorriso', '-as', 'mkisofs', '-r', '-V', 'Ubuntu-Server 24.04.1 LTS amd64', '-o', str(iso), '-J', '-joliet-long',
         '-l', '--grub2-mbr', '/usr/lib/grub/i386-pc/boot_hybrid.img', '--protective-msdos-label', '-partition_cyl_align',
         'off', '-partition_offset', '16', '--mbr-force-bootable', '-append_partition', '2',
         '28732ac11ff8d211ba4b00a0c93ec93b', str(partition), '-appended_part_as_gpt', '-iso_mbr_part_type',
         'a2a0d0ebe5b9334487c068b6b72699c7', '-c', '/boot.catalog', '-b', '/boot/grub/i386-pc/eltorito.img',
         '-no-emul-boot', '-boot-load-size', '4', '-boot-info-table', '--grub2-boot-info', '-eltorito-alt-boot', '-e',
         '--interval:appended_partition_2:all::', '-no-emul-boot', str(tree)])
    return iso


def rocky_iso(folder, kernel, initrd, name='rocky.iso'):
    """RHEL 9's and its kin's, as lorax makes them: isolinux for BIOS, GRUB in /images/efiboot.img for UEFI, isohybrid."""
    tree = folder / (name + '.tree')
    efi = folder / 'grubx64-rocky.efi'
    # GRUB reads its menu beside itself: in the image that UEFI started it from.
    run(['grub-mkimage', '-O', 'x86_64-efi', '-p', '/EFI/BOOT', '-o', str(efi), *GRUB_MODULES])
    menu = folder / 'rocky-grub.cfg'
    menu.write_text(ROCKY_GRUB)
    partition = folder / 'efiboot.img'
    fat_image(partition, 4, {'EFI/BOOT/BOOTX64.EFI': efi, 'EFI/BOOT/grub.cfg': menu})
    parts = {f'isolinux/{part}': pathlib.Path('/usr/lib/syslinux/modules/bios') / part
             for part in ('ldlinux.c32', 'vesamenu.c32', 'libcom32.c32', 'libutil.c32')}
    fill(tree, {
        '.treeinfo': ROCKY_TREEINFO, '.discinfo': '1714650000.000000\n9.4\nx86_64\n',
        'EFI/BOOT/BOOTX64.EFI': efi, 'EFI/BOOT/grub.cfg': ROCKY_GRUB, 'images/efiboot.img': partition,
        'images/install.img': b'squashfs would be here\n',
        'images/pxeboot/vmlinuz': kernel, 'images/pxeboot/initrd.img': initrd,
        'isolinux/vmlinuz': kernel, 'isolinux/initrd.img': initrd, 'isolinux/isolinux.cfg': ROCKY_ISOLINUX,
        'isolinux/boot.msg': '\n', 'isolinux/isolinux.bin': pathlib.Path('/usr/lib/ISOLINUX/isolinux.bin').read_bytes(),
        **{path: source.read_bytes() for path, source in parts.items()}})
    iso = folder / name
    run(['xorriso', '-as', 'mkisofs', '-o', str(iso), '-b', 'isolinux/isolinux.bin', '-c', 'isolinux/boot.cat',
         '-boot-load-size', '4', '-boot-info-table', '-no-emul-boot', '-eltorito-alt-boot', '-e', 'images/efiboot.img',
         '-no-emul-boot', '-R', '-J', '-V', ROCKY_LABEL, str(tree)])
    run(['isohybrid', '--uefi', str(iso)])
    return iso


def raw_iso(path, files, sector=2048):
    """An ISO 9660 image by hand, for what no tool would write: {name in the root: (Rock Ridge mode, extent, size)}."""
    def record(name, extent, size, flags, extra=b''):
        body = struct.pack('<I', extent) + struct.pack('>I', extent) + struct.pack('<I', size) + struct.pack('>I', size)
        body += bytes(7) + bytes([flags, 0, 0]) + struct.pack('<H', 1) + struct.pack('>H', 1) + bytes([len(name)]) + name
        body += b'' if len(name) % 2 else b'\0'
        body += extra
        return bytes([len(body) + 2, 0]) + body

    entries = record(b'\0', 18, sector, 2) + record(b'\1', 18, sector, 2)
    for name, (mode, extent, size) in files.items():
        flags = 2 if stat.S_ISDIR(mode) else 0
        ridge = b'PX\x24\x01' + struct.pack('<I', mode) + struct.pack('>I', mode) + bytes(24)
        ridge += b'NM' + bytes([5 + len(name), 1, 0]) + name.encode()
        entries += record(b'A.;1', extent, size, flags, ridge)
    descriptor = b'\1CD001\1\0' + bytes(32) + b'HOSTILE'.ljust(32) + bytes(84)
    descriptor = descriptor.ljust(156, b'\0') + record(b'\0', 18, sector, 2)
    image = bytes(16 * sector) + descriptor.ljust(sector, b'\0') + (b'\xffCD001\1').ljust(sector, b'\0')
    path.write_bytes(image + entries.ljust(sector, b'\0') + bytes(4 * sector))
