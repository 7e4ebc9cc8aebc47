#!/usr/bin/env python3
"""What people send to support is a machine to look at: a sosreport with three faults in it (a GPU that fell off the bus, an
adapter at x8, a rail whose cable is out), the same machine's facts against those of its tree, an nvidia-bug-report, a folder of
outputs, and archives that are hostile or cut off."""
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import sent_machine

RAILBED = os.environ.get("RAILBED", "build/release/railbed")
MACHINE = pathlib.Path("tests/machines/h100-cx7")
COPIED = ["/etc/os-release", "/etc/hosts", "/proc/cmdline", "/proc/cpuinfo", "/proc/meminfo", "/proc/modules",
          "/proc/driver/nvidia/version"]
PLUGIN = {"lspci": "pci", "ip": "networking", "ethtool": "networking", "nvidia-smi": "nvidia", "dmesg": "kernel",
          "uname": "kernel", "sysctl": "kernel", "hostname": "host", "uptime": "host", "lscpu": "processor"}


def railbed(*words):
    return subprocess.run([RAILBED, *map(str, words)], capture_output=True, text=True, timeout=120)


def facts_of(root):
    done = railbed("facts", "--json", "--root", root)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def files_of(outputs, copies):
    """A sosreport's paths and texts."""
    top = "sosreport-gpu01-2026-01-19-abcdefg/"
    files = {top + path.lstrip("/"): text for path, text in copies.items()}
    for command, text in outputs.items():
        program = command.split()[0]
        files[f"{top}sos_commands/{PLUGIN.get(program, 'infiniband')}/{command.replace(' ', '_')}"] = text
    return files


def pack(path, files, mode="w:xz"):
    with tarfile.open(path, mode) as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(text.encode()), 1768824000
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def readings(value, path=""):
    """Every reading of facts: path → value, or why there is none."""
    if isinstance(value, dict):
        if "from" in value and ("value" in value or "missing" in value):
            yield path, value
            value = value.get("value")
        for key, below in value.items() if isinstance(value, dict) else []:
            yield from readings(below, f"{path}.{key}")
    if isinstance(value, list):
        for index, below in enumerate(value):
            name = below.get("address") or below.get("name") or below.get("pci_address") if isinstance(below, dict) else None
            yield from readings(below, f"{path}[{name or index}]")


def plain(value):
    """A value without where it was read."""
    if isinstance(value, dict):
        return {key: plain(below) for key, below in value.items() if key not in ("from", "why")}
    if isinstance(value, list) and all(isinstance(below, str) for below in value):
        return sorted(value)  # libibverbs has an order of its own
    return [plain(below) for below in value] if isinstance(value, list) else value


# What a sosreport must tell of this machine; the rest it may.
TOLD = [".system.os.hostname", ".system.kernel.release", ".pci[0000:17:00.0].link_now", ".pci[0000:17:00.0].parent",
        ".pci[0000:19:00.0].max_read_request", ".pci[0000:19:00.0].driver", ".pci[0000:19:00.0].numa_node",
        ".net.interfaces[ens11np0].mtu", ".net.interfaces[ens11np0].speed_mbps", ".net.interfaces[ens11np0].pci_address",
        ".net.interfaces[ens11np0].addresses", ".net.default_routes", ".rdma.devices[mlx5_0].firmware",
        ".rdma.devices[mlx5_0].pci_address", ".rdma.devices[mlx5_0].ports[0].state",
        ".rdma.devices[mlx5_0].ports[0].active_mtu", ".gpus.driver_version",
        ".gpus.devices[0000:17:00.0].nvml.ecc_volatile_uncorrectable", ".gpus.devices[0000:17:00.0].nvml.power_limit",
        ".gpus.devices[0000:17:00.0].nvml.memory", ".gpus.devices[0000:17:00.0].nvml.remap_pending", ".kernel_log",
        ".system.memory.total"]


def check_facts(tree, sent):
    """All that the report tells is what the machine is, and what it does not hold is unknown."""
    machine = dict(readings(tree))
    told, wrong = set(), []
    for path, reading in readings(sent):
        if "value" not in reading:
            continue
        told.add(path)
        own = machine.get(path, {})
        # Lists of parts are compared part by part.
        parts = isinstance(reading["value"], (list, dict)) and any(True for _ in readings(reading["value"]))
        if "value" in own and not parts and plain(own["value"]) != plain(reading["value"]):
            wrong.append(f"{path}: {reading['value']} ({reading['from']}), but the machine has {own['value']}")
    assert not wrong, "\n".join(wrong)
    missing = [path for path in TOLD if path not in told]
    assert not missing, f"not told: {missing}"
    for path, reading in readings(sent):
        own = {} if path.endswith(".dma_buf") else machine.get(path, {})  # "libibverbs does not say", as of an old one
        assert reading.get("missing") != "absent" or "value" not in own, f"{path} is called absent: {reading}"
    for path in (".system.ssh.keys", ".gpus.peer_memory", ".nccl.library", ".system.services", ".gpus.devices[0000:17:00.0].cuda"):
        own = dict(readings(sent)).get(path)
        assert own is None or own.get("missing") == "unknown", f"{path}: {own}"


