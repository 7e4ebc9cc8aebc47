#!/usr/bin/env python3
"""The dashboards and alerts of src/monitor pass the tools of their kind as they stand: a JSON schema of what Grafana needs, and
promtool. Each tool also refuses a fault. What railbed writes of them is for dashboards_test.py and alerts_test.py; it takes each of
these files."""
import copy
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

HERE = pathlib.Path(__file__).resolve().parent
RAILBED = pathlib.Path(os.environ["RAILBED"]).resolve()
SOURCES = HERE.parent.parent / "src/monitor"
BOARDS = {path.name: path.read_text() for path in sorted((SOURCES / "dashboards").glob("*.json"))}
RULES = sorted((SOURCES / "alerts").glob("*.yaml"))
SCHEMA = json.loads((HERE / "dashboard.schema.json").read_text())
COLUMNS = 24


def faults_of(board):
    """What a schema cannot see: it compares places of one dashboard with each other."""
    faults, taken = [], {}
    ids = [panel["id"] for panel in board["panels"]]
    if len(ids) != len(set(ids)):
        faults.append(f"two panels have one id: {ids}")
    for panel in board["panels"]:
        place = panel["gridPos"]
        if place["x"] + place["w"] > COLUMNS:
            faults.append(f"{panel['title']} leaves the grid")
        for cell in itertools.product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])):
            if taken.setdefault(cell, panel["id"]) != panel["id"]:
                faults.append(f"{panel['title']} lies over panel {taken[cell]}")
                break
        letters = [target["refId"] for target in panel.get("targets", [])]
        if len(letters) != len(set(letters)):
            faults.append(f"two queries of {panel['title']} have one letter")
    return faults


def promtool(text):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


class Dashboards(unittest.TestCase):
    @unittest.skipUnless(jsonschema, "there is no python3-jsonschema here")
    def test_fit_the_schema(self):
        validator = jsonschema.Draft7Validator(SCHEMA)
        validator.check_schema(SCHEMA)
        self.assertGreaterEqual(len(BOARDS), 4)
        for name, text in BOARDS.items():
            self.assertEqual([f"{'/'.join(map(str, one.path))}: {one.message}" for one in validator.iter_errors(json.loads(text))], [], name)

    @unittest.skipUnless(jsonschema, "there is no python3-jsonschema here")
    def test_the_schema_refuses_faults(self):
        validator = jsonschema.Draft7Validator(SCHEMA)
        sound = json.loads(BOARDS["railbed-node.json"])
        panel = next(number for number, one in enumerate(sound["panels"]) if one["type"] == "timeseries")
        heading = next(number for number, one in enumerate(sound["panels"]) if one["type"] == "row")
        changes = [(("id",), 7), (("uid",), "fleet"), (("schemaVersion",), "37"), (("panels",), []), (("tags",), []),
                   (("templating", "list", 1, "definition"), "railbed_build_info"), (("templating", "list", 1, "current"), {"text": "pod"}),
                   (("panels", heading, "collapsed"), True), (("panels", panel, "gridPos", "w"), 25),
                   *((("panels", panel, *path), value) for path, value in (
                       (("type",), "graph"), (("id",), None), (("targets",), []), (("datasource", "uid"), "P1809F7CD0C75ACF3"),
                       (("description",), ""), (("targets", 0, "refId"), "a"), (("targets", 0, "expr"), ""), (("targets", 0, "instant"), True),
                       (("targets", 0, "datasource", "uid"), "abc"), (("fieldConfig", "defaults", "unit"), ""),
                       (("fieldConfig", "defaults", "thresholds", "steps", 0, "value"), 1)))]
        for path, value in changes:
            with self.subTest(path):
                board = copy.deepcopy(sound)
                place = board
                for step in path[:-1]:
                    place = place[step]
                self.assertNotEqual(place[path[-1]], value)
                place[path[-1]] = value
                self.assertFalse(validator.is_valid(board))
        for path in (("schemaVersion",), ("templating",), *(("panels", panel, key) for key in ("id", "type", "gridPos", "targets", "datasource"))):
            with self.subTest(f"without {path}"):
                board = copy.deepcopy(sound)
                place = board
                for step in path[:-1]:
                    place = place[step]
                del place[path[-1]]
                self.assertFalse(validator.is_valid(board))

    def test_panels_have_their_own_ids_places_and_letters(self):
        for name, text in BOARDS.items():
            self.assertEqual(faults_of(json.loads(text)), [], name)
        panel = {"id": 1, "title": "a", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}, "targets": [{"refId": "A"}, {"refId": "A"}]}
        beside = {"id": 1, "title": "b", "gridPos": {"x": 11, "y": 7, "w": 14, "h": 8}}
        self.assertEqual(len(faults_of({"panels": [panel, beside]})), 3)
        self.assertEqual(faults_of({"panels": [panel | {"targets": []}, beside | {"id": 2, "gridPos": beside["gridPos"] | {"w": 4}}]}),
                         ["b lies over panel 1"])

    def test_stand_as_grafana_exports_them(self):
        """So that the difference to an export of a changed dashboard is the change."""
        for name, text in BOARDS.items():
            board = json.loads(text)
            self.assertEqual(text, json.dumps(board, indent=2, ensure_ascii=False) + "\n", name)
            self.assertEqual(name, board["uid"] + ".json")


class Rules(unittest.TestCase):
    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool here")
    def test_pass_promtool(self):
        self.assertGreaterEqual(len(RULES), 5)
        for path in RULES:
            self.assertEqual(promtool(path.read_text())[0], 0, promtool(path.read_text())[1])

    @unittest.skipUnless(shutil.which("promtool"), "there is no promtool here")
    def test_promtool_refuses_faults(self):
        text = (SOURCES / "alerts/links.yaml").read_text()
        for word, fault in (("increase(", "increased("), ("$labels.node", "labels.node"), ("for: 3m", "for: soon"), ("annotations:", "annotation:")):
            with self.subTest(fault):
                self.assertIn(word, text)
                self.assertNotEqual(promtool(text.replace(word, fault))[0], 0)


class Written(unittest.TestCase):
    def test_railbed_writes_what_stands_here(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "cluster.yaml").write_text("railbed: 1\ncluster: pair\nnodes: [gpu1, gpu2]\n")
            subprocess.run([RAILBED, "monitor", "files", "cluster.yaml", "-o", "."], cwd=folder, check=True, timeout=60, stdout=subprocess.DEVNULL)
            self.assertEqual({path.name: path.read_text() for path in (folder / "dashboards").iterdir()}, BOARDS)
            written = re.findall(r"- alert: (\w+)", (folder / "railbed.rules.yml").read_text())
        sources = [name for path in RULES for name in re.findall(r"- alert: (\w+)", path.read_text())]
        self.assertEqual(set(sources) - set(written), {"RAILBED_ALERT"})


if __name__ == "__main__":
    unittest.main()
