"""A program run to its end, with what it took: for tests of what must neither hang nor fill the memory."""
import os
import re
import subprocess
import sys
import time

# What a terminal obeys, but for line breaks and tabs, and what turns the direction of text.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def measured(name, words, out, hangs, **how):
    """(exit code, bytes that it held at most, processor seconds). Both outputs go to the file `out`; one that still runs after `hangs`
    seconds is killed, and is an AssertionError. What it took is printed, for the reader, under `name`."""
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
    processor = usage.ru_utime + usage.ru_stime
    print(f"{name}: exit {child.returncode}, {time.monotonic() - began:.1f} s, {processor:.1f} s of a processor, {usage.ru_maxrss >> 10} MiB",
          file=sys.stderr)
    return child.returncode, usage.ru_maxrss * 1024, processor


def run(name, words, out, hangs, **how):
    """As measured(), without the processor's time."""
    return measured(name, words, out, hangs, **how)[:2]
