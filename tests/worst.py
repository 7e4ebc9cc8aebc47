"""The worst of each format that railbed reads, in at most 16 MiB: what strangers may send to keep it busy or to fill the memory.

FORMATS, at the end: of each format the file's name, its shapes, and the commands that read it. A shape is a function of nothing that
returns the content; a command's words hold FILE where the path stands. Shapes repeat, nest, widen, and are near-equal: what makes a
look-up among others quadratic is many keys that differ late.

    worst.py FORMAT NUMBER FILE    writes that shape there: in a process of its own, since a child's memory counts from its parent's
"""
import gzip
import hashlib
import io
import json
import lzma
import os
import pathlib
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = 1 << 20
MOST = 16 * MIB
FILE = "FILE"
CLUSTER = "CLUSTER"  # a small cluster.yaml, of the nodes a and b


def filled(line, most=MOST, count=MOST):
    """Lines of `line(i)`, as many as fit, or `count`: just below what a reader takes, so that what follows is met, too."""
    lines, size = [], 0
    for i in range(count):
        text = line(i)
        size += len(text)
        if size > most:
            break
        lines.append(text)
    return "".join(lines)


def near(i):
    """Names that differ at their end."""
    return f"near-equal-{i:07d}"


# JSON

def listed(head, item, tail, most=MOST, values=990_000):
    """head + item(0), item(1), … + tail: as many as fit into the bytes and the values that a document may have."""
    room, parts, count = most - len(head) - len(tail), [], 0
    for i in range(most):
        part = item(i)
        room -= len(part) + 1
        count += part.count(",") + part.count("[") + part.count("{") + 1
        if room < 0 or count > values:
            break
        parts.append(part)
    return head + ",".join(parts) + tail


