#!/usr/bin/env python3
"""The scripts, pages and style sheets under src/ pass the tools of their kind: eslint with src/.eslintrc.json, which refuses
innerHTML and its kin, and a look at tags and braces. Fails on a script with a fault of each kind. Skips itself without eslint."""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
# Debian's modules, which another Node.js does not look for.
ENVIRONMENT = {**os.environ, "NODE_PATH": "/usr/share/nodejs:/usr/lib/nodejs"}
EMPTY_TAGS = {"area", "br", "col", "hr", "img", "input", "link", "meta"}

if not shutil.which("eslint") or subprocess.run(["eslint", "--version"], capture_output=True, env=ENVIRONMENT, timeout=60).returncode:
    print("there is no eslint here, or its Node.js cannot run it: skipped")
    sys.exit(77)


def lint(*words, text=None):
    return subprocess.run(["eslint", "-f", "unix", "--no-eslintrc", "-c", SRC / ".eslintrc.json", *words], cwd=ROOT, input=text,
                          capture_output=True, text=True, env=ENVIRONMENT, timeout=120)


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.faults, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in EMPTY_TAGS:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"line {self.getpos()[0]}: </{tag}> closes something else")


def tags_of(text):
    tags = Tags()
    tags.feed(text)
    return tags


class Assets(unittest.TestCase):
    def test_scripts_pass_the_linter(self):
        scripts = sorted(SRC.rglob("*.js"))
        self.assertGreaterEqual(len(scripts), 2)
        done = lint(*scripts)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_the_linter_refuses_markup_and_names_that_are_not_there(self):
        for fault, rule in (("document.body.innerHTML = name;", "no-restricted-properties"), ("shew(1);", "no-undef"),
                            ("if (1 == name) alert(name);", "eqeqeq"), ("eval(name);", "no-eval")):
            with self.subTest(fault):
                self.assertIn(rule, lint("--stdin", text="addEventListener(\"load\", name => { " + fault + " });\n").stdout)

    def test_pages_close_what_they_open(self):
        for page in sorted(SRC.rglob("*.html")):
            tags = tags_of(page.read_text())
            self.assertEqual((tags.faults, tags.open), ([], []), page)
            self.assertEqual(len(tags.ids), len(set(tags.ids)), page)
        self.assertTrue(tags_of("<p><b></p>").faults)

    def test_scripts_find_the_elements_of_their_page(self):
        script, page = (SRC / "monitor/live/live.js").read_text(), (SRC / "monitor/live/live.html").read_text()
        wanted = set(re.findall(r"\$\(\"([\w-]+)\"\)", script))
        self.assertGreaterEqual(len(wanted), 8)
        self.assertLessEqual(wanted, set(tags_of(page).ids))

    def test_style_sheets_close_their_braces(self):
        for sheet in sorted(SRC.rglob("*.css")):
            text = re.sub(r"/\*.*?\*/|\"[^\"\n]*\"", "", sheet.read_text(), flags=re.DOTALL)
            depth = 0
            for character in text:
                depth += {"{": 1, "}": -1}.get(character, 0)
                self.assertGreaterEqual(depth, 0, sheet)
            self.assertEqual(depth, 0, sheet)


if __name__ == "__main__":
    unittest.main()
