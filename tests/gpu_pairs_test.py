#!/usr/bin/env python3
"""railbed bench pairs over NCCL, and the compute rates of bench gpu, on GPUs made for it (src/bench/testing/fake_gpu.cc,
the first argument). The stand-in for ssh starts an agent on this machine, in a mount namespace with these GPUs on PCI;
needs root."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import guardian

RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
FAKE = pathlib.Path(sys.argv.pop(1)).resolve()
PATIENCE = 300  # seconds: a limit, not an expectation
SIDE = ("--side", "64")
PCI = pathlib.Path("/sys/bus/pci/devices")
DRIVER = ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22)\n"
          "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n")
OTHERS = ("CUDA_", "NCCL_", "RAILBED_FAKE")


def gpu(folder):
    folder.mkdir(parents=True)
    for name, text in {"class": "0x030200", "vendor": "0x10de", "device": "0x2335", "subsystem_vendor": "0x10de",
                       "subsystem_device": "0x18be", "numa_node": "-1"}.items():
        (folder / name).write_text(text + "\n")


@unittest.skipUnless(os.geteuid() == 0 and PCI.is_dir(), "needs root and PCI")
class GpuPairs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="railbed-gpu-pairs-")
        self.addCleanup(self.folder.cleanup)
        root = self.root = pathlib.Path(self.folder.name)
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcublasLt.so.12", "libnccl.so.2"):
            (root / name).symlink_to(FAKE)
        for folder in ("halls", "bin", "none"):
            (root / folder).mkdir()
        for bus in ("1a", "1b", "1c"):
            gpu(root / f"pci/0000:{bus}:00.0")
        (root / "driver/nvidia").mkdir(parents=True)
        (root / "driver/nvidia/version").write_text(DRIVER)
        # The last words before the script are the node's name. gpu3 is slow if slow.txt says so, and bare has no GPU.
        (root / "bin/ssh").write_text(f"""#!/bin/sh
pci='{root}/pci'
case "$*" in
  *gpu3*) if [ -e '{root}/slow' ]; then export RAILBED_FAKE_FAULT=slow; fi ;;
  *bare*) pci='{root}/none' ;;
esac
exec unshare -m sh -c 'mount --make-rprivate / && mount --bind "$1" {PCI} && mount --bind "$2" /proc/driver && exec "$3" agent' \\
  - "$pci" '{root}/driver' '{RAILBED}'