def any_json(name):
    """Documents of which no program's own is one, under the member `name`."""
    head = '{"version":1,"%s":' % name
    return {
        "brackets": lambda: "[" * MOST,
        "an open string": lambda: '"' + "a" * (MOST - 1),
        "one string": lambda: head + '"' + "a" * (MOST - 100) + '"}',
        "one string of escapes": lambda: head + '"' + "\\u001b" * (MOST // 6 - 100) + '"}',
        "one number": lambda: head + "1" * (MOST - 100) + "}",
        "a million lists": lambda: head + listed("[", lambda i: "[]", "]") + "}",
        "a million objects": lambda: head + listed("[", lambda i: "{}", "]") + "}",
        "deep lists": lambda: head + listed("[", lambda i: "[" * 30 + "]" * 30, "]") + "}",
        "wide objects": lambda: head + listed("[", lambda i: listed("{", lambda j: f'"{near(j)}":0', "}", values=4000), "]") + "}",
        "one wide object": lambda: head + listed("{", lambda j: f'"{near(j)}":0', "}") + "}",
        "one key": lambda: head + listed("{", lambda j: '"a":0', "}") + "}",
        "white space": lambda: head + " " * (MOST - 100) + "1}",
    }


def measurement(i, **more):
    return json.dumps({"metric": "bandwidth", "engine": "tcp", "rail": near(i), "from": {"node": "a"}, "to": {"node": "b"}, "message_bytes": 65536,
                       "summary": {"samples": 30, "median": 1e9, "low": 1e9, "high": 1e9}} | more, separators=(",", ":"))


def a_run(item, **more):
    head = json.dumps({"version": 1, "id": 1, "started_at": "2026-01-01T00:00:00Z", "label": "x", "command": "bench", "railbed": "1"} | more)
    return listed(head[:-1] + ',"measurements":[', item, "]}")


def run_shapes():
    bad = {"failure": {"stage": "run", "cause": "it broke", "root": {"layer": "link", "node": "a", "cause": "down", "seen": ["x"]}}}
    names = lambda key: json.loads(listed("{", lambda i: f'"{near(i)}":"{i}"', "}", values=8000))
    return any_json("measurements") | {
        "subjects": lambda: a_run(measurement),
        "repeats of one": lambda: a_run(lambda i: measurement(0)),
        "short": lambda: a_run(lambda i: '{"streams":%d}' % i),
        "pairs of nodes": lambda: a_run(lambda i: measurement(0, **{"from": {"node": near(i)}, "to": {"node": near(i + 1)}})),
        "rdma pairs of nodes": lambda: a_run(lambda i: measurement(0, engine="rdma", **{"from": {"node": near(i)}, "to": {"node": near(i + 1)}})),
        "failures": lambda: a_run(lambda i: measurement(i, **bad)),
        "failures of one": lambda: a_run(lambda i: measurement(0, **bad)),
        "latencies": lambda: a_run(lambda i: measurement(i, metric="latency", engine="rdma")),
        "operations": lambda: a_run(lambda i: measurement(0, engine="storage", operation=near(i))),
        "sizes": lambda: a_run(lambda i: measurement(0, message_bytes=i)),
        "samples": lambda: a_run(lambda i: measurement(i, intervals=[1] * 1000)),
        "counters": lambda: a_run(lambda i: measurement(i, counter_deltas={near(j): j for j in range(1000)})),
        "choices": lambda: a_run(measurement, asked={near(i): "1" * 1000 for i in range(4000)}),
        "a long choice": lambda: a_run(measurement, asked={"x": "1" * 8 * MIB}),
        "ladders": lambda: listed('{"version":1,"ladders":[', lambda i: '{"from":"a","to":"b","rail":"%s","rungs":[{},{},{}],"loser":0}' % near(i), "]}"),
        "pairs": lambda: listed('{"version":1,"pairs":[{"rail":"r","engine":"tcp","nodes":["a","b"],"report":{"pairs":[',
                                lambda i: '{"from":0,"to":1,"median":%d}' % i, "]}}]}"),
        "nodes of pairs": lambda: listed('{"version":1,"pairs":[{"rail":"r","engine":"tcp","nodes":[', lambda i: f'"{near(i)}"', "]}]}"),
        "rails of pairs": lambda: listed('{"version":1,"pairs":[', lambda i: '{"rail":"%s","engine":"tcp","nodes":["a","b"]}' % near(i), "]}"),
        "slow nodes": lambda: listed('{"version":1,"pairs":[{"rail":"r","engine":"tcp","nodes":["a","b"],"report":{"slow":[',
                                     lambda i: '{"node":0,"other":1}', "]}}]}"),
        "collectives": lambda: listed('{"version":1,"collectives":[', lambda i: "{}", "]}"),
        "results of collectives": lambda: listed('{"version":1,"collectives":[{"results":[', lambda i: '{"bytes":%d}' % i, "]}]}"),
        "ranks of collectives": lambda: listed('{"version":1,"collectives":[{"ranks":[', lambda i: '{"rank":%d,"node":"%s"}' % (i, near(i)), "]}]}"),
        "places of storage": lambda: listed('{"version":1,"storage":[', lambda i: "{}", "]}"),
        "numbers of storage": lambda: listed('{"version":1,"storage":[{"measurements":[', lambda i: measurement(0, engine="storage", operation=near(i)), "]}]}"),
        "trains": lambda: listed('{"version":1,"trains":[', lambda i: "{}", "]}"),
        "burns": lambda: listed('{"version":1,"burns":[', lambda i: "{}", "]}"),
    }


RUN_COMMANDS = [["compare", FILE, FILE], ["compare", "--json", FILE, FILE], ["runs", "show", FILE], ["runs", "--store", "new.sqlite", "import", FILE],
                ["report", "--run", FILE, "-o", "r.html"], ["report", "--json", "--run", FILE, "--run", FILE, "-o", "r.html"],
                ["predict", "--gpu", "H200", "--against", FILE], ["predict", "--gpu", "H200", "--calibrate", FILE, "-o", "here.json"],
                ["predict", "latency", "--run", FILE]]


# Facts

def facts_shapes():
    """Of a sound machine's facts each list grows by copies of what is in it."""
    base = json.loads(subprocess.run([os.environ["RAILBED"], "facts", "--json", "--root", ROOT / "tests/machines/h100-cx7/gpu01.tree"],
                                     capture_output=True, check=True).stdout)

    def places(value, path=()):
        if isinstance(value, dict):
            for key, child in value.items():
                yield from places(child, path + (key,))
        elif isinstance(value, list) and value:
            yield path
            yield from places(value[0], path + (0,))

    def at(value, path):
        for key in path:
            value = value[key]
        return value

    def renamed(item, i):
        if isinstance(item, str):
            return f"n{i}" if item.isascii() and not item[:1].isdigit() else item
        if not isinstance(item, dict):
            return item
        new = dict(item)
        for key in ("name", "address", "pci_address"):
            if isinstance(new.get(key), str):
                new[key] = pci(i) if ":" in new[key] else f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}" if new[key].count(".") == 3 else f"e{i}"
        return new

    def grown(path):
        def make():
            copy = json.loads(json.dumps(base))
            items = at(copy, path)
            each = len(json.dumps(items[0], separators=(",", ":"))) + 12
            size = len(json.dumps(copy, separators=(",", ":")))
            count = min((8 * MIB - size - 4096) // each, 200_000)
            items.extend([renamed(items[j % min(len(items), 8)], j + 100) for j in range(max(count, 0))])
            text = json.dumps(copy, separators=(",", ":"))
            while len(text) > 8 * MIB or text.count(",") + text.count("[") + text.count("{") > 990_000:
                del items[len(items) * 9 // 10:]
                text = json.dumps(copy, separators=(",", ":"))
            return text
        return make
    return any_json("collectors") | {"many " + ".".join(str(part) for part in path): grown(path) for path in places(base)}


FACTS_COMMANDS = [["verify", "--facts", FILE], ["verify", "--json", "--all", CLUSTER, "--facts", FILE], ["report", "--facts", FILE, FILE, "-o", "r.html"],
                  ["init", "--facts", FILE, "-o", "-"], ["render", CLUSTER, "--facts", FILE], ["predict", "--facts", FILE],
                  ["advise", "matrix", "--facts", FILE], ["advise", "gpus", "--facts", FILE], ["advise", "upgrades", "--facts", FILE],
                  ["launch", "torchrun", CLUSTER, "--facts", FILE, "--", "t.py"]]


# Logs of NCCL

def nccl_shapes():
    info = lambda host, text, pid=1, thread=1, gpu=0: f"{host}:{pid}:{thread} [{gpu}] NCCL INFO {text}\n"
    start = "comm 0x{0:x} rank {1} nranks {2} cudaDev {3} busId {3} commId 0x{4:x} - Init START"
    warn = lambda host, text, pid=1, thread=1, gpu=0: f"{host}:{pid}:{thread} [{gpu}] misc/x.cc:{thread} NCCL WARN {text}\n"
    return {
        "warnings of many hosts": lambda: filled(lambda i: warn(f"h{i}", f"NET/IB : Got completion from peer 10.0.0.1<{i}> with status=12 opcode=0", i, i, i % 8)),
        "warnings of many kinds": lambda: filled(lambda i: warn("h", f"{near(i)} failed", i)),
        "ranks": lambda: filled(lambda i: info(f"h{i >> 3}", start.format(i, i, 1 << 20, i & 7, 7), i, i, i & 7)),
        "ranks of one process": lambda: filled(lambda i: info("h", start.format(i, i, 1 << 20, i, 7), 1, i, i)) ,
        "ranks, then warnings of unknown threads": lambda: filled(lambda i: info("h", start.format(i, i, 1 << 20, i, 7), 1, i, i), 8 * MIB) +
        filled(lambda i: warn("h", "unhandled", 1, i + 10_000_000, -1), 8 * MIB - 1),
        "ranks, then channels": lambda: filled(lambda i: info("h", start.format(i, i, 1 << 20, i, 7), 1, i, i), 8 * MIB) +
        filled(lambda i: info("h", f"Channel 00/0 : {i}[1] -> {i}[0] [receive] via NET/IB/{i}", 1, 0, 0), 8 * MIB - 1),
        "ranks, then time-outs": lambda: filled(lambda i: info("h", start.format(i, i, 1 << 20, i, 7), 1, i, i), 8 * MIB) +
        filled(lambda i: f"[Rank {i}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE)\n", 8 * MIB - 1),
        "communicators": lambda: filled(lambda i: info("h", start.format(i, 0, 1, 0, i), 1, i)),
        "splits of splits": lambda: info("h", start.format(1, 0, 2, 0, 7)) +
        filled(lambda i: info("h", f"comm 0x{i + 2:x} rank 0 nranks 2 cudaDev 0 parent 0x{i + 1:x} splitCount 1 color 1 - Init START"), MOST - 1000),
        "processes": lambda: filled(lambda i: info(f"h{i}", "x", i)),
        "processes by turns": lambda: filled(lambda i: info(f"h{i % 4096}", "x", i % 4096)),
        "glued hosts": lambda: filled(lambda i: info("a" * 200 + str(i), "x", i)),
        "networks": lambda: filled(lambda i: info("h", f"Using network {near(i)}", i)),
        "interfaces": lambda: filled(lambda i: info("h", f"NET/Socket : Using [0]e{i}:10.0.0.{i}<0>", i)),
        "interfaces on a line": lambda: filled(lambda i: info("h", "NET/Socket : Using " + " ".join(f"[0]e{i}{j}:1<0>" for j in range(3000)))),
        "bridges": lambda: filled(lambda i: info(f"h{i}", f"Bootstrap : Using docker{i}:10.0.0.{i}<0>", i)),
        "adapters": lambda: filled(lambda i: info(f"h{i & 255}", f"NET/IB : Using [{i}]mlx5_{i}:1/RoCE; OOB", i & 255)),
        "ports": lambda: filled(lambda i: info("h", f"NET/IB: [{i}] mlx5_0:uverbs0:{i}/RoCE provider=Mlx5 speed=400000")),
        "adapters, then GPUDirect": lambda: filled(lambda i: info("h", f"NET/IB : Using [{i}]mlx5_{i}:1/RoCE; OOB"), 8 * MIB) +
        filled(lambda i: info("h", "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"), 8 * MIB - 1),
        "variables": lambda: filled(lambda i: info("h", f"NCCL_X{i} set by environment to {i}", i)),
        "algorithms": lambda: filled(lambda i: info("h", f"AllReduce{i % 5000}: 8 Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..1}}")),
        "tuning": lambda: filled(lambda i: info("h", f"Latency/AlgBw | {'|'.join(f'T{i}{j}/LL' for j in range(60))}") if i % 2 == 0 else
                                 info("h", "AllReduce | " + "|".join("1.0/ 2.0" for j in range(60)))),
        "rings": lambda: filled(lambda i: info("h", start.format(1, 0, 2, 0, 7)) if i == 0 else info("h", "Channel 00/24 : " + "0 1 " * 10000 + str(i))),
        "trees": lambda: filled(lambda i: info("h", start.format(1, 0, 2, 0, 7)) if i == 0 else info("h", "Trees " + " ".join(f"{j}->{i}" for j in range(6000)))),
        "records on a line": lambda: filled(lambda i: "h:1:1 [0] NCCL INFO " * 3000 + "\n"),
        "marks on a line": lambda: filled(lambda i: " NCCL WARN " * 5500 + "\n"),
        "marks on one line": lambda: " NCCL WARN " * (MOST // 11),
        "letters that begin symptoms": lambda: filled(lambda i: "h:1:1 [0] x NCCL WARN " + "C" * 60000 + "\n"),
        "words that begin symptoms": lambda: filled(lambda i: "h:1:1 [0] x NCCL WARN " + "Cuda failure Call to ibv_" * 40 + "\n"),
        "one line": lambda: "h:1:1 [0] NCCL INFO " + "a" * (MOST - 100),
        "empty lines": lambda: "\n" * MOST,
        "empty objects": lambda: "{}\n" * (MOST // 3),
        "objects that are none": lambda: "{a}\n" * (MOST // 4),
        "wide objects": lambda: filled(lambda i: listed("{", lambda j: f'"{near(j)}":0', "}", 60000) + "\n"),
        "collected lines": lambda: filled(lambda i: json.dumps({"log": f"h:{i}:1 [0] NCCL INFO x\n" * 50}) + "\n"),
        "colours": lambda: "\033[" * (MOST // 2),
        "PyTorch's ranks": lambda: filled(lambda i: f"[rank{i}] Rank {i}] Last enqueued NCCL work: {i}, last completed NCCL work: {i}.\n"),
        "last errors": lambda: filled(lambda i: f"Last error:\n{near(i)}\n"),
        "bytes": lambda: bytes(range(256)) * (MOST // 256),
    }


NCCL_COMMANDS = [["nccl", "--log", FILE], ["nccl", "--json", "--log", FILE], ["explain", "--nccl-log", FILE]]


# Trees and what is sent to support

def tree(line):
    return lambda: "railbed-tree 1\n" + filled(line, MOST - 100)


def block(call, text):
    return lambda: f"railbed-tree 1\n@ {call} <<END\n" + text() + "\nEND\n"


def pci(i):
    return f"{i >> 13:04x}:{i >> 5 & 255:02x}:{i & 31:02x}.0"


def patched(i):
    if i == 0:
        return "@ nvml <<END\n" + listed("{", lambda j: f'"{near(j)}":0', "}", 120 << 10, 4000) + "\nEND\n"
    return "~ nvml <<END\n" + listed("{", lambda j: f'"{near(j)}":1', "}", 60 << 10, 4000) + "\nEND\n" if i < 250 else "\n"


def tree_shapes():
    files = {"/etc/nccl.conf": "NCCL_X{0}=1", "/proc/cmdline": "a{0}=b", "/etc/hosts": "10.0.0.1 h{0}", "/proc/interrupts": " {0}: 1 2 3 PCI-MSI {0}-edge mlx5_comp{0}@pci:0000:01:00.0",
             "/etc/modprobe.d/a.conf": "options m{0} a=b", "/etc/sysctl.conf": "net.a{0} = 1", "/etc/sysctl.d/a.conf": "net.a{0} = 1", "/proc/mounts": "a{0} /m{0} ext4 rw 0 0",
             "/etc/netplan/a.yaml": "a{0}: &a{0} [b]", "/etc/network/interfaces": "auto e{0}", "/proc/meminfo": "Mem{0}: 1 kB", "/proc/cpuinfo": "processor : {0}",
             "/etc/security/limits.conf": "* soft memlock {0}", "/etc/default/grub": 'GRUB_CMDLINE_LINUX="$A{0}"', "/etc/ssh/ssh_known_hosts": "h{0} ssh-ed25519 AAAA",
             "/etc/passwd": "u{0}:x:{0}:1::/:/bin/sh", "/etc/environment": "NCCL_X{0}=1", "/proc/modules": "m{0} 1 1 - Live 0x0", "/root/.ssh/known_hosts": "h{0} ssh-ed25519 AAAA"}
    shapes = {f"lines of {path}": (lambda path=path, line=line: "railbed-tree 1\n" + f"{path} <<END\n" + filled(lambda i: line.format(i) + "\n", MOST - 200) + "END\n")
              for path, line in files.items()}
    kernel = lambda text: (lambda: json.dumps({"source": "/dev/kmsg", "begins": 0, "ends": 1, "lines": [
        {"first": i, "last": i, "count": 1, "text": text.format(i, i % 256)} for i in range(90_000)]}))
    return shapes | {
        "interfaces": tree(lambda i: f"/sys/class/net/e{i}/mtu = 9000\n"),
        "PCI devices": tree(lambda i: f"/sys/bus/pci/devices/{pci(i)}/class = 0x030200\n/sys/bus/pci/devices/{pci(i)}/vendor = 0x10de\n"),
        "ports": tree(lambda i: f"/sys/class/infiniband/mlx5_{i // 200}/ports/{i % 200}/state = 4: ACTIVE\n"),
        "GIDs": tree(lambda i: f"/sys/class/infiniband/mlx5_0/ports/1/gids/{i} = fe80:0000:0000:0000:0000:0000:{i >> 16:04x}:{i & 0xffff:04x}\n"
                     f"/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/{i} = RoCE v2\n"),
        "drives": tree(lambda i: f"/sys/class/nvme/nvme{i}/model = x\n/sys/block/nvme{i}n1/size = 100\n"),
        "processors": tree(lambda i: f"/sys/devices/system/cpu/cpu{i}/topology/physical_package_id = {i}\n"),
        "NUMA nodes": tree(lambda i: f"/sys/devices/system/node/node{i}/cpulist = {i}\n"),
        "configuration files": tree(lambda i: f"/etc/modprobe.d/{near(i)}.conf = options a b=c\n"),
        "processes": tree(lambda i: f"/proc/{i}/comm = a{i}\n/proc/{i}/cmdline = a{i}\n"),
        "a deep path": tree(lambda i: f"/{'a/' * 60}{i} = x\n"),
        "links": tree(lambda i: f"/sys/class/net/e{i} -> ../../devices/e{i + 1}\n"),
        "links through links": lambda: "railbed-tree 1\n" + "".join(f"/a{i} -> {'../' * 1000}a{i + 1}\n" for i in range(39)) +
        f"/a39 -> /{'/'.join(['x'] * 2000)}\n" + "".join(f"/sys/class/net/e{i} -> /a0\n" for i in range(3000)),
        "removals": tree(lambda i: f"/a/{i} = x\n- /a/{i}\n"),
        "commands": tree(lambda i: f"$ {near(i)} <<END\nEND\n"),
        "patches": tree(patched),
        "one line": lambda: "railbed-tree 1\n/etc/hostname = " + "a" * (MOST - 100) + "\n",
        "one line of hexadecimal digits": lambda: "railbed-tree 1\n/etc/hostname = hex:" + "61" * (MOST // 2 - 100) + "\n",
        "a block without end": lambda: "railbed-tree 1\n" + "/etc/a <<END\n" * (MOST // 13 - 10),
        "empty lines": lambda: "railbed-tree 1\n" + "\n" * (MOST - 100),
        "a kernel's log of Xids": block("kernel-log", kernel("NVRM: Xid (PCI:0000:{1:02x}:00): {0}, x")),
        "a kernel's log of links": block("kernel-log", kernel("mlx5_core 0000:{1:02x}:00.0 e{0}: Link down")),
        "a kernel's log of PCIe errors": block("kernel-log", kernel("pcieport 0000:{1:02x}:00.0: AER: Corrected error received: 0000:{1:02x}:00.{0}")),
        "a kernel's log of one line": block("kernel-log", lambda: json.dumps({"source": "/dev/kmsg", "begins": 0, "ends": 1, "lines": [
            {"first": 1, "last": 1, "count": 1, "text": "NVRM: Xid (PCI:0000:01:00): " + "9" * 15 * MIB}]})),
        **{f"an answer to {call}: {name}": block(call, text) for call in ("verbs", "nvml", "ethernet e0", "nvme", "stuck", "network", "addresses")
           for name, text in (("lists", lambda: listed("[", lambda i: "[]", "]")), ("objects", lambda: listed("[", lambda i: '{"name":"e%d"}' % i, "]")))},
    }


TREE_COMMANDS = [["verify", "--root", FILE], ["facts", "--json", "--root", FILE], ["facts", "--topology", "--root", FILE], ["nccl", "--root", FILE],
                 ["capture", "--mask", "--force", "--root", FILE, "-o", "c.tree"], ["report", "--root", FILE, "-o", "r.html"], ["plan", "--root", FILE, CLUSTER],
                 ["render", CLUSTER, "--root", FILE], ["init", "--root", FILE, "-o", "-"], ["predict", "--root", FILE], ["advise", "matrix", "--root", FILE], ["advise", "gpus", "--root", FILE],
                 ["advise", "upgrades", "--root", FILE], ["launch", "torchrun", CLUSTER, "--root", FILE, "--", "t.py"], ["monitor", "--once", "--state", "state", "--root", FILE],
                 ["top", "--once", "--state", "state", "--root", FILE]]


def archive(entries, packed="xz"):
    """A tar archive of (name, content): xz for tar.xz, gz for tar.gz. Level 0: what is measured is the reader."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return lzma.compress(plain.getvalue(), preset=0) if packed == "xz" else gzip.compress(plain.getvalue(), 1)


def archive_shapes():
    top = "sosreport-gpu01-2026-01-19-abcdefg/"
    odd = lambda i: hashlib.sha256(b"%d" % i).hexdigest()[:20]  # what packs badly: else the ratio refuses it
    fill = lambda line, most=12 * MIB: filled(line, most).encode()
    one = lambda name, line: (lambda: archive([(top + "sos_commands/" + name, fill(line))]))
    return {
        "tiny entries": lambda: archive((f"{top}proc/sys/{odd(i)}", b"1") for i in range(490_000)),
        "tiny entries of no use": lambda: archive((f"{top}var/log/{odd(i)}", b"1") for i in range(490_000)),
        "empty entries, gzip": lambda: archive(((f"{top}sys/class/net/{odd(i)[:12]}/mtu", b"") for i in range(200_000)), "gz"),
        "one large file": lambda: archive([(top + "etc/hosts", b"a" * 64 * MIB)]),
        "zeros": lambda: lzma.compress(b"\0" * 512 * MIB, preset=0),
        "zeros, gzip": lambda: gzip.compress(b"\0" * 512 * MIB, 1),
        "a bug report of lines": lambda: gzip.compress(b"nvidia-bug-report.log\n" + fill(lambda i: f"{near(i)}\n", 60 * MIB), 1),
        "a bug report of sections": lambda: gzip.compress(b"nvidia-bug-report.log\n" + fill(lambda i: f"____________________________________________\n\n*** /proc/a{i}\n*** ls: x\n", 60 * MIB), 1),
        "a bug report of kernel lines": lambda: gzip.compress(b"nvidia-bug-report.log\n" + fill(lambda i: f"[ {i}.0] NVRM: Xid (PCI:0000:{i % 256:02x}:00): {i % 99}, x\n", 60 * MIB), 1),
        "lspci": one("pci/lspci_-nnvv", lambda i: f"{pci(i)[5:]} 3D controller [0302]: NVIDIA [10de:1db1]\n\tCapabilities: [60] Express (v2) Endpoint\n\t\tLnkSta:\tSpeed 8GT/s, Width x16\n\n"),
        "ip addr": one("networking/ip_-d_address", lambda i: f"{i}: e{i}: <UP> mtu 9000\n    link/ether 00:11:22:33:44:55\n    inet 10.0.0.1/8 scope global e{i}\n"),
        "ibv_devinfo": one("infiniband/ibv_devinfo_-v", lambda i: f"hca_id: mlx5_{i}\n\ttransport: InfiniBand (0)\n\t\tport: 1\n\t\t\tstate: PORT_ACTIVE (4)\n"),
        "nvidia-smi": one("nvidia/nvidia-smi_-q", lambda i: f"GPU 00000000:{i % 256:02X}:00.0\n    Product Name : V100\n    PCI\n        Bus Id : 00000000:{i % 256:02X}:00.0\n"),
        "dmesg": one("kernel/dmesg", lambda i: f"[ {i}.0] NVRM: Xid (PCI:0000:{i % 256:02x}:00): 79, x\n"),
        "lsmod": one("kernel/lsmod", lambda i: f"m{i} 1 1 a\n"),
        "no archive": lambda: b"\xfd7zXZ\0" + b"\xff" * (MOST - 6),
    }


ARCHIVE_COMMANDS = [["verify", "--root", FILE], ["facts", "--json", "--root", FILE], ["nccl", "--root", FILE]]


# A fabric

def fabric_shapes():
    def switch(i, ports, count=40):
        lines = "".join(f'[{at}]\t"{to}"[{port}]\t# "x" lid 1 4xHDR\n' for at, to, port in ports)
        return f'switchguid=0x{i:x}({i:x})\nSwitch\t{count} "S-{i:016x}"\t# "sw{i}" enhanced port 0 lid {i % 49000} lmc 0\n{lines}\n'

    def hca(i, to, port, name="h{}"):
        return f'caguid=0x{i:x}\nCa\t1 "H-{i:016x}"\t# "{name.format(i)} mlx5_0"\n[1]({i:x})\t"S-{to:016x}"[{port}]\t# lid {i % 49000} lmc 0 "sw" lid 1 4xHDR\n\n'
    node = lambda i: f"S-{i:016x}"
    leaf = lambda i, name: (switch(i * 40 + 1, [(j, f"H-{i * 40 + 1 + j:016x}", 1) for j in range(1, 40)] + [(40, node(40 * (i ^ 1) + 1), 40)]) +
                            "".join(hca(i * 40 + 1 + j, i * 40 + 1, j, name) for j in range(1, 40)))
    return {
        "switches": lambda: filled(lambda i: switch(i + 1, [])),
        "switches that are taken": lambda: filled(lambda i: switch(i + 1, []), count=24_000),
        "a ring": lambda: filled(lambda i: switch(i + 1, [(1, node((i - 1) % 20_000 + 1), 2), (2, node((i + 1) % 20_000 + 1), 1)]), count=20_000),
        "a mesh": lambda: filled(lambda i: switch(i + 1, [(j, node((i + j) % 1000 + 1), 255 - j) for j in range(1, 255)], 254), count=1000),
        "hosts": lambda: filled(lambda i: leaf(i, "h{}"), count=1000),
        "hosts of one name": lambda: filled(lambda i: leaf(i, "h"), count=1000),
        "hosts of one port": lambda: filled(lambda i: hca(i + 2, 1, 1), count=24_000),
        "ports of one switch": lambda: switch(1, [(j, node(j), j) for j in range(1, 200_000)]),
        "one GUID": lambda: filled(lambda i: switch(1, [])),
        "long names": lambda: filled(lambda i: f'Switch\t40 "S-{i:016x}"\t# "{"a" * 60000}" enhanced port 0 lid 1 lmc 0\n\n'),
        "one line": lambda: 'Switch\t40 "S-' + "1" * (MOST - 100),
        "comments": lambda: "# a\n" * (MOST // 4),
        "empty lines": lambda: "\n" * MOST,
        "bytes": lambda: bytes(range(256)) * (MOST // 256),
    }


FABRIC_COMMANDS = [["fabric", "verify", "--from", FILE], ["fabric", "verify", "--from", FILE, "--plan", FILE], ["fabric", "discover", "--from", FILE],
                   ["fabric", "discover", "--json", "--from", FILE], ["fabric", "discover", "--svg", "f.svg", "--from", FILE],
                   ["fabric", "verify", "--from", FILE, "--learn", "learnt"]]


# Descriptions and other YAML

def yaml_shapes():
    head = "railbed: 1\ncluster: x\n"
    rails = "rails: [{name: r, subnet: 10.0.0.0/8, interface: e0, first_address: 10.0.0.1}]\n"
    most = 4 * MIB - 100
    shapes = {f"{what!r} again and again": (lambda what=what, size=size: what * (size // len(what)))
              for what in ("[", "{", "- ", "? ", "a: [", "[a,", '"', "[],", "a:\n ", "&a ", "*a ", "!!a ", "# a\n", "|\n", "---\n") for size in (most,)}
    return shapes | {
        "16 MiB": lambda: "a: b\n" * (MOST // 5),
        "nodes": lambda: filled(lambda i: f"  - {near(i)}\n" if i else head + rails + "nodes:\n", most),
        "nodes that are taken": lambda: filled(lambda i: f"  - {near(i)}\n" if i else head + rails + "nodes:\n", count=39_900),
        "a range of nodes": lambda: head + rails + "nodes: ['n[000001-039990]']\n",
        "nodes of one name": lambda: filled(lambda i: "  - a\n" if i else head + rails + "nodes:\n", most),
        "nodes on a line": lambda: head + rails + "nodes: [" + "a," * (most // 2 - 100) + "a]\n",
        "nodes with ports": lambda: filled(lambda i: f"  - {{name: {near(i)}, ssh: {{host: h{i}}}}}\n" if i else head + rails + "nodes:\n", most),
        "ranges": lambda: head + rails + "nodes:\n" + filled(lambda i: f"  - 'n{i}-[1-10000]'\n", most - 1000),
        "keys": lambda: head + rails + filled(lambda i: f"k{i}: 1\n", most - 1000),
        "near-equal keys": lambda: head + rails + filled(lambda i: f"{near(i)}: 1\n", most - 1000),
        "one key": lambda: head + "nodes: [a]\n" + filled(lambda i: "expect: {}\n", most - 1000),
        "rails": lambda: head + "nodes: [a, b]\nrails:\n" + filled(
            lambda i: f"  - {{name: r{i}, subnet: 10.{i >> 8 & 255}.{i & 255}.0/24, interface: e{i}, first_address: 10.{i >> 8 & 255}.{i & 255}.1}}\n", most - 1000),
        "rails that are taken": lambda: head + "nodes: [a, b]\nrails:\n" + filled(
            lambda i: f"  - {{name: r{i}, subnet: 10.{i >> 8 & 255}.{i & 255}.0/24, interface: e{i}, first_address: 10.{i >> 8 & 255}.{i & 255}.1}}\n", count=250),
        "rails of many nodes": lambda: head + "nodes:\n  - 'n[00001-10000]'\nrails:\n" + "".join(
            f"  - {{name: r{i}, subnet: 10.{i}.0.0/16, interface: e{i}, first_address: 10.{i}.0.1}}\n" for i in range(200)),
        "anchors": lambda: head + rails + "nodes:\n" + filled(lambda i: f"  - &a{i} n{i}\n", most - 1000),
        "aliases": lambda: head + rails + "nodes:\n  - &a x\n" + filled(lambda i: "  - *a\n", most - 1000),
        "aliases that multiply": lambda: "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 20)) + head + "nodes: *a19\n",
        "aliases in aliases": lambda: "a0: &a0 [x]\n" + filled(lambda i: f"a{i + 1}: &a{i + 1} [*a{i}]\n", most - 1000) + head,
        "one string": lambda: head + 'nodes: ["' + "a" * (most - 100) + '"]\n',
        "lines of a string": lambda: head + "nodes:\n  - |\n" + "    a\n" * (most // 6 - 100),
        "comments": lambda: head + "# a\n" * (most // 4 - 100) + rails + "nodes: [a]\n",
        "expectations": lambda: head + rails + "nodes: [a]\nexpect:\n" + filled(lambda i: f"  k{i}: {i}\n", most - 1000),
        "lists of expectations": lambda: head + rails + "nodes: [a]\nexpect:\n  modules:\n" + filled(lambda i: f"    - m{i}\n", most - 1000),
        "bytes": lambda: bytes(range(256)) * (most // 256),
    }


YAML_COMMANDS = [["check", FILE], ["check", "--json", FILE], ["render", FILE], ["predict", FILE], ["predict", "train", FILE], ["advise", "matrix", "--planned", FILE], ["advise", "gpus", FILE],
                 ["launch", "torchrun", FILE, "--no-look", "--", "t.py"], ["autoinstall", FILE, "a"], ["monitor", "files", FILE, "-o", "files"],
                 ["verify", FILE, "--root", "empty.tree"]]


# Histories

def history_shapes():
    """Made by SQLite itself, with what it lets a stranger write; each as the bytes of the file."""
    runs = ("CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL, label TEXT NOT NULL, command TEXT NOT NULL, railbed TEXT NOT NULL, "
            "fingerprint TEXT NOT NULL, measurements TEXT NOT NULL, asked TEXT NOT NULL DEFAULT '{}', details TEXT NOT NULL DEFAULT '{}');")
    base = "CREATE TABLE baseline(one INTEGER PRIMARY KEY CHECK (one = 1), run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE);"
    row = "INSERT INTO runs(started_at, label, command, railbed, fingerprint, measurements, asked, details) "
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    columns = "'a' AS started_at, 'l' AS label, 'c' AS command, 'r' AS railbed, '{}' AS fingerprint, '[]' AS measurements, '{}' AS asked, '{}' AS details"
    slow = "replace(hex(zeroblob(20000000)), '0', '11')"

    def made(*statements, many=()):
        def make():
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "h.sqlite"
                database = sqlite3.connect(path)
                database.executescript("PRAGMA application_id = 1918986604; PRAGMA user_version = 2;" + "".join(statements))
                for statement, values in many:
                    database.executemany(statement, values())
                database.commit()
                database.close()
                return path.read_bytes()
        return make
    filler = row + "VALUES(?, ?, 'c', 'r', ?, ?, '{}', '{}')"
    subjects = lambda: "[" + ",".join(measurement(i) for i in range(20_000)) + "]"
    return {
        "a view without an end": made(f"CREATE VIEW runs AS {endless} SELECT x AS id, {columns} FROM c;", base),
        "a baseline without an end": made(runs, f"CREATE VIEW baseline AS {endless} SELECT 1 AS one, x AS run FROM c WHERE x < 0;"),
        "computed columns": made(runs.replace("label TEXT NOT NULL", f"label TEXT GENERATED ALWAYS AS ({slow}) VIRTUAL"), base,
                                 "INSERT INTO runs(started_at, command, railbed, fingerprint, measurements) VALUES('a','b','c','{}','[]');" * 50),
        "an index on an expression": made(runs, base, f"CREATE INDEX i ON runs(label || {slow});"),
        "triggers": made(runs, base, f"CREATE TRIGGER t AFTER INSERT ON runs BEGIN INSERT INTO runs {endless} SELECT NULL, {columns} FROM c; END;"),
        "triggers on a baseline": made(runs, base, row + "VALUES('a','b','c','d','{}','[]','{}','{}');",
                                       f"CREATE TRIGGER t AFTER INSERT ON baseline BEGIN DELETE FROM runs WHERE id IN ({endless} SELECT x FROM c); END;"),
        "tables": made(runs, base, "".join(f"CREATE TABLE {near(i).replace('-', '_')}(a);" for i in range(3000))),
        "tables of one page": made(runs, base, "PRAGMA writable_schema = 1;",
                                   f"INSERT INTO sqlite_master WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 150000) "
                                   f"SELECT 'table', 't' || x, 't' || x, 2, 'CREATE TABLE t' || x || '(a)' FROM c;"),
        "columns": made(runs, base, "CREATE TABLE wide(" + ",".join(f"c{i}" for i in range(1900)) + ");"),
        "runs": made(runs, base, many=[(filler, lambda: (("2026", near(i), "{}", "[]") for i in range(150_000)))]),
        "long labels": made(runs, base, many=[(filler, lambda: (("2026", "l" * 900_000, "{}", "[]") for i in range(16)))]),
        "one long label": made(runs, base, many=[(filler, lambda: (("2026", "l" * 15 * MIB, "{}", "[]") for i in range(1)))]),
        "wide fingerprints": made(runs, base, many=[(filler, lambda: (("2026", "l", listed("{", lambda j: f'"{near(j)}":""', "}", values=4000), "[]") for i in range(130)))]),
        "20,000 numbers": made(runs, base, many=[(filler, lambda: [("2026", "l", "{}", subjects())])]),
        "a million objects": made(runs, base, many=[(filler, lambda: [("2026", "l", "{}", listed("[", lambda i: "{}", "]"))])]),
        "many baselines": made(runs, base.replace(" CHECK (one = 1)", ""), row + "VALUES('a','b','c','d','{}','[]','{}','{}');",
                               many=[("INSERT INTO baseline(one, run) VALUES(?, 1)", lambda: ((i,) for i in range(900_000)))]),
        "bytes": lambda: b"SQLite format 3\0" + bytes(range(256)) * (MOST // 256 - 1),
        "no database": lambda: b"a" * MOST,
    }


HISTORY_COMMANDS = [["runs", "--store", FILE], ["runs", "--json", "--store", FILE], ["runs", "show", "last", "--store", FILE], ["runs", "export", "l", "--store", FILE],
                    ["compare", "last", "last", "--store", FILE], ["report", "--run", "last", "--store", FILE, "-o", "r.html"],
                    ["runs", "baseline", "1", "--store", FILE], ["runs", "import", "small.json", "--store", FILE], ["runs", "remove", "1", "--store", FILE],
                    ["predict", "--gpu", "H200", "--against", "last", "--store", FILE]]


# A live view

def live_shapes():
    end = '{"node":"n%d","interface":"e0","device":"%s","receive_samples":[1,2,3]}'
    view = lambda key, item: listed('{"view":{"made_at":1,"nodes":[{"name":"a","look_age":1,"reachable":true}],"%s":[' % key, item, "]}}")
    return {name: make for name, make in any_json("view").items()} | {
        "a title of 1 MiB": lambda: '{"view":{"title":"' + "a" * MIB + '"}}',
        "a sentence of 1 MiB": lambda: '{"view":{"made_at":1,"nodes":[{"name":"a","look_age":1}],"sentence":"' + "a " * (MIB // 2) + '"}}',
        "long texts": lambda: view("findings", lambda i: '{"headline":"%s","message":"%s"}' % ("a" * 16000, "b " * 8000)),
        "nodes": lambda: listed('{"view":{"made_at":1,"nodes":[', lambda i: '{"name":"%s","look_age":1,"health":"bad"}' % near(i), "]}}"),
        "GPUs": lambda: listed('{"view":{"made_at":1,"nodes":[{"name":"a","look_age":1,"gpus":[', lambda i: '{"pci_address":"%s","utilisation_samples":[1,2,3]}' % pci(i), "]}]}}"),
        "findings": lambda: view("findings", lambda i: '{"rule":"r","headline":"%s"}' % near(i)),
        "rails": lambda: view("rails", lambda i: '{"name":"%s","ends":[%s]}' % (near(i), end % (i, "d"))),
        "ends": lambda: view("rails", lambda i: '{"name":"r","ends":[%s]}' % ",".join(end % (j, near(j)) for j in range(10_000))),
        "samples": lambda: view("rails", lambda i: '{"name":"r","ends":[{"receive_samples":[%s]}]}' % ",".join(["1"] * 100_000)),
        "events": lambda: view("events", lambda i: '{"rule":"r","subject":"%s"}' % near(i)),
    }


LIVE_COMMANDS = [["top", "--once", "--from", FILE], ["top", "--json", "--from", FILE]]  # FILE: the address of who serves it


# Other files

def event_shapes():
    return {
        "events": lambda: filled(lambda i: json.dumps({"time": 1e9 + i, "rule": "rdma.port-down", "subject": near(i), "kind": "appeared", "node": "a"}) + "\n"),
        "shortest events": lambda: '{"node":"a"}\n' * (MOST // 13),
        "empty objects": lambda: "{}\n" * (MOST // 3),
        "no objects": lambda: "{a}\n" * (MOST // 4),
        "wide objects": lambda: filled(lambda i: listed("{", lambda j: f'"{near(j)}":0', "}", 100_000, 4000) + "\n"),
        "one line": lambda: '{"rule":"' + "a" * (MOST - 100) + '"}\n',
        "empty lines": lambda: "\n" * MOST,
    }


def line_shapes(line):
    return {"lines": lambda: filled(line), "one line": lambda: "a" * MOST, "spaces": lambda: " " * MOST, "empty lines": lambda: "\n" * MOST,
            "bytes": lambda: bytes(range(256)) * (MOST // 256), "repeated": lambda: filled(lambda i: line(0))}


# Of each format the file's name, its shapes and its commands.
FORMATS = {
    "runs": ("run.json", run_shapes, RUN_COMMANDS),
    "measurements": ("measurements.json", run_shapes, [["verify", "--root", str(ROOT / "tests/machines/v100-cx3pro"), "--measurements", FILE],
                                                       ["report", "--measurements", FILE, "-o", "r.html"]]),
    "facts": ("facts.json", facts_shapes, FACTS_COMMANDS),
    "logs of NCCL": ("log", nccl_shapes, NCCL_COMMANDS),
    "trees": ("node.tree", tree_shapes, TREE_COMMANDS),
    "archives": ("sosreport.tar.xz", archive_shapes, ARCHIVE_COMMANDS),
    "fabrics": ("fabric.topo", fabric_shapes, FABRIC_COMMANDS),
    "descriptions": ("described.yaml", yaml_shapes, YAML_COMMANDS),
    "histories": ("runs.sqlite", history_shapes, HISTORY_COMMANDS),
    "live views": ("live.json", live_shapes, LIVE_COMMANDS),
    "events": ("state/events.jsonl", event_shapes, [["events", "--all", "--state", "state"], ["events", "--json", "--state", "state"]]),
    "prices": ("prices.yaml", yaml_shapes, [["advise", "upgrades", "--root", "empty.tree", "--prices", FILE]]),
    "calibrations": ("calibration.json", lambda: any_json("constants"), [["predict", "--gpu", "H200", "--calibration", FILE]]),
    "web configurations": ("web.yaml", yaml_shapes, [["monitor", "--root", "empty.tree", "--state", "state", "--listen", "127.0.0.1:0", "--web-config", FILE,
                                                      "--once"]]),
    "passwords": ("passwords", lambda: line_shapes(lambda i: f"n{i} user password{i}\n"), [["sensors", CLUSTER, "--password-file", FILE]]),
    "expected host keys": ("expected", lambda: line_shapes(lambda i: f"n{i} SHA256:{'A' * 43}\n"), [["hostkeys", CLUSTER, "--expect", FILE]]),
}

if __name__ == "__main__":
    made = list(FORMATS[sys.argv[1]][1]().values())[int(sys.argv[2])]()
    pathlib.Path(sys.argv[3]).write_bytes(made if isinstance(made, bytes) else made.encode())
