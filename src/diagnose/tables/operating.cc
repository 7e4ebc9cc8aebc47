// What tools of measuring and operating print when something is wrong, and why: perftest and nccl-tests, DCGM, GPUDirect
// Storage, ipmitool, the tools of an InfiniBand subnet, pdsh, and the operators of Kubernetes.
#include "diagnose/tables/rows.h"

namespace railbed::diagnose {
namespace operating_rows {
namespace {

constexpr std::string_view kIpmiSource =
    "github.com/ipmitool/ipmitool, plugins/open; Linux drivers/char/ipmi";
constexpr std::string_view kDcgmSource = "github.com/NVIDIA/dcgm-exporter; github.com/NVIDIA/DCGM";
constexpr std::string_view kMadSource = "rdma-core libibmad/rpc.c; github.com/linux-rdma/rdma-core/pull/1794";
constexpr std::string_view kGdsSource = "github.com/NVIDIA/gds-nvidia-fs; NVIDIA GPUDirect RDMA guide";
constexpr std::string_view kVersionSource = "Linux kernel/module/version.c";
constexpr std::string_view kPluginSource = "github.com/Mellanox/k8s-rdma-shared-dev-plugin";
constexpr std::string_view kSriovSource = "Linux drivers/pci/iov.c";
constexpr std::string_view kPinTitle =
    "The driver refused to pin GPU memory for another device (nvidia_p2p_get_pages, EINVAL)";
constexpr std::string_view kNoProfilingTitle =
    "DCGM offers no profiling metrics (DCGM_FI_PROF_…) on this node";
constexpr std::string_view kNoVfTitle =
    "The kernel could not create the virtual functions of a PCIe device (SR-IOV)";

// clang-format off
constexpr Symptom kOperatingSymptoms[] = {
    // Modules of the kernel
    {"module-symbol-version", kError,   kCause, kAnyone, {"disagrees about version of symbol "}, kVersionSource,
     "The kernel refuses a module: it was built against other versions of the symbols it uses"},
    {"symbol-not-gpl",        kError,   kCause, kAnyone, {"failing symbol_get of non-GPLONLY symbol "}, "Linux kernel/module/main.c, __symbol_get",
     "A module may not use a symbol of another one, so the two do not work together (GPUDirect Storage, mostly)"},
    {"ofed-name",             kNote,    kSight, kAnyone, {"MLNX_OFED_LINUX-"}, "ofed_info -s", "MLNX_OFED is installed"},
    {"ofed-dkms",             kNote,    kSight, kAnyone, {"mlnx-ofed-kernel"}, "dkms status", "MLNX_OFED is installed"},
    {"ofed-doca",             kNote,    kSight, kAnyone, {"doca-ofed"}, "rpm -q, dpkg -l", "DOCA-OFED is installed"},

    // GPUDirect Storage
    {"gds-pin",               kError,   kCause, kAnyone, {"invoking nvidia_p2p_get_pages", "Error ret -22"}, kGdsSource, kPinTitle},
    {"gdrcopy-pin",           kError,   kCause, kAnyone, {"nvidia_p2p_get_pages(", "ret = -22"}, "github.com/NVIDIA/gdrcopy/issues/30", kPinTitle},
    {"cufile-map",            kError,   kCause, kAnyone, {"nvidia-fs MAP ioctl failed", "-22"}, kGdsSource, kPinTitle},

    // BMC
    {"ipmi-no-device",        kError,   kCause, kAnyone, {"Could not open device at /dev/ipmi0"}, kIpmiSource,
     "ipmitool finds no IPMI device on this machine"},
    {"sol-taken",             kError,   kCause, kAnyone, {"SOL payload already active on another session"}, "ipmitool lib/ipmi_sol.c",
     "The serial console over LAN is taken: the BMC counts another session as active"},
    {"sol-disabled",          kError,   kCause, kAnyone, {"SOL payload disabled"}, "ipmitool lib/ipmi_sol.c",
     "The serial console over LAN is switched off in the BMC"},
    {"ipmi-no-interface",     kNote,    kSight, kAnyone, {"Unable to find any System Interface"}, kIpmiSource, "The kernel found no interface to a BMC"},
    {"ipmi-hardware",         kNote,    kSight, kAnyone, {"IPMI Device Information"}, "dmidecode", "The machine has a BMC"},
    {"ipmi-new-bmc",          kNote,    kSight, kAnyone, {"Found new BMC"}, kIpmiSource, "The kernel found a BMC"},
    {"hypervisor-detected",   kNote,    kSight, kAnyone, {"Hypervisor detected: "}, "Linux arch/x86/kernel/cpu/hypervisor.c", "A virtual machine"},
    {"dmi-vmware",            kNote,    kSight, kAnyone, {"VMware Virtual Platform"}, "DMI", "A virtual machine"},
    {"dmi-qemu",              kNote,    kSight, kAnyone, {"DMI: QEMU"}, "DMI", "A virtual machine"},
    {"dmi-hyperv",            kNote,    kSight, kAnyone, {"Virtual Machine", "Microsoft Corporation"}, "DMI", "A virtual machine"},
    {"container-run",         kNote,    kSight, kAnyone, {"docker run "}, "docker(1)", "A container was started"},
    {"container-exec",        kNote,    kSight, kAnyone, {"docker exec "}, "docker(1)", "A command in a container"},

    // Subnet
    {"mad-register",          kError,   kCause, kAnyone, {"mad_rpc_open_port: client_register for mgmt"}, kMadSource,
     "A tool of the subnet opened a port that takes no management packets (MAD)"},
    {"ibstat-ethernet",       kNote,    kSight, kAnyone, {"Link layer: Ethernet"}, "ibstat", "An Ethernet port"},
    {"ibstat-infiniband",     kNote,    kSight, kAnyone, {"Link layer: InfiniBand"}, "ibstat", "An InfiniBand port"},
    {"link-type-ethernet",    kNote,    kSight, kAnyone, {"LINK_TYPE_P1", "ETH(2)"}, "mlxconfig", "An Ethernet port"},
    {"link-type-infiniband",  kNote,    kSight, kAnyone, {"LINK_TYPE_P1", "IB(1)"}, "mlxconfig", "An InfiniBand port"},

    // pdsh
    {"pdsh-rsh",              kError,   kCause, kAnyone, {"rcmd: socket: Permission denied"}, "github.com/chaos/pdsh/issues/127",
     "pdsh or pdcp used rsh and not ssh, and this user may not"},
    {"pdsh-rsh-circuit",      kError,   kCause, kAnyone, {"xpoll: protocol failure in circuit setup"}, "github.com/ECP-VeloC/VELOC/pull/20",
     "pdsh or pdcp used rsh and not ssh, and the node does not take it"},

    // Containers of Slurm
    {"enroot-no-nvidia-cli",  kError,   kCause, kAnyone, {"Command not found: nvidia-container-cli"}, "enroot conf/hooks/98-nvidia.sh",
     "The container did not start: enroot finds no nvidia-container-cli on the node"},
    {"enroot-home-unbound",   kNote,    kSight, kAnyone, {"HOME: unbound variable"}, "enroot", "The job has no HOME"},
    {"export-all",            kNote,    kSight, kAnyone, {"--export=ALL"}, "srun(1)", "The job keeps its environment"},

    // Kubernetes
    {"rdma-plugin-issm",      kError,   kCause, kAnyone, {"missing RDMA device spec for device", "issm"}, kPluginSource,
     "The RDMA device plugin left out a device: it has no issm"},
    {"rdma-plugin-cm",        kError,   kCause, kAnyone, {"missing RDMA device spec for device", "rdma_cm"}, kPluginSource,
     "The RDMA device plugin left out a device: the node has no /dev/infiniband/rdma_cm"},
    {"rdma-plugin-none",      kNote,    kSight, kAnyone, {"exposing \"0\" devices"}, kPluginSource, "The plugin offers nothing"},
    {"rdma-plugin-foreign",   kNote,    kSight, kAnyone, {"DiscoverHostDevices(): device found:", "Intel"}, kPluginSource, "A network card of another kind"},
    {"rdma-plugin-broadcom",  kNote,    kSight, kAnyone, {"DiscoverHostDevices(): device found:", "Broadcom"}, kPluginSource, "A network card of another kind"},
    {"sriov-mmio",            kError,   kCause, kAnyone, {"not enough MMIO resources for SR-IOV"}, kSriovSource, kNoVfTitle},
    {"sriov-no-memory",       kError,   kCause, kAnyone, {"sriov_numvfs", "annot allocate memory"}, kSriovSource, kNoVfTitle},
    {"sriov-bus-range",       kNote,    kSight, kAnyone, {"SR-IOV: bus number out of range"}, kSriovSource, "No bus number is left"},
    {"sriov-bus-range-older", kNote,    kSight, kAnyone, {"can't enable ", " VFs (bus "}, kSriovSource, "No bus number is left"},
    {"uplink-busy",           kError,   kCause, kAnyone, {"Failed to set IAID+DUID: Device or resource busy"}, "systemd-networkd; github.com/Mellanox/network-operator/issues/2258",
     "A network interface came back and got no address (systemd-networkd, DHCP): the node is off that network"},
    {"openibd-restart",       kNote,    kSight, kAnyone, {"openibd restart"}, "MLNX_OFED, DOCA-OFED", "The network driver was restarted"},
    {"uplink-other-driver",   kNote,    kSight, kAnyone, {"NIC Link is Up"}, "Linux drivers/net/ethernet/intel", "A card of another driver came up"},

    // DCGM
    {"dcgm-no-profiling",     kWarning, kCause, kAnyone, {"Not collecting DCP metrics"}, kDcgmSource, kNoProfilingTitle},
    {"dcgm-profiling-module", kWarning, kCause, kAnyone, {"Profiling ", "Failed to load"}, kDcgmSource, kNoProfilingTitle},
    {"dcgm-capability",       kNote,    kSight, kAnyone, {"SYS_ADMIN"}, "docker run --cap-add", "The container has the capability"},
    {"dcgm-no-capability",    kNote,    kSight, kAnyone, {"docker run", "dcgm-exporter"}, "docker run", "dcgm-exporter was started in a container"},

    // Harmless
    {"cpu-clock-warning",     kNote,    kCause, kAnyone, {"Conflicting CPU frequency values detected"}, "perftest src/get_clock.c",
     "Nothing is broken: perftest read different clock rates from the cores and says so"},
    {"tests-one-rank",        kNote,    kCause, kAnyone, {"nccl-tests measured one rank alone"}, "nccl-tests doc/PERFORMANCE.md",
     "Nothing is broken: with one rank the bus bandwidth of nccl-tests is 0 by definition"},
};

constexpr Hypothesis kOperatingHypotheses[] = {
    {.id = "module-for-inbox-rdma", .explains = {"module-symbol-version"}, .common = kUsual, .needs = {"ofed-seen"}, .refuted_by = {"module-symbol-other"},
     .title = "A module was built against the kernel's own RDMA headers, and the RDMA core of MLNX_OFED or DOCA-OFED is loaded",
     .cause = "MLNX_OFED replaces ib_core and its symbols; a module that was built for the distribution's RDMA does not fit it.",
     .remedy = "Build the module again against OFED's headers (/usr/src/ofa_kernel/default: OFED_INCLUDE_PATH of BeeGFS, --with-o2ib of Lustre, then dkms install --force), take the package made for OFED, or remove OFED (ofed_uninstall.sh) and use the distribution's RDMA.",
     .settle_by = "ofed_info -s; modinfo -n ib_core: a path in updates/ or extra/ is OFED's",
     .source = "github.com/LINBIT/drbd/issues/59; github.com/ThinkParQ/beegfs/issues/64"},
    {.id = "module-for-other-kernel", .explains = {"module-symbol-version"}, .refuted_by = {"module-symbol-rdma"},
     .title = "A module was built for another build of the kernel or of the module it depends on",
     .cause = "The symbol is offered by the running kernel with another version than the module was built with.",
     .remedy = "dkms autoinstall -k $(uname -r) or reinstall the module for the running kernel, depmod -a, and update the initramfs.",
     .settle_by = "modinfo MODULE | grep vermagic; uname -r; dkms status",
     .source = kVersionSource},
    {.id = "symbol-not-gpl", .explains = {"symbol-not-gpl"}, .common = kUsual, .stated = true,
     .cause = "Since Linux 6.6 (and where a distribution took that change over) symbol_get() finds only symbols that are exported with EXPORT_SYMBOL_GPL. The message names one that is not: nvidia-fs cannot register with the module that has it.",
     .remedy = "Install a release of that module (the symbol's prefix names it: beegfs, nvme, rpcrdma …) that exports it GPL-only, or an older kernel. Until then GPUDirect Storage works in compatibility mode alone (allow_compat_mode in cufile.json).",
     .source = "github.com/ThinkParQ/beegfs/issues/123; github.com/NVIDIA/NV-Kernels/pull/13"},

    {.id = "pin-on-geforce", .explains = {"gds-pin", "gdrcopy-pin", "cufile-map"}, .common = kUsual, .needs = {"geforce"}, .refuted_by = {"gpu-data-center"}, .decisive = true,
     .title = "A GeForce has no GPUDirect RDMA and no GPUDirect Storage: its driver pins no memory for another device",
     .cause = "GPUDirect RDMA is a feature of data-centre and professional GPUs (Tesla, Quadro, RTX PRO).",
     .remedy = "Use cuFile's compatibility mode (\"allow_compat_mode\": true in /etc/cufile.json), which copies through the host, or a data-centre GPU.",
     .settle_by = "nvidia-smi -L",
     .source = "github.com/NVIDIA/gds-nvidia-fs/issues/14"},
    {.id = "pin-other-driver", .explains = {"gds-pin", "gdrcopy-pin", "cufile-map"}, .needs = {"gpu-data-center"}, .refuted_by = {"geforce"},
     .title = "The module that pins GPU memory does not fit the loaded NVIDIA driver",
     .cause = "nvidia-fs or gdrdrv was built against another release of the NVIDIA driver, or the driver and the CUDA of the program do not fit.",
     .remedy = "Build it again for the loaded driver (dkms autoinstall), load it after nvidia, and compare the CUDA of the program with nvidia-smi.",
     .settle_by = "modinfo nvidia_fs gdrdrv | grep -e version -e vermagic; cat /proc/driver/nvidia/version",
     .source = "github.com/NVIDIA/gdrcopy/issues/30"},

    {.id = "ipmi-virtual-machine", .explains = {"ipmi-no-device"}, .needs = {"virtual-machine"}, .refuted_by = {"ipmi-bmc-there"}, .decisive = true,
     .title = "This is a virtual machine: its hypervisor shows it no BMC",
     .cause = "The IPMI device (KCS) belongs to the physical host, and a hypervisor does not pass it on.",
     .remedy = "Ask the BMC over the network: ipmitool -I lanplus -H BMC -U USER -a sdr; or run ipmitool on the physical host.",
     .settle_by = "systemd-detect-virt",
     .source = "github.com/ipmitool/ipmitool/issues/345"},
    {.id = "ipmi-no-bmc", .explains = {"ipmi-no-device"}, .needs = {"ipmi-no-interface"}, .refuted_by = {"virtual-machine", "ipmi-bmc-there"},
     .title = "The kernel finds no interface to a BMC on this machine",
     .cause = "The machine has no BMC, its IPMI interface is switched off in the firmware setup, or the BMC hangs.",
     .remedy = "dmidecode -t 38 shows whether the firmware announces one; then switch it on in the setup, or take AC power off for a minute.",
     .settle_by = "dmidecode -t 38",
     .source = kIpmiSource},
    {.id = "ipmi-not-loaded", .explains = {"ipmi-no-device"}, .common = kUsual, .needs = {"ipmi-bmc-there"}, .refuted_by = {"ipmi-no-interface"},
     .title = "The kernel's IPMI device driver is not loaded",
     .cause = "/dev/ipmi0 comes from ipmi_devintf, which no program loads by itself.",
     .remedy = "modprobe ipmi_si ipmi_devintf (modprobe -a), and write both into /etc/modules-load.d/ipmi.conf.",
     .settle_by = "lsmod | grep ipmi",
     .source = kIpmiSource},
    {.id = "ipmi-in-container", .explains = {"ipmi-no-device"}, .needs = {"container-command"}, .refuted_by = {"virtual-machine", "ipmi-no-interface"},
     .title = "The container was not given the host's IPMI device",
     .cause = "A container has only the devices that it is given.",
     .remedy = "docker run --device=/dev/ipmi0 …; in Kubernetes a hostPath of /dev/ipmi0 and a privileged container. Load ipmi_devintf on the host.",
     .settle_by = "ls -l /dev/ipmi0 on the host and in the container",
     .source = "github.com/tigerblue77/Dell_iDRAC_fan_controller_Docker/issues/27"},
    {.id = "sol-taken", .explains = {"sol-taken"}, .common = kUsual, .stated = true,
     .cause = "A BMC gives the console to one session. Another client has it, or one that broke off without closing its session.",
     .remedy = "ipmitool -I lanplus -H BMC -U USER -a sol deactivate, then sol activate again. This ends the other session: ask first whether a person uses it.",
     .source = "IPMI 2.0, Activate Payload; github.com/warewulf/warewulf/issues/962"},
    {.id = "sol-disabled", .explains = {"sol-disabled"}, .common = kUsual, .stated = true,
     .cause = "The BMC's setting \"Enabled\" of serial over LAN is false for that channel or user.",
     .remedy = "ipmitool … sol set enabled true 1; ipmitool … sol payload enable 1 USERID; ipmitool … sol info 1 shows it.",
     .source = "ipmitool lib/ipmi_sol.c"},

    {.id = "mad-on-ethernet", .explains = {"mad-register"}, .common = kUsual, .needs = {"ports-ethernet-alone"}, .refuted_by = {"port-infiniband"}, .decisive = true,
     .title = "The RDMA ports are Ethernet (RoCE): they have no subnet that ibnetdiscover or perfquery could ask",
     .cause = "Subnet management packets exist on InfiniBand only. The ports are sound.",
     .remedy = "Use the tools of Ethernet: ethtool -S, rdma link, rdma statistic, lldpcli. If the port should be InfiniBand: mlxconfig -d DEVICE set LINK_TYPE_P1=1, and restart.",
     .settle_by = "ibstatus | grep link_layer",
     .source = kMadSource},
    {.id = "mad-first-port", .explains = {"mad-register"}, .needs = {"port-infiniband"}, .refuted_by = {"ports-ethernet-alone"},
     .title = "The tool opened an Ethernet port of a node that has InfiniBand ports, too",
     .cause = "Without a name the tool takes the first active port, which need not be an InfiniBand one.",
     .remedy = "Name it: ibnetdiscover -C mlx5_0 -P 1, with a device that ibstatus shows as link_layer InfiniBand.",
     .settle_by = "ibstatus | grep -e device -e link_layer",
     .source = kMadSource},

    {.id = "pdsh-rsh", .explains = {"pdsh-rsh", "pdsh-rsh-circuit"}, .common = kUsual, .stated = true,
     .cause = "rcmd is the protocol of rsh, which this pdsh was built to use by default. It needs a port below 1024, which is root's, and an rshd on the nodes.",
     .remedy = "pdsh -R ssh … and pdcp -R ssh …, or export PDSH_RCMD_TYPE=ssh (pdsh -V names the default). pdcp has to be installed on the nodes, too.",
     .source = "pdsh(1), -R"},

    {.id = "enroot-no-nvidia-cli", .explains = {"enroot-no-nvidia-cli"}, .common = kUsual, .refuted_by = {"enroot-home-unbound"},
     .title = "nvidia-container-cli is not installed on the node (package libnvidia-container-tools)",
     .cause = "enroot's hook 98-nvidia.sh gives a container its GPUs with that program, and it is in no folder of PATH.",
     .remedy = "Install libnvidia-container-tools (or nvidia-container-toolkit) on every GPU node.",
     .settle_by = "srun -w NODE which nvidia-container-cli",
     .source = "github.com/NVIDIA/pyxis/issues/110; enroot, Installation"},
    {.id = "srun-dropped-environment", .explains = {"enroot-no-nvidia-cli"}, .needs = {"enroot-home-unbound"}, .refuted_by = {"export-all"},
     .title = "srun --export took HOME and PATH from the job, so enroot finds no program",
     .cause = "--export=NAME=VALUE without ALL passes these variables alone.",
     .remedy = "srun --export=ALL,NAME=VALUE … ; if it stays, install libnvidia-container-tools on the node.",
     .settle_by = "srun --export=… env on that node",
     .source = "srun(1), --export; github.com/NVIDIA/pyxis/issues/101"},

    {.id = "issm-on-ethernet", .explains = {"rdma-plugin-issm"}, .common = kUsual, .needs = {"port-ethernet"}, .refuted_by = {"port-infiniband"}, .decisive = true,
     .title = "The port is Ethernet (RoCE), which has no issm device, and this version of the plugin demands one",
     .cause = "issm is for subnet managers on InfiniBand. Releases of the plugin before September 2024 take no device without it.",
     .remedy = "Update k8s-rdma-shared-dev-plugin (network operator) to a release with pull request 116, which no longer asks for issm.",
     .settle_by = "ls /dev/infiniband; mlxconfig -d DEVICE q | grep LINK_TYPE; the image's tag of the plugin",
     .source = "github.com/Mellanox/k8s-rdma-shared-dev-plugin/pull/116"},
    {.id = "issm-of-other-cards", .explains = {"rdma-plugin-issm"}, .needs = {"rdma-plugin-other-card"}, .refuted_by = {"rdma-plugin-none"},
     .title = "The line is about a network card without RDMA: the plugin looks at each card, and offers the others",
     .cause = "The plugin reports every card that it leaves out.",
     .remedy = "Nothing, if the resource has devices: kubectl get node NODE -o jsonpath={.status.allocatable}. Else name the card (ifNames, vendors) in the plugin's configuration.",
     .settle_by = "kubectl describe node NODE | grep rdma/",
     .source = "github.com/Mellanox/k8s-rdma-shared-dev-plugin/issues/103"},
    {.id = "rdma-plugin-cm", .explains = {"rdma-plugin-cm"}, .common = kUsual, .stated = true,
     .cause = "/dev/infiniband/rdma_cm comes from the module rdma_ucm, which is not loaded on the node.",
     .remedy = "modprobe rdma_ucm, and write it into /etc/modules-load.d/rdma.conf; the plugin looks again by itself.",
     .source = "github.com/Mellanox/k8s-rdma-shared-dev-plugin/issues/192; Linux drivers/infiniband/core/ucma.c"},
    {.id = "sriov-address-space", .explains = {"sriov-mmio", "sriov-no-memory"}, .common = kUsual, .refuted_by = {"sriov-no-bus"},
     .title = "The firmware (BIOS) reserved no address space for virtual functions: SR-IOV is not switched on there",
     .cause = "The BIOS lays out the memory windows of PCIe (MMIO) at the start, and it makes room for virtual functions only if SR-IOV is switched on. It is no lack of RAM.",
     .remedy = "In the BIOS setup switch on SR-IOV (global and of the slot) and Above 4G Decoding, and restart; compare with a node where it works. The kernel parameter pci=realloc may help if the BIOS cannot.",
     .settle_by = "dmesg | grep -i -e 'MMIO resources' -e 'SR-IOV'; the BIOS settings beside those of a good node",
     .source = "Red Hat bug 1953626; Linux drivers/pci/iov.c"},
    {.id = "sriov-bus-numbers", .explains = {"sriov-no-memory"}, .needs = {"sriov-no-bus"}, .refuted_by = {"sriov-mmio"},
     .title = "The bridge above the device has too few bus numbers for so many virtual functions",
     .cause = "Virtual functions beyond the device's own bus need bus numbers that the BIOS did not reserve.",
     .remedy = "Switch on ARI forwarding and SR-IOV in the BIOS setup, ask for fewer virtual functions, or start with pci=assign-busses.",
     .settle_by = "dmesg | grep -i 'bus number'",
     .source = kSriovSource},
    {.id = "uplink-by-openibd", .explains = {"uplink-busy"}, .common = kUsual, .needs = {"openibd-restart"}, .refuted_by = {"uplink-other-driver"},
     .title = "The node's own uplink is a port of the network driver that was restarted: openibd restart took the node off its network",
     .cause = "The driver container restarts all Mellanox ports, the one of the node's management address too, and systemd-networkd does not get it up again.",
     .remedy = "On the console: networkctl reconfigure INTERFACE (networkctl renew for the lease). Keep the driver container off nodes whose uplink is a ConnectX port (nodeAffinity of ofedDriver; use the driver of the image), or move the uplink to another card.",
     .settle_by = "ip route get API-SERVER; ethtool -i INTERFACE | grep driver",
     .source = "github.com/Mellanox/network-operator/issues/2258 and 2176"},
    {.id = "uplink-race", .explains = {"uplink-busy"}, .needs = {"uplink-other-driver"}, .refuted_by = {"openibd-restart"},
     .title = "systemd-networkd lost the race with a link that went down and up",
     .cause = "The link came back while its DHCP client still ran.",
     .remedy = "networkctl reconfigure INTERFACE; look in dmesg why the link went down, and update systemd.",
     .settle_by = "journalctl -u systemd-networkd; dmesg -T | grep -i link",
     .source = "systemd-networkd"},

    {.id = "profiling-on-geforce", .explains = {"dcgm-no-profiling", "dcgm-profiling-module"}, .common = kUsual, .needs = {"geforce-older"}, .refuted_by = {"gpu-data-center", "geforce-newer"}, .decisive = true,
     .title = "DCGM does not support profiling metrics on this GeForce: of GeForce cards it does so from Blackwell (50xx) on only",
     .cause = "The metrics DCGM_FI_PROF_… need a data-centre GPU, or a GeForce of the Blackwell generation. The other metrics are sound.",
     .remedy = "Take the DCGM_FI_PROF_ lines out of the exporter's list (default-counters.csv), and use DCGM_FI_DEV_GPU_UTIL instead.",
     .settle_by = "nvidia-smi -L; dcgmi profile --list",
     .source = "github.com/NVIDIA/DCGM/issues/234 and 193"},
    {.id = "profiling-not-allowed", .explains = {"dcgm-no-profiling", "dcgm-profiling-module"}, .needs = {"dcgm-no-capability"}, .refuted_by = {"dcgm-capability", "geforce-older"},
     .title = "The exporter's container may not read the profiling counters: it lacks the capability SYS_ADMIN",
     .cause = "Profiling counters are for root with CAP_SYS_ADMIN, unless the driver is set otherwise.",
     .remedy = "docker run --cap-add SYS_ADMIN …, or securityContext capabilities SYS_ADMIN in Kubernetes; or the driver's parameter NVreg_RestrictProfilingToAdminUsers=0.",
     .settle_by = "grep RmProfilingAdminOnly /proc/driver/nvidia/params",
     .source = "github.com/NVIDIA/dcgm-exporter, README"},

    {.id = "cpu-clock-warning", .explains = {"cpu-clock-warning"}, .common = kUsual, .stated = true,
     .cause = "The cores run at different clock rates at the moment, as they do when they save power. The result stands; it matters only where latency is measured in cycles.",
     .remedy = "-F (--CPU-freq) hides the warning. For latency set the governor: cpupower frequency-set -g performance.",
     .source = "perftest src/get_clock.c, man page"},
    {.id = "tests-one-rank", .explains = {"tests-one-rank"}, .common = kUsual, .stated = true,
     .cause = "The bus bandwidth is the algorithm's bandwidth times 2(n-1)/n for an all-reduce, or (n-1)/n, which is 0 for n = 1 rank. Nothing went between GPUs.",
     .remedy = "Start more ranks: -g 8 for the GPUs of a node, or mpirun -np 2 on two nodes with nccl-tests built with MPI=1.",
     .source = "nccl-tests doc/PERFORMANCE.md; github.com/NVIDIA/nccl-tests/issues/249"},
};
// clang-format on

}  // namespace
}  // namespace operating_rows

std::span<const Symptom> operating_symptoms() { return operating_rows::kOperatingSymptoms; }

std::span<const Hypothesis> operating_hypotheses() { return operating_rows::kOperatingHypotheses; }

}  // namespace railbed::diagnose
