#!/usr/bin/env python3
"""Each document that a command prints with --json has the schema that `railbed schema` prints of it, and no field that the schema
lacks; schema/ holds these schemas. Errors are documents, too. Skips itself without jsonschema.

UPDATE_GOLDEN=1 writes schema/ anew."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

try:
    import jsonschema
except ImportError:
    print("without jsonschema nothing reads a schema: skipped")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAILBED = os.environ["RAILBED"]
SCHEMAS = ROOT / "schema"
OF_FILES = {"cluster.schema.json"}  # of what people write
# Printed by commands that need what is not here; the tests in brackets look at the document.
ELSEWHERE = {
    "railbed-apply",  # nodes that may be changed (apply_rails_test)
    "railbed-bench-collectives", "railbed-bench-gpu", "railbed-bench-train",  # GPUs (ranks_test)
    "railbed-bmc", "railbed-bmc-certificates", "railbed-bmc-changes",  # BMCs (bmc_test, redfish_test)
    "railbed-fabric-counters", "railbed-subnet-managers",  # a live subnet (fabric_subnet_test)
    "railbed-history", "railbed-reboot",  # nodes that were changed (apply_rails_test, reboot_test)
    "railbed-hostkeys",  # an sshd (host_keys_fleet_test)
    "railbed-nccl-ras",  # a running job (ras_test)
}
SUBNET = """vendid=0x2c9
devid=0xd2f0
sysimgguid=0x2c902004885ab
switchguid=0x2c902004885a8(2c902004885a8)
Switch	8 "S-0002c902004885a8"		# "leaf0" base port 0 lid 1 lmc 0
[1]	"H-0002c9030010aa00"[1](2c9030010aa01) 		# "node1 mlx5_0" lid 2 4xHDR
[2]	"H-0002c9030010aa10"[1](2c9030010aa11) 		# "node2 mlx5_0" lid 3 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0x2c9030010aa03
caguid=0x2c9030010aa00
Ca	1 "H-0002c9030010aa00"		# "node1 mlx5_0"
[1](2c9030010aa01) 	"S-0002c902004885a8"[1]		# lid 2 lmc 0 "leaf0" lid 1 4xHDR

caguid=0x2c9030010aa10
Ca	1 "H-0002c9030010aa10"		# "node2 mlx5_0"
[1](2c9030010aa11) 	"S-0002c902004885a8"[2]		# lid 3 lmc 0 "leaf0" lid 1 4xHDR
"""


def run(*words, folder, code=None, feed=None):
    done = subprocess.run([RAILBED, *map(str, words)], capture_output=True, text=True, timeout=120, cwd=folder, input=feed,
                          stdin=subprocess.DEVNULL if feed is None else None,
                          env=os.environ | {"XDG_STATE_HOME": str(folder), "HOME": str(folder)})
    if code is not None and done.returncode not in code:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


def distinct(pairs):
    """An object of a document; a member that is there twice is an error."""
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise AssertionError(f"a member is there twice: {names}")
    return dict(pairs)


def closed(schema):
    """The same schema, which refuses members that it does not name."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(one) for name, one in schema.items()}
    if schema.get("type") == "object" and "properties" in schema and "$ref" not in schema:
        copy["additionalProperties"] = False
    return copy