def with_faults(outputs):
    """A GPU off the bus, an adapter at half its lanes, a rail without carrier."""
    bad = dict(outputs)
    bad["dmesg"] += ("[862000.100000] NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, "
                     "GPU has fallen off the bus.\n")
    before, adapter = bad["lspci -nnvv"].split("3d:00.0 ", 1)
    bad["lspci -nnvv"] = before + "3d:00.0 " + adapter.replace("LnkSta:\tSpeed 32GT/s, Width x16",
                                                             "LnkSta:\tSpeed 32GT/s, Width x8 (downgraded)", 1)
    lines = bad["ip -d address"].splitlines(keepends=True)
    bad["ip -d address"] = "".join(
        line.replace(",UP,LOWER_UP>", ",UP,NO-CARRIER>").replace("state UP", "state DOWN") if ": ens14np0:" in line else line
        for line in lines)
    bad["ethtool ens14np0"] = "Settings for ens14np0:\n\tSpeed: Unknown!\n\tLink detected: no\n"
    return bad


def reds(root, *more):
    done = railbed("verify", MACHINE / "cluster.yaml", "--root", root, "--json", *more)
    assert done.returncode in (2, 3), (done.returncode, done.stderr)  # what is not told could not be looked at
    findings = json.loads(done.stdout)["findings"]
    return {(one["rule"], one["subject"]) for one in findings if one["status"] in ("fail", "warn")}, findings


def refused(path, *words):
    done = railbed("facts", "--root", path)
    assert done.returncode == 64, (path, done.returncode, done.stdout[:200], done.stderr)
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def bug_report(outputs, copies):
    rule = "____________________________________________\n\n"
    text = rule + "Start of NVIDIA bug report log file.  Please include this file.\n\nDate: Mon Jan 19 12:00:00 UTC 2026\n"
    text += "uname: " + outputs["uname -a"] + "command line flags: \n\n"
    for path, content in copies.items():
        text += f"{rule}*** {path}\n*** ls: -r--r--r-- 1 root root 0 2026-01-19 12:00:00.0 +0000 {path}\n{content}\n"
    for command in ("lspci -nn", "nvidia-smi -q"):
        shown = command.replace("-q", "--query")
        text += f"{rule}/usr/bin/{shown}\n\n{outputs[command]}\n"
    return text + f"{rule}dmesg:\n\n{outputs['dmesg']}\n"


def listing(text):
    """lspci -nn of lspci -nnvv"""
    return "".join(line for line in text.splitlines(keepends=True) if line[0] not in "\t\n")


