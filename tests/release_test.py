#!/usr/bin/env python3
"""scripts/release on a composed repository whose build, packages and site are stand-ins: what it refuses and why, the notes, the
files that it leaves, and that nothing is left of a run that ends early. tests/package_test.py looks at real packages."""
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import guardian

SOURCE = pathlib.Path(__file__).resolve().parent.parent
CHANGELOG = """# Changelog

## 1.2.3 (2026-01-31)

### New
- It proves two nodes.

### Fixed
- `verify` names the cable.

## 1.2.2 (2025-12-01)
- Old things.
"""
PROGRAM = """#!/bin/sh
case $1 in
  version) echo "railbed ${SAID_VERSION:-1.2.3}" ;;
  verify) test -d "$3" || exit 64; echo "FAIL  gpu02: slow"; exit 2 ;;
esac
"""
STAND_INS = {
    # Configures a folder whose program is a script.
    "cmake": """#!/bin/sh
if [ "$1" = --preset ]; then
  mkdir -p build/$2; echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" > build/$2/CMakeCache.txt
  cp "$STAND_INS/program" build/$2/railbed
fi
""",
    "ninja": "#!/bin/sh\n",
    "rpmbuild": "#!/bin/sh\n",
    "rpm": "#!/bin/sh\nprintf 'railbed 1.2.3-1'\n",
    "dpkg-deb": """#!/bin/sh
if [ "$1" = -x ]; then mkdir -p "$3" && tar -C "$3" -xf "$2"; else echo 1.2.3-1; fi
""",
    "program": PROGRAM,
}
PACKAGE = """#!/bin/sh
while [ "$1" != --output ]; do shift; done
mkdir -p "$2"; cd "$2"
if [ -n "$HANG" ]; then echo $$ > "$HANG"; sleep 600; fi
tree=$(mktemp -d); top=$tree/railbed-1.2.3-linux-x86_64
mkdir -p $top/bin $top/share/doc/railbed/examples/sick-pair $tree/usr
cp "$STAND_INS/program" $top/bin/railbed
if [ -n "$DIFFER" ]; then echo $$ > $top/stamp; fi
fixed="--mtime=2026-01-31 --sort=name --owner=0 --group=0"
tar -C $tree $fixed -cf - railbed-1.2.3-linux-x86_64 | gzip -n > railbed-1.2.3-linux-x86_64.tar.gz
cp -r $top/* $tree/usr
tar -C $tree $fixed -cf railbed_1.2.3-1_amd64.deb usr
echo rpm > railbed-1.2.3-1.x86_64.rpm
echo '{"spdxVersion": "SPDX-2.3", "packages": [{"versionInfo": "1.2.3"}]}' > railbed-1.2.3.spdx.json
sha256sum *.deb *.rpm *.json *.tar.gz > SHA256SUMS
rm -r $tree
"""
SITE = '#!/bin/sh\nmkdir -p "$1" && echo page > "$1/index.html"\n'


