"""A machine as people send it to support: the outputs that its tools would print, composed from the facts of a tree
(`railbed facts --json`). Formats are those of lspci 3.10, iproute2 6.1, ibverbs-utils and infiniband-diags 44, nvidia-smi 570.

outputs_of(facts) answers command → text; a test changes a text before it is written down."""

DRIVER_OF_CLASS = {0x030200: "3D controller", 0x030000: "VGA compatible controller", 0x060400: "PCI bridge",
                   0x020000: "Ethernet controller", 0x020700: "Infiniband controller",
                   0x010802: "Non-Volatile memory controller"}
VENDORS = {0x10de: "NVIDIA Corporation", 0x15b3: "Mellanox Technologies", 0x8086: "Intel Corporation"}


def said(reading, otherwise=None):
    return reading.get("value", otherwise) if isinstance(reading, dict) else otherwise


def link_text(link):
    return f"Speed {link['gigatransfers']:g}GT/s, Width x{link['width']}"


def lspci(devices):
    """lspci -nnvv, as root"""
    below = {}
    for one in devices:
        if said(one["parent"]):
            below[one["parent"]["value"]] = one["address"]
    text = ""
    for one in devices:
        code, vendor, device = said(one["class_code"]), said(one["vendor"]), said(one["device"])
        kind = DRIVER_OF_CLASS.get(code, "System peripheral")
        interface = f" (prog-if {code & 0xff:02x})" if code & 0xff else ""
        text += (f"{one['address'][5:]} {kind} [{code >> 8:04x}]: {VENDORS.get(vendor, 'Some vendor')} Device "
                 f"[{vendor:04x}:{device:04x}] (rev a1){interface}\n"
                 "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+\n")
        if said(one["numa_node"]) is not None:
            text += f"\tNUMA node: {one['numa_node']['value']}\n"
        if one["address"] in below:
            own, child = int(one["address"][5:7], 16), int(below[one["address"]][5:7], 16)
            text += f"\tBus: primary={own:02x}, secondary={child:02x}, subordinate={child:02x}, sec-latency=0\n"
        text += "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n"
        if said(one["max_read_request"]):
            text += ("\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-\n"
                     f"\t\t\tRlxdOrd{'+' if said(one['relaxed_ordering']) else '-'} ExtTag+ PhantFunc- AuxPwr- NoSnoop+\n"
                     f"\t\t\tMaxPayload {said(one['max_payload'])} bytes, MaxReadReq {said(one['max_read_request'])} bytes\n")
        if said(one["link_now"]):
            text += (f"\t\tLnkCap:\tPort #0, {link_text(one['link_max']['value'])}, ASPM not supported\n"
                     f"\t\tLnkSta:\t{link_text(one['link_now']['value'])}\n\t\t\tTrErr- Train- SlotClk+\n")
        if said(one["acs_control"]) is not None:
            names = ["SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"]
            flags = " ".join(name + "-+"[one["acs_control"]["value"] >> bit & 1] for bit, name in enumerate(names))
            text += f"\tCapabilities: [148 v1] Access Control Services\n\t\tACSCap:\tSrcValid+\n\t\tACSCtl:\t{flags}\n"
        if said(one["driver"]):
            text += f"\tKernel driver in use: {one['driver']['value']}\n"
        text += "\n"
    return text


def ip_address(interfaces):
    """ip -d address"""
    text = ""
    for number, one in enumerate(interfaces, 1):
        up, carrier = said(one["administratively_up"]), said(one["carrier"])
        flags = ["BROADCAST", "MULTICAST"] + ["UP"] * bool(up) + ["LOWER_UP"] * bool(carrier) + ["NO-CARRIER"] * (not carrier)
        kind = {1: "ether", 32: "infiniband", 772: "loopback"}[said(one["link_type"])]
        parent = f" parentbus pci parentdev {one['pci_address']['value']}" if said(one["pci_address"]) else ""
        text += (f"{number}: {one['name']}: <{','.join(flags)}> mtu {said(one['mtu'])} qdisc mq state "
                 f"{said(one['operational_state'], 'unknown').upper()} group default qlen 1000\n"
                 f"    link/{kind} {said(one['mac'], '00:00:00:00:00:00')} brd ff:ff:ff:ff:ff:ff promiscuity 0 "
                 f"numtxqueues 63 numrxqueues 63{parent}\n")
        for address in said(one["addresses"], []):
            ip, length = address["address"], address["prefix"]
            text += f"    inet {ip}/{length} scope global {one['name']}\n       valid_lft forever preferred_lft forever\n"
    return text


def each_port(devices):
    for device in devices:
        for port in said(device["ports"], []):
            yield device, port


def rate_of(port):
    return said(port["rate"], 0) / 1e9


