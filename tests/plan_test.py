#!/usr/bin/env python3
"""railbed plan and render as a user meets them: a machine that has what is asked for gets an empty plan, and what was
rendered, once it lies there, is what plan wants."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

RAILBED = os.environ["RAILBED"]
MACHINES = pathlib.Path(__file__).resolve().parent / "machines"
CLUSTER = """\
railbed: 1
cluster: pair
expect: {os: debian 12, socket_buffer: 256 MiB}
nodes: [gpu1, gpu2]
rails: [{name: rail0, subnet: 10.0.0.0/24, interface: ens6, first_address: 10.0.0.1, fabric: ethernet}]
"""
SECTIONS = "hosts,sysctl"  # what a folder that looks like a root can hold


class Plan(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.cluster = self.path / "cluster.yaml"
        self.cluster.write_text(CLUSTER)
        self.root = self.path / "gpu1"
        (self.root / "etc").mkdir(parents=True)
        (self.root / "etc/os-release").write_text("ID=debian\nVERSION_ID=12\n")
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost\n")

    def tearDown(self):
        self.folder.cleanup()

    def run_railbed(self, *words):
        return subprocess.run([RAILBED, *words], capture_output=True, text=True, timeout=60)

    def plan(self, *words):
        answer = self.run_railbed("plan", str(self.cluster), "gpu1", "--root", str(self.root), "--only", SECTIONS,
                                  "--json", *words)
        self.assertIn(answer.returncode, (0, 1), answer.stderr)
        return answer.returncode, json.loads(answer.stdout)["nodes"][0]

    def files(self, *words):
        return {file["path"]: file for change in self.plan(*words)[1]["changes"] for file in change["files"]}

    def put(self, files):
        for path, file in files.items():
            target = self.root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file["after"])

    def test_what_it_wants_is_all_that_it_wants(self):
        code, plan = self.plan()
        self.assertEqual(code, 1)
        files = self.files()
        self.assertIn("/etc/hosts", files)
        self.assertTrue(files["/etc/hosts"]["after"].startswith("127.0.0.1 localhost\n"))
        self.put(files)
        self.assertEqual(self.plan()[0], 0, self.plan())

    def test_what_a_person_edited_is_held(self):
        self.put(self.files())
        path = self.root / "etc/sysctl.d/99-zz-railbed.conf"
        path.write_text(path.read_text().replace("net.core.rmem_max = 268435456", "net.core.rmem_max = 1"))
        held = [change["held"] for change in self.plan()[1]["changes"]]
        self.assertTrue(any("edited by hand" in one for one in held), held)
        self.assertTrue(all(one == "" for one in [c["held"] for c in self.plan("--take-over")[1]["changes"]]))

    def test_render_writes_below_a_folder(self):
        to = self.path / "rendered"
        answer = self.run_railbed("render", str(self.cluster), "--only", SECTIONS, "--to", str(to))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertTrue((to / "gpu2/etc/sysctl.d/99-zz-railbed.conf").is_file())

    def test_a_machine_that_cannot_be_planned_is_named(self):
        (self.root / "etc/os-release").write_text("ID=plan9\n")
        code = self.run_railbed("plan", str(self.cluster), "gpu1", "--root", str(self.root))
        self.assertEqual(code.returncode, 3)
        self.assertIn("plan9", code.stdout)

    def test_this_machine_through_its_agent(self):
        self.cluster.write_text("railbed: 1\ncluster: here\nexpect: {socket_buffer: 256 MiB}\n"
                                "nodes: [{name: me, local: true}]\n")
        answer = self.run_railbed("plan", str(self.cluster), "--only", "sysctl", "--json")
        self.assertIn(answer.returncode, (0, 1), answer.stderr)
        node = json.loads(answer.stdout)["nodes"][0]
        self.assertEqual(node["error"], "")
        self.assertEqual(len(node["changes"]) + len(node["met"]), 1)

    def captured(self, machine):
        """A folder of trees like the machine's own, without its cluster.yaml, that files can be laid in."""
        trees = self.path / machine
        trees.mkdir()
        for tree in (MACHINES / machine).glob("*.tree"):
            (trees / tree.name).write_text(f"railbed-tree 1\nbase: {os.path.relpath(tree, trees)}\n")
        return trees

    def init(self, trees):
        answer = self.run_railbed("init", "--root", str(trees), "--name", "seen", "-o", "-")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer.stdout

    def changes(self, trees):
        """(node, change) of all that init's proposal wants."""
        self.cluster.write_text(self.init(trees))
        answer = self.run_railbed("plan", str(self.cluster), "--root", str(trees), "--json")
        changes = [(node["node"], change) for node in json.loads(answer.stdout)["nodes"] for change in node["changes"]]
        self.assertEqual(answer.returncode, 1 if changes else 0, answer.stderr)
        return changes

    def test_the_cluster_that_is_named_counts(self):
        answer = self.run_railbed("plan", str(self.cluster), "--root", str(MACHINES / "v100-cx3pro"), "--json")
        self.assertEqual([node["node"] for node in json.loads(answer.stdout)["nodes"]], ["gpu1", "gpu2"])

    def test_init_and_plan_want_nothing_of_a_configured_host(self):
        for machine in ("spark-two-rails", "v100-cx3pro", "r730-cx4"):  # netplan, netplan, NetworkManager
            with self.subTest(machine):
                trees = self.captured(machine)
                proposed = self.init(trees)
                wanted = self.changes(trees)
                self.assertTrue(wanted)
                for node, change in wanted:
                    with open(trees / f"{node}.tree", "a") as tree:
                        for file in change["files"]:
                            tree.write(f"{file['path']} <<END_OF_FILE\n{file['after']}END_OF_FILE\n")
                self.assertEqual(self.changes(trees), [])
                self.assertEqual(self.init(trees), proposed)


if __name__ == "__main__":
    unittest.main(verbosity=0)
