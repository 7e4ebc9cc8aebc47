#!/usr/bin/env python3
"""The release binary runs on Debian 12, Ubuntu 22.04/24.04 and RHEL 9/10: it asks for no glibc symbol above 2.34
and needs no shared library beyond glibc's own and GCC's unwinder (libgcc_s, on every one of them).

usage: binary_test.py RAILBED
"""
import re
import subprocess
import sys

NEWEST = (2, 34)
LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[\w-]*)\.so\.\d")


def objdump(option, binary):
    return subprocess.run(["objdump", option, binary], check=True, capture_output=True, text=True).stdout


def main():
    binary = sys.argv[1]
    complaints = []
    for line in objdump("-T", binary).splitlines():
        for version in re.findall(r"GLIBC_(\d+)\.(\d+)", line):
            if tuple(map(int, version)) > NEWEST:
                complaints.append("needs a newer glibc: " + line.strip())
    for library in re.findall(r"NEEDED\s+(\S+)", objdump("-p", binary)):
        if not LIBRARIES.fullmatch(library):
            complaints.append("needs a shared library: " + library)
    print("\n".join(complaints) if complaints else "runs wherever glibc 2.34 does")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
