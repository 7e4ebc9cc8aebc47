#!/usr/bin/env python3
"""Files from anybody: trees, folders, facts and descriptions made to hang railbed or to fill the memory.

Each must end by itself, in at most 512 MiB, with an exit code of ours. The promise is 16 MiB in 2 s on an idle processor
(docs/reference/security.md); TestWorst holds the worst of each format (worst.py) and each command that reads it to four
times that, in the processor's own seconds, of which a busy machine takes up to twice as many for the same work. What is measured is printed, for the
reader.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import guardian
import watched
import worst

RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent
MEMORY = 512 << 20
HANGS = 120  # seconds, on a busy machine
PROMISE = 2  # seconds of a processor for 16 MiB
FAILS = 4 * PROMISE
# Nothing is sent beyond this machine: nobody answers at port 9 (discard).
CLUSTER = """railbed: 1
cluster: c
nodes:
  - {name: a, ssh: "ssh://127.0.0.1:9", bmc: 127.0.0.1}
  - {name: b, ssh: "ssh://127.0.0.1:9", bmc: 127.0.0.1}
rails:
  - {name: r, subnet: 10.0.0.0/24, interface: e0, first_address: 10.0.0.1}
"""
MIB = 1 << 20
DESCRIPTION = 4 * MIB - 100  # the longest cluster.yaml that is read at all


class Hostile(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.folder = pathlib.Path(self.home.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_on(self, *words, codes=(64,)):
        """What it printed, both ways."""
        out = self.folder / "out"
        code, memory = watched.run(self.id().split(".")[-1], [RAILBED, *words], out, HANGS, cwd=self.folder,
                                   env=os.environ | {"HOME": self.home.name})
        text = out.read_text(errors="replace")
        self.assertIn(code, codes, text[:2000])
        self.assertLess(memory, MEMORY, words)
        return text

    # Descriptions

    def check(self, text):
        return self.run_on("check", self.write("cluster.yaml", text), codes=(0, 64))

    def test_brackets_without_end(self):
        for what in ("[", "{", "- ", "? ", "a: [", "[a,", '"', "[],", "a:\n "):
            for size in (DESCRIPTION, 16 * MIB):
                self.check(what * (size // len(what)))

    def test_lists_of_millions(self):
        for size in (DESCRIPTION, 16 * MIB):
            self.check("railbed: 1\nnodes: [" + "a," * (size // 2 - 20) + "a]\n")
            self.check("railbed: 1\nnodes:\n" + "  - a\n" * (size // 6 - 20))
            self.check("railbed: 1\nnodes:\n  - a\n" + "".join(f"k{i}: 1\n" for i in range(size // 11)))

    def test_ranges_that_multiply(self):
        rails = "".join(f"  - {{name: r{i}, subnet: 10.{i}.0.0/16, interface: e{i}, first_address: 10.{i}.0.1}}\n"
                        for i in range(200))
        self.check("railbed: 1\ncluster: x\nnodes:\n  - 'n[00001-10000]'\nrails:\n" + rails)
        self.check("railbed: 1\ncluster: x\nnodes:\n  - 'n[1-10][1-10][1-10][1-10][1-10][1-10][1-10][1-10][1-10]'\n")

    def test_what_is_no_file(self):
        os.mkfifo(self.folder / "pipe")
        for path in (self.folder / "pipe", "/dev/zero", "/dev/tty0", self.folder):
            for words in (("check", path), ("verify", path), ("verify", "--facts", path), ("verify", "--measurements", path),
                          ("verify", "--root", path), ("facts", "--root", path), ("init", "--facts", path, "-o", "-"),
                          ("report", "--measurements", path)):
                if path == self.folder and "--root" in words:
                    continue
                self.run_on(*words, codes=(2, 3, 64))

    # Facts and measurements

    def test_json_that_grows(self):
        for text in ("[" * 8 * MIB, "[" + "[]," * (2 * MIB) + "[]]", '{"a":' * MIB, '"' + "a" * 16 * MIB,
                     '{"version":1,"collectors":[' + "{}," * (2 * MIB) + "{}]}",
                     '{"version":1,"net":{"interfaces":{"value":[' + '{"name":"e"},' * (MIB // 2) + '{"name":"e"}]}}}'):
            self.run_on("verify", "--facts", self.write("facts.json", text), codes=(0, 1, 2, 3, 64))
            self.run_on("verify", "--root", ROOT / "tests/machines/v100-cx3pro", "--measurements",
                        self.write("measurements.json", text), codes=(0, 1, 2, 3, 64))

    # Trees

    def tree(self, lines):
        text = "railbed-tree 1\n" + lines
        return self.run_on("verify", "--root", self.write("node.tree", text[:16 * MIB].rsplit("\n", 1)[0] + "\n"),
                           codes=(0, 1, 2, 3, 64))

    def test_a_machine_of_interfaces(self):
        self.tree("".join(f"/sys/class/net/e{i}/mtu = 9000\n" for i in range(400_000)))

    def test_a_machine_of_devices(self):
        addresses = [f"{d:04x}:{b:02x}:{s:02x}.0" for d in range(40) for b in range(256) for s in range(32)]
        self.tree("".join(f"/sys/bus/pci/devices/{one}/class = 0x030200\n/sys/bus/pci/devices/{one}/vendor = 0x10de\n"
                          for one in addresses))

    def test_a_machine_of_ports(self):
        self.tree("".join(f"/sys/class/infiniband/mlx5_{i}/ports/{port}/state = 4: ACTIVE\n"
                          for i in range(1000) for port in range(1, 200)))

    def test_a_port_of_gids(self):
        self.tree("".join(f"/sys/class/infiniband/mlx5_0/ports/1/gids/{i} = fe80:0000:0000:0000:0000:0000:{i >> 16:04x}:"
                          f"{i & 0xffff:04x}\n/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/{i} = RoCE v2\n"
                          for i in range(100_000)))

    def test_links_that_lead_through_links(self):
        long = "/".join(["x"] * 2000)
        chain = "".join(f"/a{i} -> {'../' * 1000}a{i + 1}\n" for i in range(39)) + f"/a39 -> /{long}\n"
        nets = "".join(f"/sys/class/net/e{i} -> /a0\n" for i in range(3000))
        self.tree(chain + nets)

    def test_a_path_of_many_folders(self):
        self.tree("".join(f"/{'a/' * 2000}{i} = x\n" for i in range(4000)))

    def test_a_log_of_many_lines(self):
        lines = [{"first": i, "last": i, "count": 1, "text": f"NVRM: Xid (PCI:0000:{i % 256:02x}:00): {i % 999}, x"}
                 for i in range(100_000)]
        self.tree("@ kernel-log <<END\n" + json.dumps({"source": "/dev/kmsg", "begins": 0, "ends": 1, "lines": lines}) +
                  "\nEND\n")

    def test_an_answer_of_many_values(self):
        for call in ("verbs", "nvml", "ethernet e0", "kernel-log", "nvme", "stuck"):
            self.tree(f"@ {call} <<END\n[" + "[]," * (4 * MIB) + "[]]\nEND\n")

    def test_a_base_that_is_a_pipe(self):
        os.mkfifo(self.folder / "pipe.tree")
        self.write("node.tree", "railbed-tree 1\nbase: pipe.tree\n")
        self.assertIn("pipe", self.run_on("verify", "--root", self.folder / "node.tree", codes=(3, 64)))

    # Folders that look like /

    def test_a_folder_of_pipes_and_endless_files(self):
        for name in ("sys/class/net/e0/mtu", "proc/cmdline", "etc/nccl.conf", "proc/sys/kernel/hostname"):
            (self.folder / "root" / name).parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(self.folder / "root" / name)
        endless = self.write("root/proc/meminfo", "")
        os.truncate(endless, 1 << 40)
        os.truncate(self.write("root/etc/environment", ""), 1 << 40)
        self.run_on("verify", "--root", self.folder / "root", codes=(0, 1, 2, 3))

    def test_a_folder_of_many_entries(self):
        net = self.folder / "root/sys/class/net"
        net.mkdir(parents=True)
        for i in range(50_000):
            (net / f"e{i}").touch()
        self.run_on("verify", "--root", self.folder / "root", codes=(0, 1, 2, 3))

    # Texts

    def test_nothing_of_a_stranger_moves_the_terminal(self):
        poison = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202ereversed\u2066\x7f"
        self.write("base.tree", (ROOT / "tests/machines/h100-cx7/gpu01.tree").read_bytes())
        tree = self.write("node.tree", "railbed-tree 1\nbase: base.tree\n"
                          f"/etc/nccl.conf <<END\nNCCL_IB_HCA=mlx5_0{poison}\nNCCL_BOGUS{poison}=1\nEND\n"
                          f"/etc/os-release = PRETTY_NAME=\"{poison}\"\n/proc/sys/kernel/osrelease = 6.8{poison}\n"
                          f"/proc/sys/kernel/hostname = node{poison}\n/proc/cmdline = quiet {poison}\n")
        log = self.write("log", f"n0:1:2 [0] misc/x.cc:7 NCCL WARN {poison}\nLast error:\n{poison}\n"
                         f'{{"log": "n0:1:2 [0] misc/x.cc:8 NCCL WARN \\u001b[2J\\u009b"}}\n')
        facts = self.write("facts.json", f'{{"version": 1, "{poison}')
        for words in (["verify", "--all", "--root", tree], ["verify", "--json", "--root", tree], ["facts", "--root", tree],
                      ["facts", "--json", "--root", tree], ["nccl", "--root", tree], ["nccl", "--json", "--root", tree],
                      ["nccl", "--log", log], ["nccl", "--json", "--log", log], ["verify", "--facts", facts]):
            with self.subTest(words=words):
                text = self.run_on(*words, codes=(0, 1, 2, 3, 64))
                found = watched.FORBIDDEN.search(text)
                self.assertIsNone(found, found and text[max(0, found.start() - 100):found.end() + 20])
                self.assertGreater(len(text), 50)


class Served(BaseHTTPRequestHandler):
    def do_GET(self):
        content = self.server.path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            self.wfile.write(content)
        except OSError:
            pass  # it had enough

    def log_message(self, *_):
        pass


class TestWorst(unittest.TestCase):
    """Every format, shape by shape."""

    def meet(self, kind):
        """Each shape meets the first command, and of the others one by turns: all are met, and the table ends."""
        file, shapes, commands = worst.FORMATS[kind]
        for number, shape in enumerate(shapes()):
            chosen = commands[:1] + commands[1:][number % max(len(commands) - 1, 1):][:1]
            with tempfile.TemporaryDirectory() as home:
                made = pathlib.Path(home) / "made"
                subprocess.run([sys.executable, worst.__file__, kind, str(number), made], check=True)
                for words in chosen:
                    with self.subTest(shape=shape, command=" ".join(words)), tempfile.TemporaryDirectory() as folder:
                        self.run_on(f"{kind}, {shape}: {' '.join(words)}", pathlib.Path(folder), file, made, words)

    def run_on(self, name, folder, file, made, words):
        (folder / "cluster.yaml").write_text(CLUSTER)
        (folder / "empty.tree").write_text("railbed-tree 1\n")
        (folder / "small.json").write_text('{"version":1}')
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        shutil.copyfile(made, path)
        path.chmod(0o600)
        places = {worst.FILE: str(path), worst.CLUSTER: "cluster.yaml"}
        if file == "live.json":
            server = ThreadingHTTPServer(("127.0.0.1", 0), Served)
            server.path = path
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
            places[worst.FILE] = f"http://127.0.0.1:{server.server_address[1]}"
        out = folder / "out"
        code, memory, processor = watched.measured(
            name, [RAILBED, *(places.get(word, word) for word in words)], out, HANGS, cwd=folder,
            env=os.environ | {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "home")})
        with open(out, errors="replace") as printed:
            self.assertIn(code, (0, 1, 2, 3, 64), printed.read(2000))
        self.assertLess(memory, MEMORY)
        self.assertLess(processor, FAILS)

    def test_runs(self):
        self.meet("runs")

    def test_measurements(self):
        self.meet("measurements")

    def test_facts(self):
        self.meet("facts")

    def test_logs_of_nccl(self):
        self.meet("logs of NCCL")

    def test_trees(self):
        self.meet("trees")

    def test_archives(self):
        self.meet("archives")

    def test_fabrics(self):
        self.meet("fabrics")

    def test_descriptions(self):
        self.meet("descriptions")

    def test_histories(self):
        self.meet("histories")

    def test_live_views(self):
        self.meet("live views")

    def test_small_files(self):
        for kind in ("events", "prices", "calibrations", "web configurations", "passwords", "expected host keys"):
            self.meet(kind)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    guardian.begin()
    unittest.main(verbosity=1)
