#!/usr/bin/env python3
"""What a user may not look at is named as that: never as missing, empty or fine. As root each command runs as another user."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOBODY = 65534


class Denied(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kept = tempfile.TemporaryDirectory(dir="/tmp")
        cls.addClassCleanup(kept.cleanup)
        cls.place = pathlib.Path(kept.name)
        cls.place.chmod(0o755)
        # Where the other user reaches them.
        shutil.copy(os.environ["RAILBED"], cls.place / "railbed")
        shutil.copytree(ROOT / "tests/machines/h100-cx7", cls.place / "pair")
        for name in ("closed", "mixed/inner", "readonly", "home"):
            (cls.place / name).mkdir(parents=True)
        (cls.place / "closed/job.log").write_text("x\n")
        (cls.place / "mixed/uname.txt").write_text("$ uname -r\n6.1.0-28-amd64\n")
        (cls.place / "secret.json").write_text("{}")
        for path in cls.place.rglob("*"):
            path.chmod(0o755 if path.is_dir() or path.name == "railbed" else 0o644)
        for name in ("closed", "mixed/inner", "secret.json"):
            (cls.place / name).chmod(0)
        (cls.place / "readonly").chmod(0o555)
        if os.getuid() == 0:
            os.chown(cls.place / "home", NOBODY, NOBODY)

    @classmethod
    def tearDownClass(cls):
        for name in ("closed", "mixed/inner", "readonly"):
            (cls.place / name).chmod(0o755)

    def run_as_user(self, *words):
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        done = subprocess.run(["./railbed", *words], cwd=self.place, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.place / "home"), "LC_ALL": "C.UTF-8"}, **other)
        return done.returncode, done.stdout + done.stderr

    def test_the_reason_is_named(self):
        denied = "Permission denied"
        for words, code, parts in (
                (("verify", "--root", "closed"), 3, ("cannot read closed: " + denied,)),
                (("init", "--root", "closed", "-o", "-"), 3, ("cannot read closed: " + denied,)),
                (("explain", "closed"), 3, ("cannot read closed: " + denied,)),
                (("explain", "closed/job.log"), 3, ("cannot read closed/job.log: " + denied,)),
                (("verify", "--root", "closed/tree"), 3, ("cannot read closed/tree: " + denied,)),
                (("verify", "--facts", "secret.json"), 3, ("cannot read secret.json: " + denied,)),
                (("verify", "--facts", "closed/facts.json"), 3, ("cannot read closed/facts.json: " + denied,)),
                (("job", "show", "--dir", "closed"), 3, ("cannot read closed: " + denied,)),
                (("compare", "closed/a", "closed/b"), 3, ("cannot read closed/a: " + denied,)),
                (("runs", "--store", "closed/runs.sqlite"), 3, (denied,)),
                (("runs", "--store", "readonly/runs.sqlite"), 3, ("cannot open it", denied)),
                (("init", "--root", "pair", "-o", "closed/cluster.yaml"), 64, ("cannot write closed/cluster.yaml: " + denied,)),
                (("init", "--root", "pair", "-o", "readonly/cluster.yaml"), 64, ("cannot write readonly/cluster.yaml: " + denied,)),
                (("advise", "rails", "--nodes", "2", "-o", "closed/cluster.yaml"), 64, ("cannot write closed/cluster.yaml: " + denied,)),
                (("capture", "-o", "readonly/a.tree"), 64, ("cannot write readonly/a.tree: " + denied,)),
                (("tour", "closed/tour"), 64, (denied,))):
            with self.subTest(" ".join(words)):
                got, text = self.run_as_user(*words)
                self.assertEqual(got, code, text)
                for part in parts:
                    self.assertIn(part, text)
                for untrue in ("no such file", "no file in it", "No job has", "standard output", "is no run"):
                    self.assertNotIn(untrue, text)

    def test_a_folder_within_another_is_named(self):
        code, text = self.run_as_user("verify", "--root", "mixed")
        self.assertIn("mixed/inner: Permission denied", text)
        self.assertEqual(code, 64, "nothing else of it is read")

    def test_others_files_are_found(self):
        code, text = self.run_as_user("check", "pair/cluster.yaml")
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main()
