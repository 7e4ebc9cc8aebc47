#!/usr/bin/env python3
"""Golden command-line sessions: tests/sessions/*.session hold commands, what they print and their exit codes.

    # a comment
    $ railbed verfy
    railbed: no command "verfy", did you mean "verify"?
    See: railbed --help
    [64]

Standard output and error are one stream; [N] follows where the exit code is not 0. Each session runs in an empty
folder of its own; $ROOT is the repository. UPDATE_GOLDEN=1 rewrites what differs.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ["RAILBED"]).resolve()


def environment(folder):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "RAILBED", "LC_", "LANG", "XDG_"))}
    return keep | {"PATH": f"{BINARY.parent}:{os.environ['PATH']}", "ROOT": str(ROOT), "HOME": folder,
                   "LC_ALL": "C.UTF-8", "TERM": "dumb", "COLUMNS": "100"}


def run(command, folder):
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    text = done.stdout.decode(errors="replace").replace(str(ROOT), "$ROOT").replace(folder, "$HOME")
    if text and not text.endswith("\n"):
        text += "\n"
    return text + (f"[{done.returncode}]\n" if done.returncode else "")


def replay(session):
    """The session's text as it comes out now."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for line in session.read_text().splitlines():
            if line.startswith("#") and (not out or out[-1].startswith("#") or out[-1] == "\n"):
                out.append(line + "\n")
            elif line.startswith("$ "):
                if out and not out[-1].startswith("#"):
                    out.append("\n")
                out += [line + "\n", run(line[2:], folder)]
    return "".join(out)


def main():
    failed = 0
    sessions = sorted((ROOT / "tests/sessions").glob("*.session"))
    for session in sessions:
        now = replay(session)
        if now == session.read_text():
            continue
        if os.environ.get("UPDATE_GOLDEN") == "1":
            session.write_text(now)
            print(f"{session.name}: rewritten")
            continue
        failed += 1
        print(f"{session.name} differs:")
        subprocess.run(["diff", "-u", str(session), "-"], input=now.encode(), check=False)
    print(f"{len(sessions) - failed} passed, {failed} failed")
    return 1 if failed or not sessions else 0


if __name__ == "__main__":
    sys.exit(main())