def ibstat(devices):
    states = {"ACTIVE": "Active", "DOWN": "Down", "INIT": "Initializing"}
    text = ""
    for device, port in each_port(devices):
        text += (f"CA '{device['name']}'\n\tCA type: {said(device['hca_type'])}\n\tNumber of ports: 1\n"
                 f"\tFirmware version: {said(device['firmware'])}\n\tHardware version: 0\n"
                 f"\tNode GUID: 0x{said(device['node_guid']).replace(':', '')}\n\tPort {port['number']}:\n"
                 f"\t\tState: {states[said(port['state'])]}\n\t\tPhysical state: {said(port['physical_state'])}\n"
                 f"\t\tRate: {rate_of(port):g}\n\t\tBase lid: {said(port['lid'])}\n\t\tLMC: 0\n"
                 f"\t\tSM lid: {said(port['sm_lid'])}\n\t\tCapability mask: 0x00010000\n"
                 f"\t\tLink layer: {said(port['link_layer'])}\n")
    return text


def ibstatus(devices):
    numbers = {"ACTIVE": 4, "DOWN": 1, "INIT": 2}
    physical = {"LinkUp": 5, "Disabled": 3, "Polling": 2}
    text = ""
    for device, port in each_port(devices):
        state, link = said(port["state"]), said(port["physical_state"])
        text += (f"Infiniband device '{device['name']}' port {port['number']} status:\n"
                 f"\tbase lid:\t 0x{said(port['lid']):x}\n\tsm lid:\t\t 0x{said(port['sm_lid']):x}\n"
                 f"\tstate:\t\t {numbers[state]}: {state}\n\tphys state:\t {physical[link]}: {link}\n"
                 f"\trate:\t\t {rate_of(port):g} Gb/sec ({said(port['rate_text'])})\n"
                 f"\tlink_layer:\t {said(port['link_layer'])}\n\n")
    return text


def ibv_devinfo(devices):
    """ibv_devinfo -v"""
    codes = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
    text = ""
    for device, port in each_port(devices):
        text += (f"hca_id:\t{device['name']}\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t{said(device['firmware'])}\n"
                 f"\tnode_guid:\t\t\t{said(device['node_guid'])}\n\tvendor_id:\t\t\t0x02c9\n\tphys_port_cnt:\t\t\t1\n"
                 f"\tboard_id:\t\t\t{said(device['board_id'])}\n"
                 f"\t\tport:\t{port['number']}\n\t\t\tstate:\t\t\tPORT_{said(port['state'])} (4)\n")
        for name in ("max_mtu", "active_mtu"):
            if said(port[name]):
                text += f"\t\t\t{name}:\t\t{port[name]['value']} ({codes[port[name]['value']]})\n"
        text += f"\t\t\tlink_layer:\t\t{said(port['link_layer'])}\n\t\t\tgid_tbl_len:\t\t255\n"
        for gid in said(port["gids"], []):
            kind = said(gid["type"]).replace("IB/", "")
            text += f"\t\t\tGID[{gid['index']:3}]:\t\t{said(gid['gid'])}, {kind}\n"
        text += "\n"
    return text


def smi_line(indent, name, value):
    return " " * indent + f"{name:<{38 - indent}}: {value}\n"