""")
        (root / "bin/ssh").chmod(0o755)
        usual = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        self.environment = usual | {"LD_LIBRARY_PATH": str(root), "RAILBED_FAKE_FOLDER": str(root / "halls"),
                                    "HOME": str(root), "XDG_STATE_HOME": str(root / "state"), "LC_ALL": "C.UTF-8",
                                    "PATH": f"{root}/bin:{os.environ['PATH']}"}

    def railbed(self, *words):
        done = subprocess.run([RAILBED, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.root,
                              env=self.environment, timeout=PATIENCE)
        return done.returncode, done.stdout, done.stderr

    def pairs(self, names, *words, fabric="ethernet"):
        ports = "".join(f"      {name}: {{interface: eth0, address: 10.0.0.{number}}}\n"
                        for number, name in enumerate(names, 1))
        (self.root / "cluster.yaml").write_text(
            f"railbed: 1\ncluster: pairs\nfabric: {fabric}\nnodes: [{', '.join(names)}]\nrails:\n  - name: rail0\n"
            f"    subnet: 10.0.0.0/24\n    ports:\n{ports}")
        return self.railbed("bench", "pairs", "cluster.yaml", "--engine", "nccl",
                            *(() if "--size" in words else ("--size", "1M")), *words)

    def test_the_slow_node_is_named(self):
        (self.root / "slow").touch()
        code, out, err = self.pairs(("gpu1", "gpu2", "gpu3", "gpu4"), "--tolerance", "60", "--json")
        self.assertEqual(code, 2, out + err)
        rail, = json.loads(out)["rails"]
        self.assertEqual((rail["engine"], rail["failures"], rail["notes"]), ("collective", [], []))
        self.assertEqual(len(rail["report"]["pairs"]), 12)
        slow = [(one["kind"], rail["nodes"][one["node"]]) for one in rail["report"]["slow"] if one["confirmed"]]
        self.assertEqual(slow, [("node", "gpu3")])

    def test_both_directions_are_kept_and_a_fall_back_to_tcp_is_noted(self):
        code, out, err = self.pairs(("gpu1", "gpu2"), fabric="roce")
        self.assertEqual(code, 0, out + err)
        self.assertIn("rail0, NCCL's broadcast: 2 nodes, 1 round", out)
        self.assertIn("note: NCCL uses TCP instead of RDMA: gpu1 has no RDMA device", out)
        code, out, err = self.railbed("runs", "export", "1")
        self.assertEqual(code, 0, err)
        measured = json.loads(out)["measurements"]
        self.assertEqual([(one["from"]["node"], one["to"]["node"]) for one in measured],
                         [("gpu1", "gpu2"), ("gpu2", "gpu1")])
        for one in measured:
            self.assertEqual(one["operation"], "broadcast float32, alone")
            self.assertGreater(one["summary"]["median"], 0)
            self.assertGreater(one["checked_bytes"], 0)

    def test_nodes_without_a_gpu(self):
        code, out, err = self.pairs(("gpu1", "bare1", "gpu2"))
        self.assertEqual(code, 2, out + err)
        self.assertIn("bare1 could be measured with nobody", out)
        self.assertIn("railbed bench ladder bare1 gpu1 --rail rail0", out)
        self.assertIn("no number: gpu1 → bare1: bare1 has no NVIDIA GPU", out)
        code, out, err = self.pairs(("gpu1", "bare1"))
        self.assertEqual((code, out), (3, ""), err)
        self.assertIn("rail0: GPUs of two nodes are needed; bare1 has no NVIDIA GPU", err)

    def test_options_that_do_not_fit(self):
        for words, why in ((("--streams", "4"), "--streams: NCCL chooses this itself"),
                           (("--memory", "gpu"), "--engine nccl uses GPUs' memory anyway"),
                           (("--size", "64"), "--size 64: write 256M, from 1M to 64G")):
            code, out, err = self.pairs(("gpu1", "gpu2"), *words)
            self.assertEqual((code, out), (64, ""), err)
            self.assertIn(why, err)

    def test_compute_rates(self):
        code, out, err = self.railbed("bench", "gpu", "--compute", "gpu1", "gpu2", "--seconds", "1", *SIDE)
        self.assertIn(code, (0, 2), out + err)  # the processors that play GPUs have other work, too
        self.assertIn("full load on 6 GPUs of 2 nodes", err)
        self.assertRegex(out, r"(?m)^compute rates of 6 GPUs on 2 nodes, 4 s: ")
        self.assertRegex(out, r"(?m)^  node +GPU +bf16 +fp16 +fp8 +fp64 +W ")
        code, out, err = self.railbed("bench", "gpu", "--compute", "gpu1:0,1", "--seconds", "1", "--json", "--no-store",
                                      *SIDE)
        self.assertIn(code, (0, 2), out + err)
        compute = json.loads(out)["compute"]
        self.assertEqual([one["phase"] for one in compute["families"]], ["bf16", "fp16", "fp8", "fp64"])
        code, out, err = self.railbed("bench", "gpu", "--compute", "gpu1", "--gpus", "0,2", "--seconds", "1", "--json",
                                      "--no-store", *SIDE)
        self.assertIn(code, (0, 2), out + err)
        self.assertEqual([one["ordinal"] for one in json.loads(out)["compute"]["nodes"][0]["gpus"]], [0, 2])
        # The processor needs longer than a turn for one product of this size.
        code, out, err = self.railbed("bench", "gpu", "--compute", "gpu1:0", "--seconds", "1", "--no-store", "--side", "8192")
        self.assertEqual(code, 3, out + err)
        self.assertIn("UNKNOWN no result in bf16, fp16, fp8, fp64 on 1 GPU: its turns were too short for one", out)
        for words, why in ((("gpu1", "gpu2"), "copies are measured on one NODE; --compute takes many"),
                           (("--compute", "gpu1", "gpu1"), "gpu1 is named twice"),
                           (("--compute", "--size", "1M"), "--size does not go with --compute"),
                           (("--seconds", "2"), "--seconds requires --compute")):
            code, out, err = self.railbed("bench", "gpu", *words)
            self.assertEqual((code, out), (64, ""), err)
            self.assertIn(why, err)


if __name__ == "__main__":
    guardian.begin()
    unittest.main(verbosity=2)
