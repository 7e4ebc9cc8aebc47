"""What differs between guests of one processor architecture and of another. By their names as `uname -m` says them."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Architecture:
    name: str
    debian: str
    loader: str         # where its programs look for the C library's loader
    kernels: tuple      # the metapackage of Debian, then that of Ubuntu; Debian's cloud kernel has no rdma_rxe
    qemu_package: str
    firmware: tuple     # folders of that package and of what it needs, where QEMU is not installed
    machine: tuple      # QEMU's options
    console: str
    runner: tuple = ()  # what runs its programs on an x86-64 machine


# vmgenid: a guest that is resumed from a saved state stirs its random numbers; QEMU has it for this architecture alone.
X86_64 = Architecture('x86_64', 'amd64', 'usr/lib64/ld-linux-x86-64.so.2', ('linux-image-amd64', 'linux-image-generic'),
                      'qemu-system-x86', ('usr/share/qemu', 'usr/share/seabios'),
                      ('-machine', 'q35', '-cpu', 'max', '-device', 'vmgenid,guid=auto'), 'ttyS0')
# cortex-a72: what `max` has beyond it, pointer authentication above all, costs an emulator much time.
AARCH64 = Architecture('aarch64', 'arm64', 'usr/lib/ld-linux-aarch64.so.1', ('linux-image-arm64', 'linux-image-generic'),
                       'qemu-system-arm', ('usr/share/qemu',), ('-machine', 'virt', '-cpu', 'cortex-a72'), 'ttyAMA0',
                       ('qemu-aarch64-static',))
ARCHITECTURES = {one.name: one for one in (X86_64, AARCH64)}