def nvidia_smi(gpus):
    """nvidia-smi -q"""
    cuda = gpus["nvml"]["value"]["cuda_version"]["value"]
    text = "\n==============NVSMI LOG==============\n\n"
    text += smi_line(0, "Timestamp", "Mon Jan 19 12:00:00 2026")
    text += smi_line(0, "Driver Version", said(gpus["driver_version"]))
    text += smi_line(0, "CUDA Version", f"{cuda // 1000}.{cuda % 1000 // 10}") + "\n"
    text += smi_line(0, "Attached GPUs", len(said(gpus["devices"])))
    enabled = {True: "Enabled", False: "Disabled", None: "N/A"}
    yes = {True: "Yes", False: "No", None: "N/A"}
    for one in said(gpus["devices"]):
        gpu = {name: said(reading) for name, reading in one["nvml"]["value"].items()}
        def lines(indent, pairs):
            return "".join(smi_line(indent, name, value) for name, value in pairs)
        def amount(name, unit):
            return "N/A" if gpu.get(name) is None else f"{gpu[name]} {unit}"
        def mebibytes(name):
            return f"{gpu[name] >> 20} MiB"
        text += f"GPU 0000{one['pci_address'].upper()}\n"
        text += lines(4, [("Product Name", gpu["name"]), ("Persistence Mode", enabled[gpu["persistence"]])])
        text += "    MIG Mode\n" + lines(8, [("Current", enabled[gpu["mig"]])])
        text += lines(4, [("GPU UUID", gpu["uuid"]), ("VBIOS Version", gpu["vbios"])])
        text += "    PCI\n" + lines(8, [("Bus Id", "0000" + one["pci_address"].upper())])
        text += "        GPU Link Info\n            PCIe Generation\n"
        text += lines(16, [("Max", gpu["pcie_generation_max"]), ("Device Max", gpu["pcie_generation_gpu"])])
        text += "            Link Width\n"
        text += lines(16, [("Max", f"{gpu['pcie_width_max']}x"), ("Current", f"{gpu['pcie_width']}x")])
        text += "    Clocks Event Reasons\n"
        reasons = [("Idle", 1), ("Applications Clocks Setting", 2), ("SW Power Cap", 4), ("HW Slowdown", 8),
                   ("    HW Thermal Slowdown", 0x40), ("    HW Power Brake Slowdown", 0x80), ("Sync Boost", 0x10),
                   ("SW Thermal Slowdown", 0x20), ("Display Clock Setting", 0x100)]
        text += lines(8, [(name, "Active" if gpu["event_reasons"] & bit else "Not Active") for name, bit in reasons])
        text += "    FB Memory Usage\n" + lines(8, [("Total", mebibytes("memory")), ("Used", mebibytes("memory_used"))])
        text += "    BAR1 Memory Usage\n" + lines(8, [("Total", mebibytes("bar1"))])
        text += lines(4, [("Compute Mode", gpu["compute_mode"].capitalize())])
        text += "    Utilization\n" + lines(8, [("GPU", amount("utilisation", "%"))])
        text += "    ECC Mode\n" + lines(8, [("Current", enabled[gpu["ecc"]]), ("Pending", enabled[gpu["ecc_pending"]])])
        text += "    ECC Errors\n"
        for when, total in (("Volatile", gpu["ecc_volatile_uncorrectable"]), ("Aggregate", gpu["sram_aggregate_uncorrectable"])):
            text += f"        {when}\n" + lines(12, [("SRAM Correctable", 0), ("SRAM Uncorrectable Parity", 0),
                                                     ("SRAM Uncorrectable SEC-DED", total), ("DRAM Correctable", 0),
                                                     ("DRAM Uncorrectable", 0)])
        text += "    Retired Pages\n" + lines(8, [("Single Bit ECC", "N/A"), ("Double Bit ECC", "N/A"),
                                                  ("Pending Page Blacklist", "N/A")])
        text += "    Remapped Rows\n" + lines(8, [("Correctable Error", 0), ("Uncorrectable Error", 0),
                                                  ("Pending", yes[gpu["remap_pending"]]),
                                                  ("Remapping Failure Occurred", yes[gpu["remap_failed"]])])
        text += "    Temperature\n" + lines(8, [("GPU Current Temp", amount("temperature", "C"))])
        text += "    GPU Power Readings\n" + lines(8, [("Current Power Limit", f"{gpu['power_limit']:.2f} W"),
                                                       ("Default Power Limit", f"{gpu['power_limit_default']:.2f} W")])
        text += "    Max Clocks\n" + lines(8, [("SM", amount("sm_clock_max", "MHz"))])
        text += "    Fabric\n" + lines(8, [("State", "Completed"), ("Status", "Success")])
        text += lines(4, [("Processes", "None")]) + "\n"
    return text


def dmesg(log):
    begins = log["begins"]
    lines = ["[    0.000000] Linux version 6.8.0-60-generic (buildd@lcy02) #63-Ubuntu SMP"]
    for event in log["events"]:
        lines.append(f"[{event['first'] - begins:12.6f}] {event['text']}")
    return "\n".join(lines) + "\n"


def outputs_of(facts):
    """Command → what it prints."""
    name, kernel = said(facts["system"]["os"]["hostname"]), said(facts["system"]["kernel"]["release"])
    interfaces, devices = said(facts["net"]["interfaces"]), said(facts["rdma"]["devices"])
    outputs = {
        "lspci -nnvv": lspci(said(facts["pci"])),
        "ip -d address": ip_address(interfaces),
        "ip route show table all": "".join(f"default via 192.168.0.254 dev {one} proto static\n"
                                           for one in said(facts["net"]["default_routes"], []))
                                   + "local 127.0.0.1 dev lo table local proto kernel scope host\n",
        "ibstat": ibstat(devices), "ibstatus": ibstatus(devices), "ibv_devinfo -v": ibv_devinfo(devices),
        "nvidia-smi -q": nvidia_smi(facts["gpus"]),
        "dmesg": dmesg(said(facts["kernel_log"])),
        "uname -a": f"Linux {name} {kernel} #63-Ubuntu SMP PREEMPT_DYNAMIC Tue Apr 15 19:04:15 UTC 2025 x86_64 x86_64 x86_64 GNU/Linux\n",
        "hostname": name + "\n",
        "uptime": " 12:00:00 up 10 days,  0:00,  1 user,  load average: 0.10, 0.08, 0.05\n",
        "sysctl -a": "".join(f"{key} = {said(value)}\n" for key, value in facts["system"]["sysctl"].items()
                             if said(value) is not None),
        # The machine's copy of /proc/cpuinfo is cut short; lscpu lists all processors.
        "lscpu": f"Architecture:  x86_64\nOn-line CPU(s) list:  0-{said(facts['system']['cpu']['online']) - 1}\n" + "".join(
            f"NUMA node{node['id']} CPU(s):  {said(node['cpus'])}\n" for node in facts["system"]["cpu"]["numa_nodes"]),
    }
    for one in interfaces:
        if said(one["speed_mbps"]):
            outputs[f"ethtool {one['name']}"] = (f"Settings for {one['name']}:\n\tSupported ports: [ FIBRE ]\n"
                                                 f"\tSpeed: {one['speed_mbps']['value']}Mb/s\n\tDuplex: Full\n"
                                                 f"\tLink detected: yes\n")
    return outputs
