"""A program run to its end, with what it took: for tests of what must neither hang nor fill the memory."""
import os
import subprocess
import sys
import time


def run(name, words, out, hangs, **how):
    """(exit code, bytes that it held at most). Both outputs go to the file `out`; one that still runs after `hangs` seconds
    is killed, and is an AssertionError. What it took is printed, for the reader, under `name`."""
    began = time.monotonic()
    with open(out, "wb") as file:
        child = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=file, stderr=file, **how)
        try:
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                assert time.monotonic() - began < hangs, f"hangs: {words}"
                time.sleep(0.01)
        except BaseException:
            child.kill()
            raise
    child.returncode = os.waitstatus_to_exitcode(status)
    print(f"{name}: exit {child.returncode}, {time.monotonic() - began:.1f} s, {usage.ru_maxrss >> 10} MiB", file=sys.stderr)
    return child.returncode, usage.ru_maxrss * 1024
