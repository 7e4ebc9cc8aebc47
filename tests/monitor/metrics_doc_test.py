#!/usr/bin/env python3
"""docs/reference/metrics.md and the monitor's code name the same metrics: each family of src/monitor is on the page, and each name on
the page is one of a family. Names of queries, which Prometheus gets from elsewhere, are left out."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Files that ask Prometheus for metrics, or hand on what somebody else exports.
ASKING = {"dashboards.cc", "counter_alerts.cc", "finding_alerts.cc", "alert_rules.cc", "promql.cc", "dashboard_json.cc"}
NAME = re.compile(r'"((?:railbed|node|hwmon)_[a-z0-9_]+|DCGM_FI_DEV_[A-Z0-9_]+)"')


def exported():
    found = {}
    for path in sorted((ROOT / "src/monitor").rglob("*.cc")):
        if path.name in ASKING or path.name.endswith("_test.cc") or "testing" in path.parts:
            continue
        for name in NAME.findall(path.read_text()):
            found.setdefault(name, path.relative_to(ROOT))
    return found


def spelled_out(page):
    """`a_{b,c}_d` as `a_b_d` and `a_c_d`."""
    while found := re.search(r"`([\w{},]*?)\{([\w,]+)\}([\w{},]*)`", page):
        names = ", ".join(f"`{found[1]}{one}{found[3]}`" for one in found[2].split(","))
        page = page[:found.start()] + names + page[found.end():]
    return page


def documented(page):
    page = spelled_out(page)
    names = set(re.findall(r"`((?:railbed|node)_[a-z0-9_]+|DCGM_FI_DEV_[A-Z0-9_]+)`", page))
    gpus = page.split("## GPUs", 1)[1].split("| metric |", 1)[0]
    return names | {"DCGM_FI_DEV_" + name for name in re.findall(r"`([A-Z][A-Z0-9_]+)`", gpus) if name != "UUID" and not name.startswith("DCGM")}


def main():
    page = (ROOT / "docs/reference/metrics.md").read_text()
    code, pages = exported(), documented(page)
    faults = [f"{path}: {name} is not in docs/reference/metrics.md" for name, path in code.items() if name not in pages]
    # Those of ports and interfaces are put together of a prefix and a counter's name.
    text = "".join(path.read_text() for path in sorted((ROOT / "src/monitor").rglob("*.cc")))
    faults += [f"docs/reference/metrics.md: nothing in src/monitor exports {name}" for name in sorted(pages - set(code))
               if f'"{name.removeprefix("node_infiniband_")}"' not in text]
    print("\n".join(faults))
    print(f"{len(code)} names in the code, {len(pages)} on the page")
    return 1 if faults or len(code) < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
