#!/usr/bin/env python3
"""Completion knows subcommands, the options of each, and the words that an option takes; in bash, in zsh and fish where they are."""
import os
import pathlib
import shutil
import subprocess
import unittest

RAILBED = str(pathlib.Path(os.environ["RAILBED"]).resolve())


def script(shell):
    return subprocess.run([RAILBED, "completion", shell], check=True, capture_output=True, text=True, timeout=60).stdout


def proposed(*words):
    """What bash proposes for the last word."""
    lines = [script("bash"), f"COMP_CWORD={len(words)}", "COMP_WORDS=(railbed " + " ".join(f"'{one}'" for one in words) + ")",
             "_railbed", 'printf "%s\\n" "${COMPREPLY[@]}"']
    done = subprocess.run(["bash", "-c", "\n".join(lines)], check=True, capture_output=True, text=True, cwd="/etc", timeout=60)
    return [one for one in done.stdout.split("\n") if one]


class Completion(unittest.TestCase):
    def test_commands_and_subcommands(self):
        self.assertIn("verify", proposed(""))
        self.assertEqual(proposed("benc"), ["bench"])
        self.assertIn("collectives", proposed("bench", ""))
        self.assertEqual(proposed("bmc", "set-p"), ["set-password"])

    def test_options_of_the_subcommand_alone(self):
        of_tcp, of_rdma = proposed("bench", "tcp", "--"), proposed("bench", "rdma", "--")
        self.assertIn("--zero-copy", of_tcp)
        self.assertNotIn("--operations", of_tcp)
        self.assertIn("--operations", of_rdma)
        self.assertNotIn("--svg", of_rdma)
        self.assertIn("--svg", proposed("bench", "pairs", "--"))
        self.assertNotIn("--zero-copy", proposed("bench", "--"))

    def test_values_that_an_option_takes(self):
        self.assertEqual(proposed("bench", "tcp", "a", "b", "--format", ""), ["perftest", "iperf3", "iperf3-json"])
        self.assertEqual(proposed("bench", "train", "--model", "gpt2-"), ["gpt2-xl"])
        self.assertEqual(proposed("launch", "torchrun", "c.yaml", "--container", "po"), ["podman"])

    def test_words_of_an_argument_and_files_after_them(self):
        self.assertEqual(proposed("power", "c"), ["cycle"])
        self.assertEqual(proposed("completion", "z"), ["zsh"])
        self.assertIn("passwd", proposed("power", "status", "passw"))
        self.assertIn("passwd", proposed("verify", "--root", "passw"))
        self.assertIn("rdma.pfc", proposed("explain", "rdma.p"))

    def test_scripts_are_read(self):
        for shell, check in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            if shutil.which(shell):
                done = subprocess.run([shell, check], input=script(shell), capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def test_zsh_trusts_no_folder_that_others_may_write(self):
        text = script("zsh")
        self.assertNotIn("compinit -u", text)
        if shutil.which("zsh"):
            for before in ("", "autoload -U compinit && compinit -D\n"):
                done = subprocess.run(["zsh", "-f"], input=before + text + "\nprint -l $_comps[railbed]", capture_output=True, text=True,
                                      timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("_railbed", done.stdout)

    def test_fish_says_where_an_option_belongs(self):
        lines = script("fish").splitlines()
        of_format = [one for one in lines if " -l format " in one and "_from tcp" in one]
        self.assertEqual(len(of_format), 1)
        self.assertIn("__fish_seen_subcommand_from bench; and __fish_seen_subcommand_from tcp", of_format[0])
        self.assertIn("-x -a 'perftest iperf3 iperf3-json'", of_format[0])

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_fish_proposes(self):
        def proposed_by_fish(typed):
            done = subprocess.run(["fish", "--no-config"], input=f"{script('fish')}\ncomplete -C '{typed}'", check=True,
                                  capture_output=True, text=True, timeout=60)
            return [line.split("\t")[0] for line in done.stdout.splitlines()]
        self.assertEqual(proposed_by_fish("railbed benc"), ["bench"])
        self.assertIn("collectives", proposed_by_fish("railbed bench "))
        self.assertEqual(proposed_by_fish("railbed bench tcp --form"), ["--format"])
        self.assertEqual(sorted(proposed_by_fish("railbed bench tcp --format ")), ["iperf3", "iperf3-json", "perftest"])
        self.assertNotIn("--zero-copy", proposed_by_fish("railbed bench rdma --z"))


if __name__ == "__main__":
    unittest.main()