def whole(schema):
    """A schema whose head and whose fields, which are a definition, are one object: so that it can be closed."""
    if "$ref" not in schema:
        return schema
    fields = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return {"type": "object", "properties": {**fields["properties"], **schema["properties"]},
            "required": sorted({*fields["required"], *schema["required"]}), "$defs": schema["$defs"]}


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.formats = [line.split()[0] for line in run("schema", folder=cls.folder.name, code=[0]).stdout.splitlines()]
        cls.schemas = {one: json.loads(run("schema", one, folder=cls.folder.name, code=[0]).stdout) for one in cls.formats}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def judged(self, text):
        """The document, after it was held to its schema."""
        document = json.loads(text, object_pairs_hook=distinct)
        self.assertEqual(list(document)[:2], ["format", "version"], text[:200])
        schema = closed(whole(self.schemas[document["format"]]))
        validator = jsonschema.Draft202012Validator(schema)
        faults = [f"{'/'.join(map(str, one.absolute_path))}: {one.message[:300]}" for one in validator.iter_errors(document)]
        self.assertEqual(faults[:5], [], document["format"])
        return document

    def test_schemas_are_those_of_the_repository(self):
        for one in self.formats:
            jsonschema.Draft202012Validator.check_schema(self.schemas[one])
            # A field of the head's names would hide the head.
            fields = self.schemas[one].get("$ref", "").rpartition("/")[2]
            named = self.schemas[one]["$defs"].get(fields, {}).get("properties", {})
            self.assertNotIn("format", named, one)
            if one not in ("railbed-facts", "railbed-job", "railbed-run"):  # also files, whose version is the head's
                self.assertNotIn("version", named, one)
            file = SCHEMAS / f"{one.removeprefix('railbed-')}.schema.json"
            text = run("schema", one, folder=self.folder.name).stdout
            if os.environ.get("UPDATE_GOLDEN"):
                file.write_text(text)
            self.assertTrue(file.exists(), f"{file.name} is missing: UPDATE_GOLDEN=1 writes it")
            self.assertEqual(text, file.read_text(), f"{file.name}: UPDATE_GOLDEN=1 writes it")
        there = {file.name for file in SCHEMAS.glob("*.json")} - OF_FILES
        self.assertEqual(there, {f"{one.removeprefix('railbed-')}.schema.json" for one in self.formats})

    def test_every_document_is_declared(self):
        """A document that a command prints and `railbed schema` does not know has no schema and no page."""
        named = re.compile(r'Document<[^;{]*>\s+k\w+Document\{\s*"(railbed-[a-z-]+)"')
        in_source = {one for file in (ROOT / "src").rglob("*") if file.suffix in (".cc", ".h") for one in named.findall(file.read_text())}
        self.assertEqual(sorted(in_source), sorted(self.formats))
        for one, schema in self.schemas.items():
            self.assertTrue(schema["description"] and schema["x-printed-by"], f"{one} needs a row of kAbout in src/cli/look/schema.cc")

    def test_the_pages_have_the_members(self):
        words = [sys.executable, ROOT / "scripts/document-tables"]
        if not os.environ.get("UPDATE_GOLDEN"):
            words.append("--check")
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_tables_by_hand_name_the_members(self):
        """Behind a mark `members: FORMAT PATH` the first column of a table names each member of the object, and no other."""
        page = (ROOT / "docs/reference/output.md").read_text()
        marks = re.findall(r"<!-- members: (\S+)(?: (\S+))? -->\n((?:\|.*\n)+)", page)
        self.assertEqual(len(marks), page.count("<!-- members: "))
        self.assertGreater(len(marks), 2)
        for document, path, table in marks:
            with self.subTest(f"{document} {path}"):
                schema = whole(self.schemas[document])
                named = set()
                for row in table.splitlines()[2:]:
                    first, second = (one.strip() for one in row.strip("|").replace("\\|", "/").split("|", 1))
                    for name in re.findall("`([^`]+)`", first):
                        members, _ = self.members(schema, name if not path else f"{path}.{name}")
                        named.add(name.partition(".")[0].removesuffix("[]"))
                        for word in re.findall(r"`(\w+)(?:\[\])?`", second) if members else []:
                            self.assertIn(word, members, f"{name}: {second}")
                _, there = self.members(schema, path)
                self.assertEqual(named, there - {"format", "version"})

    def members(self, schema, path):
        """The names of all members below a path at any depth, and those of its object."""
        def object_of(part):
            while True:
                if "$ref" in part and "properties" not in part:
                    part = schema["$defs"][part["$ref"].rpartition("/")[2]]
                elif "anyOf" in part:
                    part = part["anyOf"][0]
                elif "items" in part:
                    part = part["items"]
                else:
                    return part

        def all_below(part, depth=4):
            names = set()
            for name, member in object_of(part).get("properties", {}).items() if depth else ():
                names |= {name} | all_below(member, depth - 1)
            return names

        part = schema
        for name in path.split(".") if path else ():
            properties = object_of(part).get("properties", {})
            self.assertIn(name.removesuffix("[]"), properties, f"{path} is no member")
            part = properties[name.removesuffix("[]")]
        return all_below(part), set(object_of(part).get("properties", {}))

    def test_documents_have_their_schema(self):
        folder = pathlib.Path(self.folder.name)
        sick = ROOT / "examples/sick-pair"
        pair = [sick / "cluster.yaml", "--root", sick]
        fabric = folder / "subnet.topo"
        fabric.write_text(SUBNET)
        log = ROOT / "tests/nccl/error-12.log"
        twins = ROOT / "examples/local-pair.yaml"
        measured = ROOT / "tests/captures/nccl-tests-all_reduce-2xH200.txt"
        (folder / "disk").mkdir()
        iperf3 = ROOT / "tests/foreign/iperf3-3.16-reverse.json"
        commands = [
            ("verify", *pair), ("verify", "--root", ROOT / "tests/machines/h100-cx7", "--all"),
            ("report", *pair, "-o", folder / "page.html"),
            ("facts", "--root", sick / "gpu01.tree"), ("facts", "--topology", "--root", sick / "gpu01.tree"),
            ("check", sick / "cluster.yaml"), ("check", ROOT / "examples/v100-pair.yaml"),
            ("explain", log), ("explain", ROOT / "tests/flight/missing"), ("explain", sick, log),
            ("explain", "--nccl-log", log), ("explain", "rdma.port-state"), ("explain", "xid"), ("explain", "xid", 79),
            ("explain", "sxid", 12028), ("rules",), ("self-check",),
            ("nccl", "--root", sick / "gpu01.tree"), ("nccl", "--log", log),
            ("nccl", "--running", "--root", ROOT / "tests/running/nccl-conf.tree"),
            ("plan", *pair), ("render", sick / "cluster.yaml", "--root", sick), ("launch", "torchrun", *pair, "--", "train.py"),
            ("init", "--root", sick, "-o", folder / "found.yaml", "--force"),
            ("predict", "--gpu", "H100", "--nodes", 4, "--nic", "8x400ib"), ("predict", ROOT / "examples/v100-pair.yaml"),
            ("predict", "--gpu", "H200", "--gpus", 2, "--against", measured), ("predict", "--gpu", "H200", "--gpus", 2, "--calibrate", measured),
            ("predict", "train", "--gpu", "H100", "--gpus", 8, "--nodes", 2, "--nic", "8x400ib"),
            ("predict", "latency", "--speed", "40G", "--rdma", 0.85, "--tcp", 21.9),
            ("predict", "network", "--nodes", 64, "--rails", 8),
            ("predict", "experts", "--gpu", "H100", "--nodes", 2, "--nic", "8x400ib"),
            ("predict", "goodput", "--gpu", "H100", "--gpus", 8, "--nodes", 2, "--nic", "8x400ib", "--storage", "10 Gb/s"),
            ("advise", "matrix", "--gpu", "H100"), ("advise", "gpus", "V100", "B200"), ("advise", "switch", "--nodes", 16), ("advise", "upgrades", *pair),
            ("advise", "rails", "--nodes", 4, "--rails", 2),
            ("compare", iperf3, iperf3), ("events", "--all", "--state", ROOT / "tests/sessions/events"),
            ("fabric", "discover", "--from", fabric), ("fabric", "verify", "--from", fabric),
            ("fabric", "topology", "--from", fabric), ("top", "--root", sick / "gpu01.tree", "--state", folder / "state"),
            ("bench", "tcp", "here", "there", "--cluster", twins, "--seconds", "0.2", "--store", folder / "runs.sqlite"),
            ("bench", "pairs", twins, "--seconds", "0.2", "--no-store"),
            ("bench", "ladder", "here", "there", "--cluster", twins, "--seconds", "0.2", "--no-store"),
            ("burn", "--only-host", "--minutes", "0.03", "--host-memory", "16M", "--no-store"),
            ("bench", "storage", folder / "disk", "--size", "64M", "--seconds", "0.2", "--no-store"),
            ("runs", "--store", folder / "runs.sqlite"), ("runs", "prune", "--dry-run", "--store", folder / "runs.sqlite"),
            ("job", "begin", "--id", 7, "--dir", folder / "jobs", "--root", sick / "gpu01.tree"),
            ("job", "end", "--id", 7, "--dir", folder / "jobs", "--root", sick / "gpu01.tree"),
            ("job", "show", 7, "--dir", folder / "jobs"), ("job", "show", "--dir", folder / "jobs"),
            ("job", "show", 7, "--dir", folder / "jobs", "--nodes", ROOT / "examples/local-pair.yaml"),
        ]
        seen = set()
        for words in commands:
            with self.subTest(" ".join(map(str, words))):
                at = words.index("--") if "--" in words else len(words)
                done = run(*words[:at], "--json", *words[at:], folder=folder, code=[0, 1, 2, 3])
                printed = self.judged(done.stdout)["format"]
                seen.add(printed)
                # The page names the command of each document.
                commands = [one.split() for one in self.schemas[printed]["x-printed-by"].split(", ")]
                typed = [str(word) for word in words]
                self.assertTrue(any(command[0] == typed[0] and (len(command) == 1 or command[1].isupper() or command[1] in typed)
                                    for command in commands), f"{printed} is said to be printed by {commands}")
        with self.subTest("runs export"):
            seen.add(self.judged(run("runs", "export", "last", "--store", folder / "runs.sqlite", folder=folder, code=[0]).stdout)["format"])
        with self.subTest("an error"):
            seen.add(self.judged(run("check", folder / "nowhere.yaml", "--json", folder=folder, code=[64]).stderr.splitlines()[-1])["format"])
        self.assertEqual(sorted(set(self.formats) - seen - ELSEWHERE), [], "no command of this test prints these")
        self.assertEqual(sorted(seen & ELSEWHERE), [], "printed here after all")

    def test_errors_are_documents(self):
        folder = pathlib.Path(self.folder.name)
        (folder / "bad.yaml").write_text("railbed: 1\nnodse: [a]\n")
        for words, code in ((("check", folder / "bad.yaml", "--json"), 64), (("verify", "--jsn", "--json"), 64),
                            (("verify", "--root", folder / "nothing", "--json"), 64), (("prove", folder / "bad.yaml", "--json"), 64),
                            (("predict", "--gpu", "H1000", "--json"), 64), (("explain", "no.such-rule", "--json"), 64),
                            (("bench", "--json"), 64)):
            with self.subTest(" ".join(map(str, words))):
                done = run(*words, folder=folder, code=[code])
                self.assertEqual(done.stdout, "")
                words, _, line = done.stderr.rstrip("\n").rpartition("\n")
                document = self.judged(line)
                self.assertEqual((document["format"], document["exit_code"]), ("railbed-error", code))
                self.assertIn(document["message"].splitlines()[0], words)
        # A program's own --json behind "--" is none of ours.
        done = run("launch", "torchrun", folder / "bad.yaml", "--", "train.py", "--json", folder=folder, code=[64])
        self.assertNotIn("railbed-error", done.stderr)


if __name__ == "__main__":
    unittest.main()
