#!/usr/bin/env python3
"""Writes the composed machines of tests/machines: healthy nodes that nobody here could capture.

Names, addresses, models and versions are those of the guides where they state them; the layout is the kernel's
(Documentation/ABI/stable/sysfs-class-infiniband, testing/sysfs-class-net, testing/sysfs-bus-pci). Everything else
(serial-like ids, counters, file system sizes) is made up to be plausible, and marked so at the head of each tree.

    python3 tests/machines/compose/compose.py          # from the repository root
"""
import json
import pathlib
import re
import struct

import gpus

ROOT = pathlib.Path(__file__).resolve().parents[3]
MACHINES = ROOT / "tests/machines"


NOW = 1768824000  # 2026-01-19T12:00:00Z
UPTIME = 864000  # ten days


def known_units():
    """The units that railbed asks systemctl for, in its own order: the recorded command must match to the letter."""
    source = (ROOT / "src/facts/software/services.cc").read_text()
    table = source[source.index("kUnits[] = {"):]
    return re.findall(r'"([^"]+)"', table[:table.index("};")])


class Tree:
    def __init__(self, comment):
        self.lines = ["railbed-tree 1"] + [("# " + line).rstrip() for line in comment.strip().splitlines()]

    def file(self, path, value):
        self.lines.append(f"{path} = {value}")

    def files(self, folder, **values):
        for name, value in values.items():
            self.file(f"{folder}/{name}", value)

    def block(self, path, text):
        self.lines += [f"{path} <<END", text.strip("\n"), "END"]

    def link(self, path, target):
        """A link as sysfs writes it: relative to the folder it stands in."""
        up = "../" * (path.count("/") - 1)
        self.lines.append(f"{path} -> {up}{target.lstrip('/')}")

    def fails(self, path, errno):
        self.lines.append(f"{path} ! {errno}")

    def folder(self, path):
        self.lines.append(path + "/")

    def command(self, words, text):
        self.lines += [f"$ {words} <<END", text.strip("\n"), "END"]

    def call(self, name, answer):
        self.lines += [f"@ {name} <<END", json.dumps(answer, separators=(",", ":")), "END"]

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n")


