#!/usr/bin/env python3
"""schema/cluster.schema.json and `railbed check` judge a cluster.yaml alike: every one in the repository, and single mistakes
in one. What a schema cannot say, since it is about two places at once, check alone refuses. Skips itself without jsonschema."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    import yaml
except ImportError:
    print("without jsonschema and yaml nothing reads the schema: skipped")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = os.environ["RAILBED"]
SCHEMA = json.loads((ROOT / "schema/cluster.schema.json").read_text())
HEAD = "railbed: 1\ncluster: lab\n"
NODES = "nodes: [gpu1, gpu2]\n"
RAIL = "  - {name: r0, subnet: 10.0.0.0/24, interface: ens1, first_address: 10.0.0.1"
STORED = NODES + "rails:\n" + RAIL + "}\n"
SHARE = "{name: s, server: gpu1, path: /srv/x, mount: /x, protocol: nfs-tcp, rail: r0, clients: gpu2"
EXPORT = "{name: s, server: gpu1, device: /dev/vdb, protocol: nvme-tcp, rail: r0, clients: gpu2"

TAKEN = [
    NODES,
    'nodes:\n  - gpu[01-64]\n  - {name: "n[1-3]", ssh: "s[1-3]", bmc: 10.0.0.9}\n',
    "nodes: [{name: here, local: true}, {name: there, ssh: local}]\n",
    NODES + "rails:\n" + RAIL + "}\n",
    NODES + "rails:\n" + RAIL + ", mtu: 1500, speed: 40 Gb/s, nodes: gpu1}\n",
    NODES + "rails: [{name: r0, fabric: infiniband, interface: ib0}]\n",
    NODES + "rails: []\nssh: {user: ops}\nbmc: {protocol: redfish, user: ops, cipher: 17}\n",
    NODES + "speed: 400G\nmtu: 9000\nvlan: 100\n",
    NODES + "speed: 2.5 Gbit/s\n",
    NODES + 'expect: {gpus: 8, driver: 570, cuda: "12.8", kernel: 6.8, memory: 2 TiB, socket_buffer: 268435456}\n',
    NODES + 'expect: {nccl: "2.28", cuda_toolkit: 12.8, fraction_of_ceiling: 1, governor: performance, venv: /opt/venv}\n',
    NODES + "expect: {container: nvcr.io/nvidia/pytorch:25.01-py3, container_runtime: podman, mig: false, mpi: true}\n",
    NODES + "expect: {firmware: {MT_0000000838: 28.39}, checkpoint_path: /mnt/ckpt, traffic_class: 104}\n",
    NODES + "configure: {network: netplan, management_interface: eno1, management_address: 192.168.1.70/24}\n",
    NODES + "configure: {management_dns: [1.1.1.1, 8.8.8.8], unused_interfaces: eno2, pfc_priority: 3, console: ttyS1}\n",
    NODES + "configure: {console_rate: 57600, user: ops, authorized_keys: ssh-ed25519 AAAAC3Nza ops, driver_kind: open}\n",
    NODES + "configure: {nvidia_repository: none, nvidia_key: EB69 3B30 35CD 5710 E231  E123 A4B4 6996 3BF8 63CC}\n",
    NODES + "configure: {nvidia_repository: https://mirror.example:8443/cuda/repos/}\n",
    NODES + "configure: {nvidia_runtime: containerd, memory_guard: true}\n", NODES + "configure: {nvidia_runtime: [docker, crio]}\n",
    NODES + "configure: {mig: [{instances: {3g.40gb: 1, 1g.10gb+me: 1}}]}\n",
    NODES + "configure: {mig: [{gpus: 0, instances: {7g.80gb: 1}}, {gpus: [1-2, 3], instances: {1g.10gb: 7}}]}\n",
    NODES + "configure: {gpu_sharing: {method: time-slices, replicas: 4}}\n",
    NODES + "configure: {gpu_sharing: {method: mps, active_threads: 25, pinned_memory: 8 GiB}}\n",
    NODES + "parts:\n  switches: [{model: Mellanox IS5022, ports: 8, speed: 40G}]\n"
            "  cables: [{model: FS QSFP-PC02, quantity: 2, length: 2 m, medium: passive}]\n"
            "  adapters: [{model: ConnectX-4, slot: x8, pcie: 3, nodes: gpu1}]\n  gpus: [{model: Tesla T4, slot_watts: 75}]\n",
    NODES + "checks: [{name: home, run: [mountpoint, -q, /home]}]\n",
    NODES + "checks:\n  - {name: fans_2, run: [/opt/site/fans, 80], user: root, timeout: 300, nodes: gpu1, remedy: Call them.,\n"
            "     exit: {0: pass, 1: fail, 255: n/a}}\n",
    STORED + "storage: [" + EXPORT + "}]\n", STORED + "storage: [" + EXPORT + ", nqn: 'nqn.2026-01.com.example:a.b', shared: false}]\n",
    STORED + "storage: [" + SHARE + "}]\n", STORED + "storage: [" + SHARE + ", read_only: true, no_root_squash: false, nconnect: 16}]\n",
    STORED + "storage: [" + SHARE.replace("nfs-tcp", "nfs-rdma") + "}]\n",
]

REFUSED = [
    *(STORED + "storage: [" + SHARE.replace("/srv/x", path) + "}]\n" for path in
      ("/", "/etc", "/usr/local", "/var/lib", "/tmp", "srv", "/srv/", "/srv/../etc", "/srv//x", "/srv/$x", "'/srv/a b'")),
    STORED + "storage: [" + SHARE.replace("mount: /x, ", "") + "}]\n", STORED + "storage: [" + SHARE.replace("path: /srv/x, ", "") + "}]\n",
    *(STORED + "storage: [" + SHARE + ", " + more + "}]\n" for more in
      ("device: /dev/vdb", "shared: true", "nqn: 'nqn.2026-01.com.example:a'", "nconnect: 17", "nconnect: 0", "read_only: perhaps")),
    STORED + "storage: [" + SHARE.replace("nfs-tcp", "nfs-rdma") + ", nconnect: 2}]\n",
    STORED + "storage: [" + EXPORT.replace("device: /dev/vdb, ", "") + "}]\n", STORED + "storage: [" + EXPORT + ", nconnect: 2}]\n",
    STORED + "storage: {}\n", STORED + "storage: [" + EXPORT.replace("name: s, ", "") + "}]\n", STORED + "storage: [" + EXPORT + ", mount: /a}]\n",
    STORED + "storage: [" + EXPORT.replace("/dev/vdb", "vdb") + "}]\n", STORED + "storage: [" + EXPORT.replace("/dev/vdb", "/dev/../vdb") + "}]\n",
    STORED + "storage: [" + EXPORT.replace("vdb", ".vdb") + "}]\n", STORED + "storage: [" + EXPORT.replace("vdb", "vd//b") + "}]\n",
    STORED + "storage: [" + EXPORT.replace("nvme-tcp", "iscsi") + "}]\n", STORED + "storage: [" + EXPORT + ", nqn: vdb}]\n",
    STORED + "storage: [" + EXPORT + ", shared: perhaps}]\n",
    NODES + "checks: {}\n", NODES + "checks: [{name: a}]\n", NODES + "checks: [{run: [a]}]\n",
    NODES + "checks: [{name: A, run: [a]}]\n", NODES + "checks: [{name: a, run: a}]\n", NODES + "checks: [{name: a, run: []}]\n",
    NODES + "checks: [{name: a, run: [bin/a]}]\n", NODES + "checks: [{name: a, run: [a], user: -x}]\n",
    NODES + "checks: [{name: a, run: [a], timeout: 0}]\n", NODES + "checks: [{name: a, run: [a], timeout: 301}]\n",
    NODES + "checks: [{name: a, run: [a], exit: {256: pass}}]\n", NODES + "checks: [{name: a, run: [a], exit: {1: red}}]\n",
    NODES + "checks: [{name: a, run: [a, [b]]}]\n", NODES + "checks: [{name: a, run: [a], every: 5}]\n",
    "nodes: []\n", "nodes: gpu1\n", "nodes: [[gpu1]]\n", "nodes: [{ssh: gpu1}]\n", "nodes: [{name: gpu1, adress: b}]\n",
    "nodes: [größe]\n", "nodes: [{name: gpu1, local: perhaps}]\n", "nodes: [{name: c, ssh: -oProxyCommand=x}]\n",
    NODES + "raisl: []\n", NODES + "rails: {}\n", NODES + "rails: [{subnet: 10.0.0.0/24}]\n",
    NODES + "fabric: rocee\n", NODES + "topology: ring\n", NODES + "mtu: 900\n", NODES + "mtu: 70000\n", NODES + "speed: 40\n",
    NODES + "speed: 40 GB/s\n", NODES + "speed: 1.2.3 Gb/s\n", NODES + "vlan: 4095\n", NODES + "rdma_driver: mlx5\n",
    NODES + "rails:\n" + RAIL + ", typo: 1}\n",
    NODES + "rails: [{name: r0, interface: e/2, subnet: 10.2.0.0/24, first_address: 10.2.0.1}]\n",
    NODES + "rails: [{name: r0, interface: a-name-that-is-too-long, subnet: 10.2.0.0/24, first_address: 10.2.0.1}]\n",
    NODES + "rails: [{name: r0, interface: e2, subnet: 10.2.0.0, first_address: 10.2.0.1}]\n",
    NODES + "rails: [{name: r0, interface: e2, subnet: 10.2.0.0/24, first_address: 10.2.0}]\n",
    NODES + "rails: [{name: r0, interface: e2, subnet: 10.2.0.0/24, first_address: somewhere}]\n",
    NODES + "ssh: ops\n", NODES + "ssh: {usr: ops}\n", NODES + "ssh: {user: a b}\n", NODES + "ssh: {user: -ops}\n",
    NODES + "bmc: {protocol: ilo}\n", NODES + "bmc: {cipher: 0}\n",
    NODES + "expect: {gpus: many}\n", NODES + "expect: {gpus: -1}\n", NODES + "expect: {gpu: 8}\n", NODES + "expect: {memory: 64}\n",
    NODES + "expect: {memory: 64 bananas}\n", NODES + "expect: {traffic_class: 300}\n", NODES + "expect: {governor: perfomance}\n",
    NODES + "expect: {fraction_of_ceiling: 0}\n", NODES + "expect: {fraction_of_ceiling: 90}\n", NODES + "expect: {venv: opt}\n",
    NODES + "expect: {checkpoint_path: ckpt}\n", NODES + "expect: {mig: maybe}\n", NODES + "expect: {cuda_toolkit: new}\n",
    NODES + "expect: {nccl: new}\n", NODES + "expect: {container_runtime: lxc}\n", NODES + "expect: {driver: []}\n",
    NODES + "configure: {network: ifupdown}\n", NODES + "configure: {management_address: 192.168.1.70}\n",
    NODES + "configure: {pfc_priority: 8}\n", NODES + "configure: {console: tty1}\n", NODES + "configure: {console_rate: 1200}\n",
    NODES + 'configure: {user: "Ops; rm"}\n', NODES + "configure: {authorized_keys: 'command=\"x\" ssh-rsa A'}\n",
    NODES + "configure: {nvidia_runtime: podman}\n", NODES + "configure: {nvidia_runtime: [docker, true]}\n",
    NODES + "configure: {mig: {}}\n", NODES + "configure: {mig: [{gpus: 0}]}\n", NODES + "configure: {mig: [{instances: {}}]}\n",
    NODES + "configure: {mig: [{gpus: first, instances: {3g.40gb: 1}}]}\n", NODES + "configure: {mig: [{instances: {3g.40gb: 8}}]}\n",
    NODES + "configure: {mig: [{instances: {half: 2}}]}\n", NODES + "configure: {mig: [{instances: [3g.40gb]}]}\n",
    NODES + "configure: {mig: [{gpu: 0, instances: {3g.40gb: 1}}]}\n",
    NODES + "configure: {gpu_sharing: {method: slices}}\n", NODES + "configure: {gpu_sharing: {replicas: 4}}\n",
    NODES + "configure: {gpu_sharing: {method: mps, replicas: 1}}\n", NODES + "configure: {gpu_sharing: {method: mps, active_threads: 101}}\n",
    NODES + "configure: {gpu_sharing: {method: mps, pinned_memory: much}}\n", NODES + "configure: {gpu_sharing: mps}\n",
    NODES + "configure: {driver_kind: nouveau}\n", NODES + "configure: {nvidia_key: 3BF863CC}\n",
    NODES + "configure: {nvidia_repository: https://me:word@mirror.example/x}\n",
    NODES + "configure: {nvidia_repository: ftp://mirror.example/x}\n", NODES + "configure: {management_gateway: gateway}\n",
    NODES + "parts: {gpu: []}\n", NODES + "parts: {switches: [{ports: 8}]}\n", NODES + "parts: {switches: [{model: x, ports: 0}]}\n",
    NODES + "parts: {cables: [{model: x, quantity: 2, length: 2 feet}]}\n", NODES + "parts: {cables: [{model: x}]}\n",
    NODES + "parts: {cables: [{model: x, quantity: 2, medium: glas}]}\n", NODES + "parts: {adapters: [{model: y, slot: 8}]}\n",
]

# About two places at once.
BETWEEN = [
    STORED + "storage: [" + EXPORT.replace("gpu2", "gpu1") + "}]\n", STORED + "storage: [" + EXPORT + "}, " + EXPORT.replace("name: s", "name: t") + "}]\n",
    "nodes: [a, a]\n", "nodes: [{name: a, local: true, ssh: a}]\n", 'nodes: [{name: "n[1-3]", ssh: "s[1-2]"}]\n',
    NODES + "rails: [{name: r0, interface: e2}]\n", NODES + "rails: [{name: r0}]\n",
    NODES + "rails: [{name: r0, interface: e2, subnet: 10.2.0.0/24, first_address: 10.9.0.1}]\n",
    NODES + "rails:\n" + RAIL + "}\n" + RAIL.replace("r0", "r1").replace("ens1", "ens2") + "}\n",
    NODES + "rails:\n" + RAIL + ", nodes: gpu9}\n",
    NODES + "configure: {mig: [{gpus: 0, instances: {3g.40gb: 1}}, {gpus: 0-1, instances: {7g.80gb: 1}}]}\n",
    NODES + "configure: {mig: [{gpus: 0, instances: {3g.40gb: 1}}, {instances: {7g.80gb: 1}}]}\n",
    NODES + "configure: {gpu_sharing: {method: time-slices}}\n",
    NODES + "configure: {gpu_sharing: {method: mps, replicas: 4, active_threads: 25}}\n",
    NODES + "parts: {gpus: [{model: T4, nodes: gpu9}]}\n",
    NODES + "checks: [{name: a, run: [a], nodes: gpu9}]\n", NODES + "checks: [{name: a, run: [a]}, {name: a, run: [b]}]\n",
    NODES + "checks:\n  - {name: a, run: [a], timeout: 300}\n  - {name: b, run: [a], timeout: 300, nodes: gpu1}\n"
            "  - {name: c, run: [a], timeout: 1}\n",
]


def files():
    listed = subprocess.run(["git", "ls-files", "*.yaml"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else [str(one.relative_to(ROOT)) for one in ROOT.glob("examples/**/*.yaml")]
    found = [ROOT / name for name in names if (ROOT / name).exists()]
    return [one for one in found if "\nrailbed:" in "\n" + one.read_text(errors="replace")]


def with_text_keys(value):
    """JSON has no other keys than texts: editors read 0: as "0":."""
    if isinstance(value, dict):
        return {str(key): with_text_keys(item) for key, item in value.items()}
    return [with_text_keys(item) for item in value] if isinstance(value, list) else value


def refused_by_schema(text):
    return not jsonschema.Draft202012Validator(SCHEMA).is_valid(with_text_keys(yaml.safe_load(text)))


class Schema(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.file = pathlib.Path(kept.name) / "cluster.yaml"

    def refused_by_check(self, text):
        self.file.write_text(text)
        done = subprocess.run([RAILBED, "check", self.file], capture_output=True, text=True, timeout=60)
        self.assertIn(done.returncode, (0, 1, 2, 64), done.stderr)
        return done.returncode == 64

    def test_it_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_files_of_the_repository(self):
        self.assertGreater(len(files()), 5)
        for file in files():
            text = file.read_text()
            with self.subTest(str(file.relative_to(ROOT))):
                self.assertEqual(refused_by_schema(text), self.refused_by_check(text))

    def judge(self, texts, schema, check):
        for rest in texts:
            with self.subTest(rest):
                self.assertEqual((refused_by_schema(HEAD + rest), self.refused_by_check(HEAD + rest)), (schema, check))

    def test_what_both_take(self):
        self.judge(TAKEN, False, False)

    def test_what_both_refuse(self):
        self.judge(REFUSED, True, True)

    def test_what_check_alone_can_refuse(self):
        self.judge(BETWEEN, False, True)

    def test_the_version(self):
        for head in ("cluster: lab\n", "railbed: 2\ncluster: lab\n", "railbed: 1\n"):
            self.assertTrue(refused_by_schema(head + NODES) and self.refused_by_check(head + NODES), head)


if __name__ == "__main__":
    unittest.main()
