#!/usr/bin/env python3
"""The documentation's site: well-formed pages, links that lead somewhere, nothing from outside, errors with file and line."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE = "scripts/site"
PYTHON = "/usr/bin/python3"


def build(root, out):
    return subprocess.run([PYTHON, str(root / SITE), str(out)], capture_output=True, text=True, timeout=120)


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.folder.name).resolve() / "site"
        cls.built = build(ROOT, cls.out)
        assert cls.built.returncode == 0, cls.built.stderr
        cls.pages = {page: xml.fromstring(page.read_text().split("\n", 1)[1]) for page in cls.out.rglob("*.html")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_links_and_anchors_lead_somewhere(self):
        for page, tree in self.pages.items():
            for link in (one.get("href") for one in tree.iter("a") if one.get("href")):
                if re.match(r"(https?|mailto):", link):
                    continue
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                self.assertIn(target, self.pages, f"{page}: {link}")
                if anchor:
                    self.assertIn(anchor, {one.get("id") for one in self.pages[target].iter()}, f"{page}: {link}")

    def test_comments_are_not_shown(self):
        for page, tree in self.pages.items():
            self.assertNotIn("<!--", "".join(tree.itertext()), page)

    def test_code_in_a_list_is_a_block(self):
        blocks = "".join("".join(one.itertext()) for one in self.pages[self.out / "docs/how-to/prove-two-machines.html"].iter("pre"))
        self.assertIn("railbed init gpu1 gpu2 -o cluster.yaml\n", blocks)

    def test_nothing_is_asked_from_outside(self):
        for page, tree in self.pages.items():
            asked = [one.get("src") for one in tree.iter() if one.get("src")] + [one.get("href") for one in tree.iter("link")]
            for source in asked:
                self.assertTrue((page.parent / source).is_file(), f"{page}: {source}")

    def test_navigation_shows_pages_alone(self):
        for page, tree in self.pages.items():
            for link in (one.get("href") for one in tree.find(".//nav").iter("a")):
                self.assertIn((page.parent / link).resolve(), self.pages, page)

    @unittest.skipUnless(shutil.which("chromium"), "no chromium")
    def test_search_finds_pages_by_their_words(self):
        def found(words):
            page = self.out / "docs/how-to/fix.html"
            shown = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"{page.as_uri()}?q={words}"],
                                   capture_output=True, text=True, timeout=120).stdout
            return re.search(r'<ul id="found">(.*?)</ul>', shown, re.S)[1]
        self.assertRegex(found("rollback+lost"), r'^<li><a href="../../docs/how-to/apply.html">Change a cluster')
        self.assertEqual(found("rollback+nosuchword"), "No page has all of these words.")
        self.assertEqual(found(""), "")

    def test_every_docs_page_is_there(self):
        for source in (ROOT / "docs").rglob("*.md"):
            self.assertIn(self.out / source.relative_to(ROOT).with_suffix(".html"), self.pages)

    def test_two_builds_are_equal(self):
        again = self.out.parent / "again"
        self.assertEqual(build(ROOT, again).returncode, 0)
        for file in self.out.rglob("*"):
            if file.is_file():
                self.assertEqual(file.read_bytes(), (again / file.relative_to(self.out)).read_bytes(), file)

    def copy_with(self, page, text):
        copy = self.out.parent / self.id()
        copy.mkdir()
        for name in ["docs", "man", "scripts", "src", "schema", "examples", "tests", "deploy", "fuzz"]:
            (copy / name).symlink_to(ROOT / name) if name not in ("docs", "scripts") else shutil.copytree(ROOT / name, copy / name)
        for file in [*ROOT.glob("*.md"), ROOT / "LICENSE"]:
            shutil.copy(file, copy)
        with open(copy / page, "a") as out:
            out.write(text)
        return build(copy, copy / "out"), len((copy / page).read_text().splitlines())

    def test_a_broken_link_is_named_with_its_line(self):
        for link in ["nowhere.md", "#no-such-heading"]:
            with self.subTest(link):
                shutil.rmtree(self.out.parent / self.id(), ignore_errors=True)
                made, line = self.copy_with("docs/how-to/fix.md", f"\n[x]({link})\n")
                self.assertNotEqual(made.returncode, 0)
                self.assertIn(f"docs/how-to/fix.md:{line}: ", made.stderr)

    def test_a_page_that_nothing_links_to_is_named(self):
        made, _ = self.copy_with("docs/how-to/alone.md", "# Alone\n")
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("docs/how-to/alone.md:1: ", made.stderr)


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import markdown"], capture_output=True).returncode != 0:
        print("python3-markdown is missing: scripts/install-packages site")
        sys.exit(77)
    unittest.main()
