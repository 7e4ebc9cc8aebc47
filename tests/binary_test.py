#!/usr/bin/env python3
"""The release binary runs on Debian 12, Ubuntu 22.04/24.04 and RHEL 9/10: it asks for no glibc symbol above 2.34
and needs no shared library beyond glibc's own and GCC's unwinder (libgcc_s, on every one of them). So does the agent,
which it carries as it was built.

usage: binary_test.py RAILBED AGENT
"""
import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

NEWEST = (2, 34)
LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[\w-]*)\.so\.\d")


def objdump(option, binary):
    return subprocess.run(["objdump", option, binary], check=True, capture_output=True, text=True).stdout


def complaints_of(binary):
    complaints = []
    for line in objdump("-T", binary).splitlines():
        for version in re.findall(r"GLIBC_(\d+)\.(\d+)", line):
            if tuple(map(int, version)) > NEWEST:
                complaints.append(f"{binary} needs a newer glibc: {line.strip()}")
    for library in re.findall(r"NEEDED\s+(\S+)", objdump("-p", binary)):
        if not LIBRARIES.fullmatch(library):
            complaints.append(f"{binary} needs a shared library: {library}")
    return complaints


def carried_agent(binary):
    """What the section railbed.agent holds, unpacked in each way; and the hash and size that it says."""
    with tempfile.NamedTemporaryFile() as section:
        subprocess.run(["objcopy", "-O", "binary", "--only-section=railbed.agent",
                        "--set-section-flags=railbed.agent=alloc", binary, section.name], check=True)
        line, _, streams = section.read().partition(b"\n")
    digest, size, *sizes = line.decode().split()
    packed = [int(one) for one in sizes]
    by_zstd = subprocess.run(["zstd", "-dc"], input=streams[packed[0]:], check=True, capture_output=True).stdout
    assert len(streams) == sum(packed), (len(streams), packed)
    return digest, int(size), [gzip.decompress(streams[:packed[0]]), by_zstd]


def complaint_of_a_broken_agent(binary, digest):
    """One byte of it is another: self-check notices."""
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder) / "railbed"
        whole = pathlib.Path(binary).read_bytes()
        place = whole.index(b"\n\x1f\x8b\x08", whole.rindex(digest.encode())) + 1000
        broken.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
        broken.chmod(0o755)
        done = subprocess.run([broken, "self-check"], stdout=subprocess.PIPE, text=True)
        seen = done.returncode == 2 and "it is not whole" in done.stdout
        return [] if seen else [f"a broken agent is not noticed: {done.returncode} {done.stdout}"]


def main():
    binary, agent = sys.argv[1:]
    complaints = complaints_of(binary) + complaints_of(agent)
    with open(agent, "rb") as file:
        built = file.read()
    digest, size, unpacked = carried_agent(binary)
    if (digest, size) != (hashlib.sha256(built).hexdigest(), len(built)) or unpacked != [built, built]:
        complaints.append(f"{binary} carries another agent than {agent}")
    told = json.loads(subprocess.run([binary, "self-check", "--json"], stdout=subprocess.PIPE, text=True).stdout)["agents"][0]
    if (told["sha256"], told["bytes"], told["problem"]) != (digest, size, ""):
        complaints.append(f"{binary} self-check says of its agent: {told}")
    complaints += complaint_of_a_broken_agent(binary, digest)
    print("\n".join(complaints) if complaints else "both run wherever glibc 2.34 does")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