def config_space(read_request=4096, acs=None):
    """4096 bytes would do no more than these: header, PCI Express capability, and ACS where asked for."""
    space = bytearray(0x108)
    struct.pack_into("<H", space, 0x06, 0x0010)  # status: has a capability list
    space[0x34] = 0x60
    space[0x60] = 0x10  # PCI Express capability, last of its list
    code = {128: 0, 256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[read_request]
    struct.pack_into("<H", space, 0x68, code << 12 | 0x0930)  # relaxed ordering, 256-byte payload, no snoop
    if acs is not None:
        struct.pack_into("<I", space, 0x100, 0x0001000D)  # extended capability 0x000d, version 1, last
        struct.pack_into("<HH", space, 0x104, 0x001F, acs)
    return "hex:" + space.hex()


def resources():
    """Start, end and flags of the registers 0 to 5, all with an address (include/linux/ioport.h)."""
    used = {0: (0x92000000, 0x92FFFFFF, 0x40200), 1: (0x4000000000, 0x5FFFFFFFFF, 0x14220C)}
    return "\n".join("0x%016x 0x%016x 0x%016x" % used.get(number, (0, 0, 0)) for number in range(6))


GENERATION = {1: "2.5 GT/s PCIe", 2: "5.0 GT/s PCIe", 3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}


class Machine(Tree):
    def __init__(self, comment, hostname, arch="x86_64"):
        super().__init__(comment)
        self.hostname, self.arch = hostname, arch
        self.interfaces, self.verbs, self.services, self.modules = [], [], {}, []
        self.gpu_count = 0
        self.drives = []
        self.gpus = {}
        self.where, self.drivers, self.log = {}, {}, []

    # --- PCI ---
    def pci(self, path, vendor, device, code, driver, numa, now, most=None, config=None):
        """`path` runs from the root port to the device; its bridges are added on the way by the caller."""
        bus = path[0]
        address = path[-1].split("/")[-1]
        folder = f"/sys/devices/pci{bus}/" + "/".join(path[1:])
        self.where[address], self.drivers[address] = folder, driver
        self.link(f"/sys/bus/pci/devices/{address}", folder)
        self.files(folder, vendor=f"0x{vendor:04x}", device=f"0x{device:04x}", **{"class": f"0x{code:06x}"})
        self.file(f"{folder}/numa_node", numa)
        if driver:
            self.link(f"{folder}/driver", f"/sys/bus/pci/drivers/{driver}")
            self.folder(f"/sys/bus/pci/drivers/{driver}")
        if now:
            most = most or now
            self.files(folder, current_link_speed=GENERATION[now[0]], current_link_width=now[1],
                       max_link_speed=GENERATION[most[0]], max_link_width=most[1])
        if config:
            self.file(f"{folder}/config", config)
        if driver in ("nvidia", "mlx5_core", "mlx4_core"):
            self.block(f"{folder}/resource", resources())
        return folder

    def bridge(self, path, numa, now, config=None):
        return self.pci(path, 0x8086, 0x2F04, 0x060400, "pcieport", numa, now, config=config)

    # --- GPU ---
    def gpu(self, path, device, model, numa, now):
        self.pci(path, 0x10DE, device, 0x030200, "nvidia", numa, now)
        address = path[-1]
        index = self.gpu_count
        self.gpu_count += 1
        uuid = f"GPU-00000000-0000-4000-8000-{index:012x}"
        self.block(f"/proc/driver/nvidia/gpus/{address}/information",
                   f"Model: \t\t {model}\nGPU UUID: \t {uuid}\nBus Location: \t {address}")
        self.file(f"/dev/nvidia{index}", "")
        self.gpus[address] = (model, uuid)

    def nvidia(self, version, opened):
        kind = f"Open Kernel Module for {self.arch}" if opened else f"{self.arch} Kernel Module"
        self.block("/proc/driver/nvidia/version",
                   f"NVRM version: NVIDIA UNIX {kind}  {version}  Release Build  (composed)\nGCC version:  composed")
        self.modules += ["nvidia", "nvidia_uvm", "nvidia_modeset"]
        cuda = {"570": 12080, "580": 13000}[version.split(".")[0]]
        self.block("@ nvml", gpus.system(version, cuda, len(self.gpus)))
        for address, (model, uuid) in self.gpus.items():
            self.block(f"@ nvml {address}", gpus.nvml(model, uuid))
            self.block(f"@ cuda {address}", gpus.cuda(cuda, model, opened))
        if any("nvlinks" in gpus.MODELS[model] for model, _ in self.gpus.values()):
            self.block("@ nvml p2p", gpus.peers(list(self.gpus)))

    def nccl(self, version):
        """libnccl2 as NVIDIA's packages install it."""
        folder = "/usr/lib64" if self.hostname.startswith("r730") else f"/usr/lib/{self.arch}-linux-gnu"
        self.lines.append(f"{folder}/libnccl.so.2 -> libnccl.so.{version}")
        self.folder(f"{folder}/libnccl.so.{version}")

    # --- network ---
    def interface(self, name, device, mac, *, mtu=1500, speed=None, up=True, carrier=True, kind=1, dev_port=0,
                  driver="", addresses=(), ipoib=None, changes=2):
        folder = f"{self.where[device]}/net/{name}"
        self.link(f"/sys/class/net/{name}", folder)
        self.link(f"{folder}/device", self.where[device])
        flags = "0x1003" if up else "0x1002"
        self.files(folder, mtu=mtu, operstate="up" if up and carrier else "down", carrier_changes=changes, flags=flags,
                   type=kind, address=mac, dev_port=dev_port)
        if up:
            self.file(f"{folder}/carrier", 1 if carrier else 0)
        else:
            self.fails(f"{folder}/carrier", "EINVAL")
        if up and carrier and speed is not None:
            self.file(f"{folder}/speed", speed)
        else:
            self.fails(f"{folder}/speed", "EINVAL")
        if ipoib:
            self.file(f"{folder}/mode", ipoib)
            self.file(f"{folder}/pkey", "0xffff")
        self.files(f"{folder}/statistics", rx_errors=0, rx_dropped=0)
        if up and carrier and speed is not None and speed > 0:
            self.link_up(name, device)
        self.interfaces.append({"ifname": name, "addr_info": [
            {"family": "inet6" if ":" in one else "inet", "local": one.split("/")[0], "prefixlen": int(one.split("/")[1])}
            for one in addresses]})

    def link_up(self, name, device):
        """What the drivers log when all is well; Host::call("kernel-log") keeps such lines."""
        driver = self.drivers[device]
        if driver == "mlx5_core":
            self.log += [f"mlx5_core {device}: Port module event: module 0, Cable plugged", f"mlx5_core {device} {name}: Link up"]
        else:
            self.log += [f"mlx4_en: {name}: Link Up" if driver == "mlx4_core" else f"{driver} {device} {name}: NIC Link is Up"]

    def loopback(self):
        folder = "/sys/devices/virtual/net/lo"
        self.link("/sys/class/net/lo", folder)
        self.files(folder, mtu=65536, operstate="unknown", carrier=1, carrier_changes=0, flags="0x9", type=772,
                   address="00:00:00:00:00:00", dev_port=0)
        self.fails(f"{folder}/speed", "EINVAL")
        self.files(f"{folder}/statistics", rx_errors=0, rx_dropped=0)
        self.interfaces.append({"ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}]})

    def rdma(self, name, device, *, index, firmware, board, hca, guid, ports, hw_counters=None):
        folder = f"{self.where[device]}/infiniband/{name}"
        self.link(f"/sys/class/infiniband/{name}", folder)
        self.link(f"{folder}/device", self.where[device])
        self.files(folder, fw_ver=firmware, board_id=board, hca_type=hca, node_guid=guid, node_type="1: CA")
        self.file(f"/sys/class/infiniband_verbs/uverbs{index}/ibdev", name)
        answers = []
        for number, port in enumerate(ports, 1):
            self.rdma_port(f"{folder}/ports/{number}", name, number, port, hw_counters)
            answers.append({"number": number, "active_mtu": port["mtu"], "max_mtu": 4096, "gid_table_length": 256,
                            "link_layer": port.get("layer", "Ethernet")})
        driver = self.drivers[device]
        self.verbs.append({"name": name, "dma_buf": "no" if driver == "mlx4_core" else "yes", "ports": answers})

    def rdma_port(self, folder, name, number, port, hw_counters):
        layer = port.get("layer", "Ethernet")
        up = port.get("up", True)
        self.files(folder, state="4: ACTIVE" if up else "1: DOWN", phys_state="5: LinkUp" if up else "3: Disabled",
                   link_layer=layer, rate=port["rate"], lid=port.get("lid", "0x0"), sm_lid=port.get("sm_lid", "0x0"))
        for index, (gid, kind) in enumerate(port["gids"]):
            self.file(f"{folder}/gids/{index}", gid)
            self.file(f"{folder}/gid_attrs/types/{index}", kind)
            if layer == "Ethernet":
                self.file(f"{folder}/gid_attrs/ndevs/{index}", port["netdev"])
            else:
                self.fails(f"{folder}/gid_attrs/ndevs/{index}", "EINVAL")
        self.file(f"{folder}/pkeys/0", "0xffff")
        empty = len(port["gids"])
        self.file(f"{folder}/gids/{empty}", "0000:0000:0000:0000:0000:0000:0000:0000")
        self.fails(f"{folder}/gid_attrs/types/{empty}", "EINVAL")
        self.fails(f"{folder}/gid_attrs/ndevs/{empty}", "EINVAL")
        self.files(f"{folder}/counters", link_downed=0, link_error_recovery=0, symbol_error=0,
                   local_link_integrity_errors=0, port_rcv_errors=0, excessive_buffer_overrun_errors=0, VL15_dropped=0,
                   port_rcv_data=1024, port_xmit_data=1024, port_xmit_wait=0)
        if hw_counters:
            self.files(f"{folder}/hw_counters", lifespan=10, **{counter: 0 for counter in hw_counters})
        if "tos" in port:
            self.files(f"/sys/kernel/config/rdma_cm/{name}/ports/{number}", default_roce_tos=port["tos"], default_roce_mode="RoCE v2")

    # --- system ---
    def system(self, *, os_release, kernel, cmdline, cpu, sockets, cores, memory_kib, governor="performance",
               clocksource="tsc", p2pdma=True, disk=200 << 30):
        self.file("/proc/sys/kernel/hostname", self.hostname)
        self.block("/etc/os-release", os_release)
        self.file("/proc/sys/kernel/osrelease", kernel)
        self.file("/proc/cmdline", cmdline)
        self.file("/proc/uptime", f"{UPTIME}.00 0.00")
        self.file("/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000000")
        self.file("/proc/sys/net/core/rmem_max", 268435456)
        self.file("/proc/sys/net/core/wmem_max", 268435456)
        self.block("/etc/sysctl.d/90-rdma.conf", "net.core.rmem_max = 268435456\nnet.core.wmem_max = 268435456\n"
                                                 "kernel.numa_balancing = 0")
        if self.arch == "x86_64":
            processors = [f"processor\t: {i}\nmodel name\t: {cpu}\nphysical id\t: {i}" for i in range(sockets)]
        else:
            processors = ["processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd85"]
        self.block("/proc/cpuinfo", "\n\n".join(processors))
        total = sockets * cores
        for name in ("online", "possible", "present"):
            self.file(f"/sys/devices/system/cpu/{name}", f"0-{total - 1}")
        self.files("/sys/devices/system/cpu/cpufreq/policy0", scaling_governor=governor,
                   scaling_driver="intel_pstate" if self.arch == "x86_64" else "cppc_cpufreq")
        self.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", clocksource)
        for node in range(sockets):
            self.file(f"/sys/devices/system/node/node{node}/cpulist", f"{node * cores}-{(node + 1) * cores - 1}")
            if self.arch == "x86_64":
                self.files(f"/sys/devices/system/edac/mc/mc{node}", ue_count=0, ce_count=0)
        self.block("/proc/meminfo", f"MemTotal:       {memory_kib} kB\nMemAvailable:   {memory_kib * 9 // 10} kB\n"
                                    "SwapTotal:      0 kB\nHugePages_Total:       0\nHugePages_Free:        0\n"
                                    "Hugepagesize:       2048 kB")
        self.limits("/proc/self/limits", "unlimited")
        self.block(f"/boot/config-{kernel}", f"CONFIG_PCI_P2PDMA={'y' if p2pdma else 'n'}\nCONFIG_INFINIBAND=m\n"
                   "CONFIG_NUMA_BALANCING_DEFAULT_ENABLED=y")
        self.call("uname", {"machine": self.arch})
        self.call("clock", {"utc": "2026-01-19T12:00:00Z", "synchronised": True})
        for path in ("/", "/tmp"):
            self.statvfs(path, disk)
        self.statvfs("/dev/shm", memory_kib * 512)
        self.file("/proc/sys/kernel/numa_balancing", 0)
        self.call("stuck", [])
        self.file(f"/lib/modules/{kernel}/modules.order", "")
        self.folder(f"/lib/modules/{kernel}/build")
        if "ubuntu" in os_release:
            self.folder("/var/lib/dpkg")
        self.call("environment NCCL", {})
        self.call("environment HOME", {"HOME": "/root"})

    def statvfs(self, path, size):
        self.call(f"statvfs {path}", {"size": size, "available": size * 7 // 10, "inodes": size // 16384,
                                      "inodes_available": size // 20000, "read_only": False})

    def firmware(self, maker, product, version, date):
        self.files("/sys/class/dmi/id", sys_vendor=maker, product_name=product, bios_version=version, bios_date=date)

    def dkms(self, name, version, *kernels):
        for kernel in kernels:
            self.link(f"/var/lib/dkms/{name}/kernel-{kernel}-{self.arch}", f"/var/lib/dkms/{name}/{version}/{kernel}/{self.arch}")
            self.folder(f"/var/lib/dkms/{name}/{version}/{kernel}/{self.arch}")

    def nvme(self, index, path, model, numa, now):
        self.pci(path, 0x144D, 0xA80A, 0x010802, "nvme", numa, now)
        folder = f"{self.where[path[-1]]}/nvme/nvme{index}"
        self.link(f"/sys/class/nvme/nvme{index}", folder)
        self.files(folder, model=model, firmware_rev="GDC5602Q", state="live")
        self.drives.append({"name": f"nvme{index}", "error": "", "critical_warning": 0, "spare_percent": 100,
                            "spare_threshold_percent": 10, "used_percent": 3, "media_errors": 0, "celsius": 38})

    def lossless(self, name):
        """As mlnx_qos sets it: trust dscp, PFC on priority 3 alone, ECN on for it."""
        self.call(f"ethernet {name}", {"pause_error": "", "pause_receive": False, "pause_transmit": False, "dcb_error": "",
                                       "pfc_capability": 8, "pfc_priorities": [3], "dscp": {str(one): one >> 3 for one in range(64)}})
        folder = f"/sys/class/net/{name}/ecn"
        for side in ("roce_np", "roce_rp"):
            self.files(f"{folder}/{side}/enable", **{str(priority): int(priority == 3) for priority in range(8)})
        self.file(f"{folder}/roce_np/cnp_dscp", 48)

    def load(self, ports, interfaces, pci):
        """Ten seconds in which packets went and nothing failed."""
        self.call("load 10", {
            "seconds": 10.0,
            "ports": [{"device": device, "number": number, "counters": {**{name: 0 for name in PORT_COUNTERS}, **traffic},
                       "hw_counters": {name: 0 for name in hw}} for device, number, traffic, hw in ports],
            "interfaces": [{"name": name, "statistics": {"carrier_changes": 0, "rx_errors": 0}, "driver": {one: 0 for one in driver}}
                           for name, driver in interfaces],
            "pci": [{"address": address, "errors": {"correctable": 0, "nonfatal": 0, "fatal": 0}} for address in pci]})

    def limits(self, path, value):
        self.block(path, "Limit                     Soft Limit           Hard Limit           Units\n"
                         f"Max locked memory         {value:<20} {value:<20} bytes")

    def finish(self):
        self.block("/proc/modules", "\n".join(f"{name} 16384 0 - Live 0x0000000000000000" for name in self.modules))
        for name in self.modules:
            self.folder(f"/sys/module/{name}") if name != "nvidia_peermem" else None
        self.folder("/run/systemd/system")
        blocks = []
        for unit in known_units():
            state = self.services.get(unit)
            pid, load, active, enabled = (state + ("loaded", "active", "enabled"))[:4] if state else (0, "not-found", "inactive", "")
            blocks.append(f"MainPID={pid}\nId={unit}.service\nLoadState={load}\nActiveState={active}\nUnitFileState={enabled}")
        words = " ".join(unit + ".service" for unit in known_units())
        self.command(f"systemctl show --property=Id,LoadState,ActiveState,UnitFileState,MainPID {words}", "\n\n".join(blocks))
        self.command("ip -j address show", json.dumps(self.interfaces, separators=(",", ":")))
        self.command("ip -j route show default", json.dumps([{"dst": "default", "dev": self.interfaces[1]["ifname"]}]))
        if self.drives:
            self.call("nvme", self.drives)
        nodes = {f"uverbs{index}": 0o666 for index in range(len(self.verbs))}
        self.call("modes /dev/infiniband", {"rdma_cm": 0o666, **nodes})
        self.file("/sys/module/ib_core/parameters/netns_mode", "Y")
        self.call("verbs", {"library": "libibverbs.so.1", "error": "", "devices": self.verbs})
        boot = NOW - UPTIME
        self.call("kernel-log", {"source": "/dev/kmsg", "begins": boot, "ends": NOW, "beginning_lost": False, "dropped": 0, "lines": [
            {"first": boot + 20 + i, "last": boot + 20 + i, "count": 1, "text": text} for i, text in enumerate(self.log)]})


UBUNTU_2204 = 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.5 LTS"'
UBUNTU_2404 = 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"'
RHEL_101 = 'ID="rhel"\nVERSION_ID="10.1"\nPRETTY_NAME="Red Hat Enterprise Linux 10.1 (Coughlan)"'

RDMA_MODULES = ["ib_core", "ib_uverbs", "ib_cm", "iw_cm", "rdma_cm", "rdma_ucm"]
PORT_COUNTERS = ["link_downed", "link_error_recovery", "symbol_error", "local_link_integrity_errors", "port_rcv_errors",
                 "excessive_buffer_overrun_errors", "port_xmit_discards"]
MLX5_DRIVER = ["rx_prio3_discards", "rx_prio3_buf_discard", "rx_prio3_pause", "tx_prio3_pause", "tx_pause_storm_warning_events",
               "tx_pause_storm_error_events", "rx_oversize_pkts_phy", "link_down_events_phy", "module_high_temp",
               "rx_pcs_symbol_err_phy", "rx_crc_errors_phy"]
MODULE = """
	Identifier                                : 0x19 (OSFP 8X Pluggable Transceiver)
	Module temperature                        : 48.22 degrees C / 118.80 degrees F
	Module voltage                            : 3.2841 V
	Module temperature high alarm             : Off
	Module temperature high warning           : Off
	Laser rx power low alarm (Chan 1)         : Off
	Laser rx power low warning (Chan 1)       : Off"""
MLX5_COUNTERS = ["out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rx_icrc_encapsulated", "out_of_buffer",
                 "rnr_nak_retry_err", "np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored",
                 "roce_adp_retrans", "roce_slow_restart"]


def roce_gids(mac_like, ipv4):
    """In the kernel's order (drivers/infiniband/core/roce_gid_mgmt.c): each address once for each RoCE version."""
    link_local = f"fe80:0000:0000:0000:{mac_like}"
    a, b, c, d = (int(part) for part in ipv4.split("."))
    mapped = f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"
    return [(link_local, "IB/RoCE v1"), (link_local, "RoCE v2"), (mapped, "IB/RoCE v1"), (mapped, "RoCE v2")]


def v100(index):
    host = f"gpuserver{index}"
    one = Machine(f"""
Composed, not captured: {host} of the V100 guide. From the guide: two V100-PCIE-16GB at 02:00.0 and 03:00.0, driver
580.126.09, ConnectX-3 Pro 40GbE mlx4_0 with ports ens6 and ens6d1, addresses, MTU 9000, Ubuntu 22.04.5, kernel 5.15,
64 GB, dual Xeon, two I210, node GUID of gpuserver1. From the kernel's documentation: the layout. Made up: bus 04 of the
adapter, firmware, MACs, uptime. The GID order is the kernel's, so the RoCE v2 IPv4 GID is index 3; the guide pins 2.
""", host)
    for port, bus, width in (("00:01.0", "02", 16), ("00:02.0", "03", 16), ("00:03.0", "04", 8)):
        one.bridge(["0000:00", f"0000:{port}"], 0, (3, width))
    one.gpu(["0000:00", "0000:00:01.0", "0000:02:00.0"], 0x1DB4, "Tesla V100-PCIE-16GB", 0, (3, 16))
    one.gpu(["0000:00", "0000:00:02.0", "0000:03:00.0"], 0x1DB4, "Tesla V100-PCIE-16GB", 0, (3, 16))
    one.pci(["0000:00", "0000:00:03.0", "0000:04:00.0"], 0x15B3, 0x1007, 0x020000, "mlx4_core", 0, (3, 8))
    for bus, root in (("05", "1c.0"), ("06", "1c.1")):
        one.bridge(["0000:00", f"0000:00:{root}"], 0, (1, 1))
        one.pci(["0000:00", f"0000:00:{root}", f"0000:{bus}:00.0"], 0x8086, 0x1533, 0x020000, "igb", 0, (1, 1))
    one.nvidia("580.126.09", opened=False)
    one.nccl("2.28.9")
    one.loopback()
    one.interface("enp5s0", "0000:05:00.0", f"02:00:00:05:00:0{index}", speed=1000,
                  addresses=[f"192.168.1.{73 if index == 1 else 71}/24"])
    one.interface("enp6s0", "0000:06:00.0", f"02:00:00:06:00:0{index}", carrier=False)
    ports = []
    for number, (name, subnet) in enumerate((("ens6", "10.0.1"), ("ens6d1", "10.0.0"))):
        address = f"{subnet}.{index}"
        one.interface(name, "0000:04:00.0", f"24:8a:07:52:aa:{index}{number}", mtu=9000, speed=40000, dev_port=number,
                      addresses=[f"{address}/24", f"fe80::268a:7ff:fe52:aa{index}{number}/64"])
        ports.append({"rate": "40 Gb/sec (4X QDR)", "mtu": 4096, "netdev": name,
                      "gids": roce_gids(f"268a:07ff:fe52:aa{index}{number}", address)})
    one.rdma("mlx4_0", "0000:04:00.0", index=0, firmware="2.42.5000", board="MT_1090111019", hca="MT4103",
             guid=f"248a:0703:0052:aab{index - 1}", ports=ports)
    one.modules += RDMA_MODULES + ["mlx4_core", "mlx4_en", "mlx4_ib"]
    one.services = {"ssh": (900,), "systemd-timesyncd": (700,), "systemd-networkd": (600,)}
    one.block("/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {host}\n10.0.1.1 gpuserver1 gpuserver1-rdma\n10.0.1.2 gpuserver2 gpuserver2-rdma")
    one.command("nft -j list ruleset", json.dumps({"nftables": [
        {"metainfo": {"version": "1.0.2"}}, {"table": {"family": "inet", "name": "filter"}},
        {"chain": {"family": "inet", "table": "filter", "name": "input", "hook": "input", "prio": 0, "policy": "accept"}}]}))
    one.firmware("Supermicro", "SYS-1028GQ-TRT", "3.4", "06/02/2021")
    one.system(os_release=UBUNTU_2204, kernel="5.15.0-164-generic", cmdline="root=/dev/nvme0n1p2 ro console=tty0 console=ttyS1,9600n8",
               cpu="Intel(R) Xeon(R) CPU E5-2699 v3 @ 2.30GHz", sockets=2, cores=18, memory_kib=65_700_000)
    one.finish()
    one.write(MACHINES / "v100-cx3pro" / f"{host}.tree")


SPARK_RAILS = {"enP2p1s0f0np0": "192.168.100", "enp1s0f0np0": "192.168.101"}


def spark(index, folder="spark-cx7", rails=("enP2p1s0f0np0",)):
    """On one half of its cable, as the guide has it, or on both."""
    host = f"spark-0{index}"
    addresses = {name: f"{SPARK_RAILS[name]}.{index}" for name in rails}
    one = Machine(f"""
Composed, not captured: {host} of the DGX Spark guide. From the guide: one GB10, ConnectX-7 with four functions of which
roceP2p1s0f0 / enP2p1s0f0np0 carries 192.168.100.{index}, MTU 9000, socket buffers 268435456, unused interfaces down, arm64,
Ubuntu 24.04, CUDA 13.0. From NVIDIA's DGX Spark user guide: each port is two PCIe x4 functions. Made up: driver build,
firmware, MACs, the management adapter.
""", host, arch="aarch64")
    one.bridge(["000f:00", "000f:00:00.0"], 0, None)
    one.gpu(["000f:00", "000f:00:00.0", "000f:01:00.0"], 0x2E12, "NVIDIA GB10", 0, None)
    one.bridge(["0007:00", "0007:00:00.0"], 0, (3, 1))
    one.pci(["0007:00", "0007:00:00.0", "0007:01:00.0"], 0x10EC, 0x8127, 0x020000, "r8127", 0, (3, 1))
    one.nvidia("580.95.05", opened=True)
    one.nccl("2.28.9")
    one.loopback()
    one.interface("enP7s7", "0007:01:00.0", f"02:00:00:07:07:0{index}", speed=1000, addresses=[f"10.0.0.{index}/24"])
    number = 0
    for domain, letter in (("0000", ""), ("0002", "P2")):
        one.bridge([f"{domain}:00", f"{domain}:00:00.0"], 0, (5, 4))
        for function in (0, 1):
            address = f"{domain}:01:00.{function}"
            one.pci([f"{domain}:00", f"{domain}:00:00.0", address], 0x15B3, 0x1021, 0x020000, "mlx5_core", 0, (5, 4),
                    config=config_space())
            name, device = f"en{letter}p1s0f{function}np{function}", f"roce{letter}p1s0f{function}"
            used = name in addresses
            mac = f"4c:bb:47:00:{index}{number}:01"
            suffix = f"4ebb:47ff:fe00:{index}{number}01"
            one.interface(name, address, mac, mtu=9000 if used else 1500, speed=200000 if used else None, up=used,
                          addresses=[f"{addresses[name]}/24"] if used else [])
            gids = roce_gids(suffix, addresses[name]) if used else []
            one.rdma(device, address, index=number, firmware="28.45.4028", board="NVD0000000087", hca="MT4129",
                     guid=f"4cbb:4700:0300:{index}{number}01", hw_counters=MLX5_COUNTERS,
                     ports=[{"rate": "200 Gb/sec (4X HDR)" if used else "40 Gb/sec (4X QDR)", "mtu": 4096 if used else 1024,
                             "netdev": name, "gids": gids, "up": used}])
            number += 1
    one.log += [f"mlx5_core {domain}:01:00.{function}: mlx5_pcie_event:299:(pid 31): Detected insufficient power on the PCIe slot (27W)."
                for domain in ("0000", "0002") for function in (0, 1)]
    one.modules += RDMA_MODULES + ["mlx5_core", "mlx5_ib"]
    one.services = {"ssh": (900,), "NetworkManager": (600,), "disable-unused-nics": (0,), "rdma-optimize": (0,)}
    hcas = ",".join(name.replace("en", "roce", 1).removesuffix("np0") for name in rails)
    one.block("/etc/profile.d/nccl-env.sh",
              f"# NCCL for the mesh\nexport NCCL_IB_HCA=={hcas}\nexport NCCL_SOCKET_IFNAME==enP2p1s0f0np0")
    one.system(os_release=UBUNTU_2404, kernel="6.14.0-1013-nvidia", cmdline="root=/dev/nvme0n1p2 ro", cpu="", sockets=1, cores=20,
               memory_kib=125_000_000, clocksource="arch_sys_counter", disk=3800 << 30)
    one.finish()
    one.write(MACHINES / folder / f"{host}.tree")


def r730(index):
    letter = "abc"[index - 1]
    host = f"r730-{letter}"
    memory = (256, 768, 128)[index - 1]
    one = Machine(f"""
Composed, not captured: a Dell R730 of the InfiniBand guide. From the guide: MCX455A-ECAT (ConnectX-4, one port) on a QDR
switch without subnet manager, so 40 Gb/s and opensm on one host, Tesla T4, RHEL 10.1, two Xeon E5 v4, {memory} GB. The guide's
third server is an R720 on RHEL 9; here all three are alike. Datagram mode and MTU 4092 as ConnectX-4 has them. The guide
wants nvidia-peermem; RHEL's own RDMA core has no place for it, so the open module and DMA-BUF do it here, and as no PCIe
switch joins GPU and adapter, NCCL is told to go through the host bridge. Made up: bus numbers, LIDs, addresses
10.10.10.{index}, firmware, driver build.
""", host)
    for root, width in (("00:02.0", 16), ("00:03.0", 16), ("00:01.0", 8)):
        one.bridge(["0000:00", f"0000:{root}"], 0, (3, width))
    one.gpu(["0000:00", "0000:00:02.0", "0000:03:00.0"], 0x1EB8, "Tesla T4", 0, (3, 16))
    one.pci(["0000:00", "0000:00:03.0", "0000:04:00.0"], 0x15B3, 0x1013, 0x020700, "mlx5_core", 0, (3, 16))
    one.pci(["0000:00", "0000:00:01.0", "0000:01:00.0"], 0x14E4, 0x168E, 0x020000, "bnx2x", 0, (2, 8))
    one.nvidia("580.95.05", opened=True)
    one.nccl("2.28.9")
    one.file("/etc/nccl.conf", "NCCL_NET_GDR_LEVEL=PHB")
    one.loopback()
    one.interface("eno1", "0000:01:00.0", f"02:00:00:01:00:0{index}", speed=1000, addresses=[f"192.168.10.{10 + index}/24"])
    one.interface("ib0", "0000:04:00.0", f"00:00:10:29:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:00:00:0{index}", mtu=4092,
                  speed=40000, kind=32, ipoib="datagram", addresses=[f"10.10.10.{index}/24"])
    one.rdma("mlx5_0", "0000:04:00.0", index=0, firmware="12.28.2006", board="MT_2180110032", hca="MT4115",
             guid=f"e41d:2d03:0000:000{index}", hw_counters=MLX5_COUNTERS,
             ports=[{"layer": "InfiniBand", "rate": "40 Gb/sec (4X QDR)", "mtu": 4096, "lid": f"0x{index}", "sm_lid": "0x1",
                     "gids": [(f"fe80:0000:0000:0000:e41d:2d03:0000:000{index}", "IB/RoCE v1")]}])
    one.modules += RDMA_MODULES + ["mlx5_core", "mlx5_ib", "ib_umad", "ib_ipoib"]
    one.services = {"sshd": (900,), "chronyd": (700,), "NetworkManager": (600,)}
    if index == 1:
        one.services["opensm"] = (1200,)
    one.firmware("Dell Inc.", "PowerEdge R730", "2.19.0", "12/12/2023")
    one.load([("mlx5_0", 1, {"port_xmit_data": 40_000_000_000, "port_rcv_data": 40_000_000_000, "port_xmit_wait": 1_000_000,
                             "port_rcv_packets": 80_000_000}, MLX5_COUNTERS)], [("ib0", [])], ["0000:03:00.0", "0000:04:00.0"])
    one.system(os_release=RHEL_101, kernel="6.12.0-124.8.1.el10_1.x86_64", cmdline="root=/dev/mapper/rhel-root ro",
               cpu="Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.40GHz", sockets=2, cores=14, memory_kib=(memory << 20) - 4_000_000)
    one.finish()
    one.write(MACHINES / "r730-cx4" / f"{host}.tree")


def h100(index):
    host = f"gpu0{index}"
    one = Machine(f"""
Composed, not captured: an 8-GPU H100 node with eight 400 Gb/s ports. From the verification guide: Ubuntu 24.04, kernel 6.8,
driver 570.124.06 open, H100 80GB HBM3 with the first at 17:00.0, RoCE traffic class 104, rdma-cm-tos, NCCL_IB_TC=104 in
/etc/profile.d. From NVIDIA's HGX documentation: four PCIe switches, each with two GPUs and two adapters, so that a GPU reaches
its adapter without the processor. From NVIDIA's RoCE guides: trust DSCP, PFC on priority 3, congestion notifications with DSCP 48.
Made up: the other bus numbers, names, addresses 10.N.0.{index}, firmware, drives, the load window, storage adapters
mlx5_8 to mlx5_10.
""", host)
    device = 0
    later = []
    for switch, bus in enumerate((0x14, 0x38, 0x84, 0xB8)):
        numa = 0 if switch < 2 else 1
        domain = f"0000:{bus:02x}"
        root = f"0000:{bus:02x}:01.0"
        upstream = f"0000:{bus + 1:02x}:00.0"
        one.bridge([domain, root], numa, (5, 16))
        one.bridge([domain, root, upstream], numa, (5, 16))
        for slot in range(4):
            downstream = f"0000:{bus + 2:02x}:0{slot}.0"
            address = f"0000:{bus + 3 + slot:02x}:00.0"
            one.bridge([domain, root, upstream, downstream], numa, (5, 16), config=config_space(acs=0))
            path = [domain, root, upstream, downstream, address]
            if slot < 2:
                one.gpu(path, 0x2330, "NVIDIA H100 80GB HBM3", numa, (5, 16))
            else:
                one.pci(path, 0x15B3, 0x1021, 0x020000, "mlx5_core", numa, (5, 16), config=config_space())
                later.append((device, address))
                device += 1
    one.bridge(["0000:00", "0000:00:05.0"], 0, (4, 16))
    for function in range(3):
        address = f"0000:01:00.{function}"
        one.pci(["0000:00", "0000:00:05.0", address], 0x15B3, 0x101D, 0x020000, "mlx5_core", 0, (4, 16), config=config_space())
        later.append((8 + function, address))
    for drive in range(2):
        upstream = f"0000:00:07.{drive}"
        one.bridge(["0000:00", upstream], 0, (4, 4))
        one.nvme(drive, ["0000:00", upstream, f"0000:0{3 + drive}:00.0"], "SAMSUNG MZQL23T8HCLS-00A07", 0, (4, 4))
    one.nvidia("570.124.06", opened=True)
    one.file("/usr/bin/nv-fabricmanager", "")
    one.command("nv-fabricmanager --version", "Fabric Manager version is : 570.124.06")
    one.loopback()
    one.bridge(["0000:00", "0000:00:1c.0"], 0, (1, 1))
    one.pci(["0000:00", "0000:00:1c.0", "0000:02:00.0"], 0x8086, 0x1533, 0x020000, "igb", 0, (1, 1))
    one.interface("eno1", "0000:02:00.0", f"02:00:00:02:00:0{index}", speed=1000, addresses=[f"192.168.0.{index}/24"])
    for number, address in later:
        rail = number < 8
        name = f"ens{11 + number}np0" if rail else f"enp1s0f{number - 8}np{number - 8}"
        up = number != 9
        ipv4 = f"10.{number}.0.{index}"
        one.interface(name, address, f"94:6d:ae:00:{index:02x}:{number:02x}", mtu=9000 if rail else 1500,
                      speed=(400000 if rail else 100000) if up else None, up=up, addresses=[f"{ipv4}/24"] if up else [])
        port = {"rate": ("400 Gb/sec (4X NDR)" if rail else "100 Gb/sec (4X EDR)") if up else "40 Gb/sec (4X QDR)",
                "mtu": 4096 if rail else 1024, "netdev": name, "up": up,
                "gids": roce_gids(f"966d:aeff:fe00:{index:02x}{number:02x}", ipv4) if up else []}
        if rail:
            port["tos"] = 104
            one.lossless(name)
            one.command(f"ethtool -m {name}", MODULE)
        one.rdma(f"mlx5_{number}", address, index=number, firmware="28.43.2026" if rail else "22.43.2026",
                 board="MT_0000000838" if rail else "MT_0000000359", hca="MT4129" if rail else "MT4125",
                 guid=f"946d:ae03:00{index:02x}:{number:04x}", ports=[port], hw_counters=MLX5_COUNTERS)
    one.modules += RDMA_MODULES + ["mlx5_core", "mlx5_ib"]
    one.services = {"ssh": (900,), "chrony": (700,), "systemd-networkd": (600,), "rdma-cm-tos": (0,),
                    "nvidia-fabricmanager": (1500,), "nvidia-persistenced": (1400,), "slurmd": (2000,)}
    one.limits("/proc/2000/limits", "unlimited")
    one.command("systemctl show --property=Id,Environment,EnvironmentFiles slurmd.service",
                "Id=slurmd.service\nEnvironment=")
    one.nccl("2.26.2")
    hcas = ",".join(f"mlx5_{number}" for number in range(8))
    one.block("/etc/profile.d/nccl-rdma.sh",
              f"export NCCL_IB_DISABLE=0\nexport NCCL_IB_TC=104\nexport NCCL_NET_GDR_LEVEL=SYS\nexport NCCL_IB_HCA=={hcas}")
    one.firmware("Supermicro", "SYS-821GE-TNHR", "2.1", "05/29/2024")
    one.dkms("nvidia", "570.124.06", "6.8.0-87-generic")
    one.statvfs("/scratch", 60 << 40)
    one.load([(f"mlx5_{number}", 1, {"port_xmit_data": 10_000_000_000, "port_rcv_data": 10_000_000_000, "port_rcv_packets": 10_000_000},
               MLX5_COUNTERS) for number in range(8)],
             [(f"ens{11 + number}np0", MLX5_DRIVER) for number in range(8)], [address for _, address in later])
    one.system(os_release=UBUNTU_2404, kernel="6.8.0-87-generic", cmdline="root=/dev/nvme0n1p2 ro iommu=pt",
               cpu="Intel(R) Xeon(R) Platinum 8480C", sockets=2, cores=56, memory_kib=(2048 << 20) - 30_000_000, disk=1700 << 30)
    one.finish()
    one.write(MACHINES / "h100-cx7" / f"{host}.tree")


def rxe(index):
    host = f"vm{index}"
    one = Machine(f"""
Composed: a virtual machine with software RDMA, after the two of tests/lab: Debian 12, virtio-net, rxe0 on eth1, addresses
10.77.0.{index}, MTU 9000, no PCI Express link, no frequency scaling, no systemd.
""", host)
    for slot, name, subnet in (("01", "eth0", "10.0.2"), ("02", "eth1", "10.77.0")):
        address = f"0000:00:{slot}.0"
        one.pci(["0000:00", address], 0x1AF4, 0x1000, 0x020000, "virtio-pci", -1, None)
        host_part = 15 if name == "eth0" else index
        one.interface(name, address, f"52:54:00:77:{slot}:0{index}", mtu=9000 if name == "eth1" else 1500, speed=-1,
                      addresses=[f"{subnet}.{host_part}/24"])
    one.loopback()
    folder = "/sys/devices/virtual/infiniband/rxe0"
    one.link("/sys/class/infiniband/rxe0", folder)
    one.files(folder, fw_ver="", node_guid=f"5054:00ff:fe77:000{index}", parent="eth1")
    one.file("/sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0")
    gids = [(f"fe80:0000:0000:0000:5054:00ff:fe77:000{index}", "RoCE v2"), (f"0000:0000:0000:0000:0000:ffff:0a4d:000{index}", "RoCE v2")]
    one.rdma_port(f"{folder}/ports/1", "rxe0", 1, {"rate": "2.5 Gb/sec (1X SDR)", "gids": gids, "netdev": "eth1"},
                  ["sent_pkts", "rcvd_pkts", "completer_retry_err"])
    one.lines = [line for line in one.lines if "/ports/1/counters/" not in line]  # rxe has none
    one.verbs.append({"name": "rxe0", "ports": [{"number": 1, "active_mtu": 4096, "max_mtu": 4096, "gid_table_length": 1024,
                                                 "link_layer": "Ethernet"}]})
    one.modules += RDMA_MODULES + ["rdma_rxe"]
    one.system(os_release='ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"', kernel="6.1.0-41-amd64",
               cmdline="console=ttyS0", cpu="QEMU TCG CPU version 2.5+", sockets=1, cores=2, memory_kib=470_000, clocksource="hpet")
    one.lines = [line for line in one.lines if "cpufreq" not in line and "/edac/" not in line]
    one.finish()
    one.lines = [line for line in one.lines if line != "/run/systemd/system/"]
    one.write(MACHINES / "rxe-pair" / f"{host}.tree")


for number in (1, 2):
    rxe(number)
    v100(number)
    spark(number)
    spark(number, "spark-two-rails", tuple(SPARK_RAILS))
    h100(number)
for number in (1, 2, 3):
    r730(number)
