#!/usr/bin/env python3
"""docs/reference/metrics.md and the monitor's code name the same metrics: each family of src/monitor is on the page, and each name on
the page is one of a family. Each metric that a dashboard or an alert selects is on the page, too, or one of Prometheus' own."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ASKING = {"alert_rules.cc"}  # asks Prometheus for metrics
PROMETHEUS = {"up", "ALERTS"}
NAME = re.compile(r'"((?:railbed|node|hwmon)_[a-z0-9_]+|DCGM_FI_(?:DEV|PROF)_[A-Z0-9_]+)"')


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
    names = set(re.findall(r"`((?:railbed|node)_[a-z0-9_]+|DCGM_FI_(?:DEV|PROF)_[A-Z0-9_]+)`", page))
    gpus = page.split("## GPUs", 1)[1].split("| metric |", 1)[0]
    return names | {"DCGM_FI_DEV_" + name for name in re.findall(r"`([A-Z][A-Z0-9_]+)`", gpus) if name != "UUID" and not name.startswith("DCGM")}


def queries():
    """Each query of a dashboard or an alert, and where it stands."""
    for path in sorted((ROOT / "src/monitor/dashboards").glob("*.json")):
        board = json.loads(path.read_text())
        for panel in board["panels"]:
            yield from ((path.name, target["expr"]) for target in panel.get("targets", []))
        yield from ((path.name, one["definition"]) for one in board["templating"]["list"] if "definition" in one)
    for path in sorted((ROOT / "src/monitor/alerts").glob("*.yaml")):
        yield from ((path.name, line) for line in path.read_text().splitlines() if line.startswith(" " * 10) and "{" in line)
    growing = next((ROOT / "src/monitor").rglob("alert_rules.cc")).read_text().split("counters_since_boot() {", 1)[1].split("return counters", 1)[0]
    yield from (("alert_rules.cc", name + "{}") for name in re.findall(r'"(node_\w+)"', growing))


def selected(query):
    """The metrics of a query: names before the braces of their labels, and the one of a variable without labels."""
    bare = re.sub(r'"(?:\\.|[^"\\])*"', '""', query)
    return set(re.findall(r"([A-Za-z_:][\w:]*)\{", bare) + re.findall(r"^label_values\((\w+),", bare))


def asked():
    """Each metric that a dashboard or an alert selects, and where."""
    return {(name, where) for where, query in queries() for name in selected(query)}


def is_described(name, page, pages):
    """Whether the page has the metric, or its end: `…_port_data_transmitted_bytes_total`."""
    return name in pages or f"`{name}`" in page or any(name.endswith(end) for end in re.findall(r"`…(\w+)`", page))


def main():
    page = (ROOT / "docs/reference/metrics.md").read_text()
    code, pages = exported(), documented(page)
    faults = [f"{path}: {name} is not in docs/reference/metrics.md" for name, path in code.items() if name not in pages]
    # Those of ports and interfaces are put together of a prefix and a counter's name.
    text = "".join(path.read_text() for path in sorted((ROOT / "src/monitor").rglob("*.cc")))
    faults += [f"docs/reference/metrics.md: nothing in src/monitor exports {name}" for name in sorted(pages - set(code))
               if f'"{name.removeprefix("node_infiniband_")}"' not in text]
    wanted = asked()
    faults += [f"src/monitor: {where} selects {name}, which is not in docs/reference/metrics.md" for name, where in sorted(wanted)
               if name not in PROMETHEUS and not is_described(name, page, pages)]
    assert selected('sum(up{a="b{"}) / x:y{c="\\"z{"}') == {"up", "x:y"} and not is_described("railbed_finding_", page, pages)
    print("\n".join(faults))
    print(f"{len(code)} names in the code, {len(pages)} on the page, {len({name for name, _ in wanted})} asked for")
    return 1 if faults or len(code) < 60 or len(wanted) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