class Release(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.place = pathlib.Path(kept.name).resolve()
        self.clone, stand_ins = self.place / "clone", self.place / "bin"
        stand_ins.mkdir()
        for name, text in STAND_INS.items():
            self.write(stand_ins / name, text)
        self.environment = os.environ | {"PATH": f"{stand_ins}:{os.environ['PATH']}", "STAND_INS": str(stand_ins), "HOME": str(self.place),
                                         "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for name in ("scripts/release", "tests/guardian.py"):
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.clone / name)
        self.write(self.clone / "scripts/package", PACKAGE)
        self.write(self.clone / "scripts/site", SITE)
        self.write(self.clone / ".gitignore", "build/\n__pycache__/\n")
        self.write(self.clone / "CMakeLists.txt", "project(railbed VERSION 1.2.3 LANGUAGES CXX)\n")
        self.write(self.clone / "CHANGELOG.md", CHANGELOG)
        self.git("init", "-q", "-b", "main")
        self.commit()

    @staticmethod
    def write(file, text):
        file.write_text(text)
        file.chmod(0o755)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words], cwd=self.clone, check=True,
                       env=self.environment, capture_output=True, timeout=60)

    def commit(self, **files):
        for name, text in files.items():
            (self.clone / name.replace("_", ".")).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "a state", "--allow-empty")

    def release(self, *words, **environment):
        return subprocess.run([self.clone / "scripts/release", *words], capture_output=True, text=True, timeout=120, cwd=self.clone,
                              env=self.environment | environment)

    def refused(self, *parts, words=(), code=64, **environment):
        done = self.release(*words, **environment)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(list((self.clone / "build/dist").glob("*")) if (self.clone / "build/dist").exists() else [], [])

    def test_a_release_is_whole(self):
        done = self.release()
        self.assertEqual(done.returncode, 0, done.stderr)
        made = self.clone / "build/dist/railbed-1.2.3"
        self.assertEqual([file.name for file in sorted(made.iterdir())],
                         ["SHA256SUMS", "railbed-1.2.3-1.x86_64.rpm", "railbed-1.2.3-linux-x86_64.tar.gz", "railbed-1.2.3-site.tar.gz",
                          "railbed-1.2.3.spdx.json", "railbed_1.2.3-1_amd64.deb", "release-notes.md"])
        self.assertEqual((made / "release-notes.md").read_text(),
                         "# railbed 1.2.3\n\n### New\n- It proves two nodes.\n\n### Fixed\n- `verify` names the cable.\n")
        for line in (made / "SHA256SUMS").read_text().splitlines():
            digest, name = line.split("  ")
            self.assertEqual(hashlib.sha256((made / name).read_bytes()).hexdigest(), digest)
        self.assertEqual(len((made / "SHA256SUMS").read_text().splitlines()), 6)
        self.assertIn("git tag -s v1.2.3", done.stdout)
        self.assertEqual([file.name for file in (self.clone / "build/dist").iterdir()], ["railbed-1.2.3"])
        site = (made / "railbed-1.2.3-site.tar.gz").read_bytes()
        self.assertIn("is there already: remove it", self.release().stderr)
        shutil.rmtree(made)
        self.assertEqual(self.release().returncode, 0)
        self.assertEqual((made / "railbed-1.2.3-site.tar.gz").read_bytes(), site)

    def test_a_dry_run_makes_nothing(self):
        self.commit(CHANGELOG_md="# Changelog\n\n## Unreleased\n\n### New\n- To come.\n\n" + CHANGELOG.partition("\n\n")[2].replace("1.2.3", "1.2.1"))
        done = self.release("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("# railbed 1.2.3\n\n### New\n- To come.\n"), done.stdout)
        self.assertFalse((self.clone / "build").exists())
        self.refused("no section for 1.2.3", 'rename "## Unreleased"')

    def test_a_clone_with_changes_is_refused(self):
        (self.clone / "new.txt").write_text("x")
        self.refused("?? new.txt", "git clone . ../release")
        (self.clone / "new.txt").unlink()
        (self.clone / "CMakeLists.txt").write_text("project(railbed VERSION 1.2.3)\n")
        self.refused(" M CMakeLists.txt", words=("--dry-run",))

    def test_versions_that_differ_are_refused(self):
        self.commit(CMakeLists_txt="project(railbed VERSION 1.2.4 LANGUAGES CXX)\n")
        self.refused("CHANGELOG.md has nothing for 1.2.4", "1.2.3 (2026-01-31)")
        self.commit(CMakeLists_txt="project(railbed VERSION 1.2.2 LANGUAGES CXX)\n", CHANGELOG_md="## Unreleased\n- x\n\n" + CHANGELOG)
        self.refused("has a newer version, 1.2.3", "raise VERSION", words=("--dry-run",))
        self.commit(CMakeLists_txt="project(other)\n")
        self.refused("has no `project(railbed VERSION")
        self.commit(CMakeLists_txt="project(railbed VERSION 1.2.3)\n", CHANGELOG_md=CHANGELOG)
        self.refused('says "railbed 9.9.9"', code=2, SAID_VERSION="9.9.9")

    def test_a_version_of_another_commit_is_refused(self):
        self.git("tag", "v1.2.3")
        self.assertEqual(self.release("--dry-run").returncode, 0)
        self.commit()
        self.refused("the tag v1.2.3 of another commit", "raise VERSION")

    def test_missing_notes_are_refused(self):
        for text, part in (("# Changelog\n\n## Unreleased\n", '"## Unreleased" has no line'),
                           ("# Changelog\n", "has nothing for 1.2.3"),
                           ("## Unreleased\n\n### New\n\n## 1.2.2 (2025-12-01)\n- Old.\n", "what changed since 1.2.2"),
                           ("## 1.2.3 (2026-01-31)\n\n## 1.2.2 (2025-12-01)\n- Old.\n", "is empty"),
                           ("## 1.2.3\n- x\n", 'write "## 1.2.3 (YYYY-MM-DD)"'),
                           ("## Unreleased\n- y\n\n" + CHANGELOG, "without a note")):
            with self.subTest(text):
                self.commit(CHANGELOG_md=text)
                self.refused(part)

    def test_what_is_made_wrongly_is_refused(self):
        self.refused("gave different", "tar.gz", code=2, DIFFER="1")
        self.write(self.place / "bin/program", PROGRAM.replace("exit 2", "exit 0"))
        shutil.rmtree(self.clone / "build")
        self.refused("ended with 0, not 2", code=2)

    def test_an_output_in_the_clone_is_refused(self):
        self.refused("name a folder outside", words=("--output", "dist"))

    def test_ctrl_c_leaves_nothing(self):
        running = self.place / "running"
        with subprocess.Popen([self.clone / "scripts/release"], cwd=self.clone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=self.environment | {"HANG": str(running)}) as done:
            while not (running.exists() and running.read_text()):
                self.assertIsNone(done.poll())
                time.sleep(0.02)
            self.assertEqual(len(list((self.clone / "build/dist").iterdir())), 1)
            done.send_signal(signal.SIGINT)
            self.assertNotEqual(done.wait(60), 0)
        self.assertEqual(list((self.clone / "build/dist").iterdir()), [])
        self.assertFalse(pathlib.Path(f"/proc/{running.read_text().strip()}").exists())

    def test_help_leads_through_a_release(self):
        done = self.release("--help")
        self.assertEqual(done.returncode, 0)
        for part in ("how a release is made", "--dry-run", "exit codes", "git clone . ../release"):
            self.assertIn(part, done.stdout)


if __name__ == "__main__":
    guardian.begin()
    unittest.main()