def check_hostile(folder, files):
    path = folder / "bomb.tar.xz"
    with tarfile.open(path, "w:xz", preset=0) as archive:
        entry = tarfile.TarInfo("sosreport-x/sos_commands/kernel/dmesg")
        entry.size = 192 << 20
        with open("/dev/zero", "rb") as zeros:
            archive.addfile(entry, zeros)
    refused(path, "bomb.tar.xz", "times its size")
    refused(pack(folder / "up.tar.gz", {"sosreport-x/../../etc/cron.d/x": "x"}, "w:gz"), "outside of itself")
    refused(pack(folder / "root.tar.gz", {"/etc/cron.d/x": "x"}, "w:gz"), "outside of itself")
    whole = pack(folder / "whole.tar.xz", files).read_bytes()
    (folder / "cut.tar.xz").write_bytes(whole[:len(whole) // 2])
    refused(folder / "cut.tar.xz", "cut.tar.xz", "sent whole")
    (folder / "twice.tar.gz.gz").write_bytes(gzip.compress(gzip.compress(whole)))
    refused(folder / "twice.tar.gz.gz", "packed twice")
    refused(pack(folder / "other.tar.xz", {"holiday/photo.jpg": "x"}), "neither a sosreport")
    # Holes of sparse files take no room in an archive, and time to fill.
    holes = folder / "holes/sos_commands/kernel"
    holes.mkdir(parents=True)
    for number in range(150):
        with open(holes / f"dmesg_{number}", "wb") as file:
            file.seek(9 << 20)
            file.write(b"x")
    subprocess.run(["tar", "--create", "--sparse", "--file", folder / "holes.tar", "--directory", folder / "holes", "sos_commands"], check=True)
    refused(folder / "holes.tar", "times its size")
    with tarfile.open(folder / "device.tar", "w") as archive:
        for kind, name in ((tarfile.CHRTYPE, "sos_commands/kernel/dmesg"), (tarfile.SYMTYPE, "sos_commands/pci/lspci_-nnvv")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    refused(folder / "device.tar", "neither a sosreport")


def check_topology(loose, gpus):
    """A GPU all of whose NVLinks are down, as `nvidia-smi topo -m` shows it; names of files are of no command."""
    (loose / "hostname.txt").write_text("gpu01\n")
    rows = "".join(f"GPU{row}\t" + "\t".join(" X " if row == column else "SYS" if 1 in (row, column) else "NV18"
                                              for column in range(gpus)) + "\t0-47\t0\tN/A\n" for row in range(gpus))
    head = "\033[4m\t" + "\t".join(f"GPU{column}" for column in range(gpus)) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
    (loose / "nvidia-smi_topo_-m").write_text(head + rows + "\nLegend:\n\n  X    = Self\n")
    (loose / "photo.jpg").write_bytes(b"\xff\xd8\0")
    red, findings = reds(loose)
    peers = {one["subject"]: one["status"] for one in findings if one["rule"] == "gpu.peers"}
    assert sorted(peers.values()) == ["fail"] + (gpus - 1) * ["unknown"], peers
    done = railbed("facts", "--root", loose)
    assert "photo.jpg is not read: not text" in done.stderr, done.stderr


def main():
    tree = facts_of(MACHINE / "gpu01.tree")
    outputs = sent_machine.outputs_of(tree)
    import untree
    entries = untree.entries_of(MACHINE / "gpu01.tree")
    copies = {path: entries[path][1] for path in COPIED if path in entries}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sound = pack(folder / "sosreport-gpu01.tar.xz", files_of(outputs, copies))
        check_facts(tree, facts_of(sound))

        red, findings = reds(sound)
        assert not [one for one in red if one[0] not in EXPECTED], f"a sound machine's report is red: {red}"

        bad = folder / "bad"
        bad.mkdir()
        pack(bad / "sosreport-gpu01.tar.gz", files_of(with_faults(outputs), copies), "w:gz")
        red, findings = reds(bad)
        print(*sorted(red), sep="\n")
        for rule, subject in FAULTS:
            assert any(one[0] == rule and subject in one[1] for one in red), (rule, subject, red)
        assert railbed("report", MACHINE / "cluster.yaml", "--root", bad, "-o", folder / "report.html").returncode == 2
        assert "Xid" in (folder / "report.html").read_text()
        done = railbed("nccl", "--root", bad / "sosreport-gpu01.tar.gz")
        assert done.returncode in (0, 1, 2), done.stderr

        (bad / "sosreport-later.tar.xz").write_bytes(sound.read_bytes())
        refused(bad, "sosreport-gpu01.tar.gz", "sosreport-later.tar.xz", "both of gpu01")

        # Unpacked, as a bug report, and as a folder of outputs by their usual names.
        with tarfile.open(sound) as archive:
            archive.extractall(folder / "unpacked")
        unpacked = next((folder / "unpacked").iterdir())
        assert plain(facts_of(unpacked)["pci"]) == plain(facts_of(sound)["pci"])
        outputs["lspci -nn"] = listing(outputs["lspci -nnvv"])
        log = folder / "nvidia-bug-report.log.gz"
        log.write_bytes(gzip.compress(bug_report(outputs, copies).encode()))
        told = facts_of(log)
        assert plain(told["gpus"]["driver_version"]) == plain(tree["gpus"]["driver_version"])
        assert told["pci"]["value"][0]["parent"]["missing"] == "unknown"
        assert told["net"]["interfaces"]["missing"] == "unknown"
        loose = folder / "loose"
        loose.mkdir()
        for file, command in (("lspci-nnvv.txt", "lspci -nnvv"), ("nvidia-smi-q.txt", "nvidia-smi -q"), ("ip_-d_a", "ip -d address"),
                              ("dmesg.log", "dmesg"), ("ibv_devinfo-v.txt", "ibv_devinfo -v"), ("ibstat.txt", "ibstat")):
            (loose / file).write_text(outputs[command])
        told = facts_of(loose)
        assert plain(told["gpus"]["driver_version"]) == plain(tree["gpus"]["driver_version"])
        assert told["gpus"]["open_module"]["missing"] == "unknown"
        # Nothing tells that a folder holds all: the copies beside it count for nothing, and nothing is read of this machine.
        assert told["system"]["memory"]["total"]["missing"] == "unknown"
        check_topology(loose, len(tree["gpus"]["devices"]["value"]))
        check_hostile(folder, files_of(outputs, copies))
        shutil.rmtree(unpacked)
    print("support reports are read as far as they tell")


EXPECTED = []
FAULTS = [("gpu.xid-reboot", "0000:17:00.0"), ("pcie.adapter-link", "0000:3d:00.0"), ("net.carrier", "ens14np0")]

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    main()
