#!/usr/bin/env python3
"""`railbed fabric topology` and `railbed advise rails --topology`, read by the packaged slurmctld: it takes the file without a complaint, and
`scontrol show topology` has the same switches and nodes. Skips itself without slurmctld, scontrol and munge."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

RAILBED = os.environ["RAILBED"]
NEEDED = ("slurmctld", "scontrol")
if not all(shutil.which(one, path=os.environ["PATH"] + ":/usr/sbin") for one in NEEDED):
    print("without slurmctld nothing reads topology.conf: skipped")
    sys.exit(77)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def dump(rails, groups):
    """A subnet of ibnetdiscover's form: groups of three hosts, RAILS leaves each, one spine."""
    leaf = lambda g, r: f"S-00000000001{g}{r:03x}"
    lines, spine = [], [f'Switch\t64 "S-0000000000200000"\t\t# "MF0;spine:MQM8700/U1" enhanced port 0 lid 1 lmc 0']
    lid = 2
    for g in range(groups):
        for r in range(rails):
            spine.append(f'[{g * rails + r + 1}]\t"{leaf(g, r)}"[40]\t\t# "leaf{g}-{r}" lid 9 4xHDR')
            lines.append(f'Switch\t41 "{leaf(g, r)}"\t\t# "leaf{g}-{r}" enhanced port 0 lid {lid} lmc 0')
            lid += 1
            for h in range(3):
                lines.append(f'[{h + 1}]\t"H-0000000003{g:02x}{h:02x}{r:02x}"[1](3{g:02x}{h:02x}{r:02x}1) \t\t# "gpu{g * 3 + h:02} mlx5_{r}" lid {lid} 4xHDR')
                lid += 1
            lines.append(f'[40]\t"S-0000000000200000"[{g * rails + r + 1}]\t\t# "MF0;spine:MQM8700/U1" lid 1 4xHDR')
            lines.append("")
    hosts = []
    for g in range(groups):
        for h in range(3):
            for r in range(rails):
                hosts.append(f'Ca\t1 "H-0000000003{g:02x}{h:02x}{r:02x}"\t\t# "gpu{g * 3 + h:02} mlx5_{r}"\n'
                             f'[1](3{g:02x}{h:02x}{r:02x}1) \t"{leaf(g, r)}"[{h + 1}]\t\t# lid 7 lmc 0 "leaf{g}-{r}" lid 9 4xHDR\n')
    return "\n".join(spine) + "\n\n" + "\n".join(lines) + "\n" + "\n".join(hosts)


class Topology(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = pathlib.Path(kept.name)

    def railbed(self, *words):
        done = subprocess.run([RAILBED, *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def read_by_slurm(self, topology, nodes):
        """Returns the lines of scontrol, and slurmctld's log."""
        (self.folder / "topology.conf").write_text(topology)
        key = self.folder / "key"
        key.write_bytes(os.urandom(64))
        port = free_port()
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(f"""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CryptoType=crypto/none
CredType=cred/none
TopologyPlugin=topology/tree
SelectType=select/cons_tres
SlurmctldPort={port}
SlurmdPort={free_port()}
StateSaveLocation={self.folder}
SlurmctldPidFile={self.folder}/pid
SlurmctldLogFile={self.folder}/log
ReturnToService=2
NodeName={nodes} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES
""")
        env = os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin"}
        daemon = subprocess.Popen(["slurmctld", "-D", "-c"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                shown = subprocess.run(["scontrol", "show", "topology"], env=env, capture_output=True, text=True, timeout=30)
                if shown.returncode == 0 and "SwitchName" in shown.stdout:
                    break
                if daemon.poll() is not None:
                    break
                time.sleep(0.1)
        finally:
            daemon.terminate()
            daemon.wait(timeout=30)
        log = (self.folder / "log").read_text() if (self.folder / "log").exists() else ""
        return shown.stdout, shown.stderr, log

    def test_slurm_reads_a_subnet_in_rails(self):
        (self.folder / "dump").write_text(dump(rails=4, groups=2))
        text = self.railbed("fabric", "topology", "--from", self.folder / "dump")
        self.assertIn("SwitchName=leaf0-0-to-leaf0-3 Nodes=gpu[00-02]\n", text)
        shown, error, log = self.read_by_slurm(text, "gpu[00-05]")
        if "SwitchName" not in shown and ("auth" in log or "plugin" in log):
            self.skipTest("this slurmctld does not start without munge: " + log[-300:])
        self.assertIn("SwitchName=leaf1-0-to-leaf1-3 Level=0", shown, error + log)
        self.assertIn("Nodes=gpu[03-05]", shown)
        self.assertIn("Level=1", shown)
        for word in ("topology", "switch"):
            for line in log.splitlines():
                self.assertFalse("error" in line and word in line.lower(), line)

    def test_yaml_and_labels(self):
        (self.folder / "dump").write_text(dump(rails=2, groups=2))
        text = self.railbed("fabric", "topology", "--from", self.folder / "dump", "--format", "slurm-yaml")
        self.assertIn('      - switch: "leaf0-0-to-leaf0-1"\n        nodes: "gpu[00-02]"\n', text)
        try:
            import yaml
            tree = yaml.safe_load(text)[0]
            self.assertEqual((tree["topology"], tree["cluster_default"]), ("railbed", True))
            self.assertEqual(len(tree["tree"]["switches"]), 3)
        except ImportError:
            pass
        labels = self.railbed("fabric", "topology", "--from", self.folder / "dump", "--format", "kubernetes")
        self.assertIn("kubectl label --overwrite nodes gpu00 gpu01 gpu02 network.topology.nvidia.com/leaf=leaf0-0-to-leaf0-1 "
                      "network.topology.nvidia.com/spine=MF0-spine-MQM8700-U1\n", labels)
        self.assertEqual(subprocess.run(["sh", "-n"], input=labels, text=True).returncode, 0)

    def test_a_plan(self):
        text = self.railbed("advise", "rails", "--nodes", "64", "--rails", "8", "--speed", "400G", "--topology", "slurm")
        self.assertIn("SwitchName=", text)
        done = subprocess.run([RAILBED, "advise", "rails", "--topology", "slurm"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertIn("no switch has a node", done.stderr)


if __name__ == "__main__":
    unittest.main()
