#!/usr/bin/env python3
"""What `railbed advise` and `railbed predict` say on the command line: the cluster.yaml of a plan is one that check accepts,
every cable has both its labels, bad input changes no file, and figures of text and JSON are those of the guides."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RAILBED = os.environ["RAILBED"]
ROOT = pathlib.Path(__file__).resolve().parent.parent
USAGE = 64


def run(*words, code=0):
    done = subprocess.run([RAILBED, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def test_rails(folder):
    for nodes, rails, speed, fabric, layout in [(2, 2, "40G", "roce", "back-to-back"), (4, 8, "100G", "roce", "one-switch"),
                                                (64, 8, "400G", "infiniband", "switch-per-rail"),
                                                (200, 2, "400G", "infiniband", "leaf-spine-per-rail")]:
        file, labels, page = (folder / f"{layout}.{end}" for end in ("yaml", "txt", "html"))
        text = run("advise", "rails", "--nodes", nodes, "--rails", rails, "--speed", speed, "--fabric", fabric, "-o", file,
                   "--labels", labels, "--page", page, "--json")
        plan = json.loads(text)["plan"]
        assert plan["layout"] == layout, plan["layout"]
        assert len([c for c in plan["cables"] if not re.search("leaf|spine", c["from"]["device"])]) == (
            rails if layout == "back-to-back" else nodes * rails)
        checked = run("check", file, "--json")
        assert len(json.loads(checked)["nodes"]) == nodes
        assert labels.read_text().count("\nto ") == 2 * len(plan["cables"])
        html = page.read_text()
        assert html.count('class="id"') == 2 * len(plan["cables"]) and "</html>" in html
        assert "<script" not in html


def test_nothing_is_half_written(folder):
    kept = folder / "kept.yaml"
    kept.write_text("mine")
    error = run("advise", "rails", "--nodes", 3, "--labels", folder / "new.txt", "-o", kept, code=USAGE)
    assert "--force" in error and kept.read_text() == "mine" and not (folder / "new.txt").exists()
    for bad in (["--nodes", 1], ["--speed", "fast"], ["--network", "10.0.0.9"], ["--nodes", 4, "--switch-model", "IS5022"],
                ["--prefix", "a b"], ["--nodes", 4, "--prefix", "x: y"], ["--rails", 2, "--interface", "eth0"]):
        words = ["advise", "rails", *bad, "-o", folder / "bad.yaml"]
        done = subprocess.run([RAILBED, *map(str, words)], capture_output=True, text=True)
        assert done.returncode not in (0, 70) and not (folder / "bad.yaml").exists(), (bad, done.returncode)


def test_switch():
    assert "advised: back to back" in run("advise", "switch", "--nodes", 2, "--rails", 2)
    assert "advised: ring without a switch" in run("advise", "switch", "--nodes", 3, "--rails", 2)
    text = run("advise", "switch", "--nodes", 3, "--rails", 2)
    assert "NCCL_IB_SUBNET_AWARE_ROUTING=1" in text
    assert "stock NCCL does not start" in run("advise", "switch", "--nodes", 4, "--rails", 2)
    assert "advised: mesh without a switch" in run("advise", "switch", "--nodes", 4, "--rails", 3)
    assert "subnet manager for each cable" in run("advise", "switch", "--nodes", 3, "--rails", 2, "--fabric", "infiniband")
    advice = json.loads(run("advise", "switch", "--nodes", 16, "--json"))["advice"]
    assert advice["advised"] == "one switch" and advice["choices"][2]["switches"] == 1


def upgrades(machine, *words):
    folder = ROOT / "tests/machines" / machine
    answer = json.loads(run("advise", "upgrades", folder / "cluster.yaml", "--root", folder, "--json", *words))
    assert len(answer["upgrades"]) == 1, answer
    return answer["upgrades"][0]


def test_upgrades(folder):
    machine = ROOT / "tests/machines/v100-cx3pro"
    text = run("advise", "upgrades", machine / "cluster.yaml", "--root", machine)
    assert "staging through host memory" in text and "MCX416A-CCAT or MCX516A-CCAT" in text, text
    prices = folder / "prices.yaml"
    prices.write_text("{currency: EUR, MCX416A-CCAT: 75}")
    node = upgrades("v100-cx3pro", "--prices", prices)
    best = node["upgrades"][0]
    assert best["after"] > node["limits"][0]["rate"]
    assert best["price"] == 150 and best["parts"][0]["total"] == 2, best
    for hostile in ("adapter: -1", "[" * 10000, "a: &a [*a]", "\0", "adapter: 1e999"):
        prices.write_text(hostile)
        run("advise", "upgrades", "--root", machine, "--prices", prices, code=USAGE)


def test_upgrades_of_what_cannot_be_exchanged():
    for machine in ("spark-cx7", "spark-two-rails"):
        node = upgrades(machine)
        assert node["fixed"] and not any(one["parts"] for one in node["upgrades"]), node
        assert not any("staging" in limit["name"] for limit in node["limits"]), node
    assert [one["name"] for one in upgrades("spark-cx7")["upgrades"]] == ["second half of the cable"]
    assert "physical" in upgrades("spark-two-rails")["note"]


def test_upgrades_of_rails_alone():
    machine = ROOT / "tests/machines/h100-cx7"
    alone = json.loads(run("advise", "upgrades", "--root", machine, "--json"))["upgrades"]
    for node in (upgrades("h100-cx7"), *alone):
        assert len(node["rails"]) == 8 and {port["port"] for port in node["left_out"]} == {"mlx5_8/1", "mlx5_10/1"}, node
        assert all("mlx5_8" not in rail for rail in node["rails"])
    trio = upgrades("r730-cx4")["upgrades"]
    assert any("at the other end" in text for one in trio if one["name"] == "faster cables" for text in one["conditions"]), trio


def test_latency():
    answer = json.loads(run("predict", "latency", "--speed", "40G", "--rdma", 0.85, "--tcp", 21.9, "--json"))
    rdma, tcp = answer["budgets"]
    assert rdma["measured"] == 850 and tcp["low"] > 10000
    assert [row["rdma"] for row in answer["syncs"]] == [85e3, 850e3, 8.5e6]
    assert "syncs/s" in run("predict", "latency", "--switches", 3)
    run("predict", "latency", "--run", "no such run", code=USAGE)


def test_network():
    words = ["predict", "network", "--nodes", 64, "--rails", 8, "--json"]
    rails = json.loads(run(*words, "--topology", "rail-optimised", "--leaf-ports", 64))
    hashed = json.loads(run(*words, "--topology", "leaf-spine", "--leaf-ports", 64))
    assert rails["whole"]["slowest"] == 400e9 and hashed["whole"]["slowest"] < 400e9
    broken = json.loads(run(*words, "--broken", "port:3,0"))["broken"]
    assert broken["cut"] == 0 and broken["slowest"] == 200e9
    run(*words, "--broken", "port:64,0", code=USAGE)
    run(*words, "--broken", "port:", code=USAGE)


def test_experts():
    words = ["predict", "experts", "--gpu", "H800", "--nodes", 4, "--nic", "8x400ib", "--groups", 4]
    answer = json.loads(run(*words, "--json"))
    found = {(row["kernels"], row["step"]): row for row in answer["forecasts"]}
    assert len(found) == 8 and abs(found["normal-v1", "dispatch"]["bandwidth"] / 58e9 - 1) < 0.1, found
    assert 3.5 < answer["reach"]["nodes"] < 4 and found["normal", "dispatch"]["limit"]["name"] == "adapters"
    assert "a token reaches 3.6 nodes" in run(*words)
    bf16 = json.loads(run(*words, "--dispatch", "bf16", "--json"))["forecasts"][0]
    assert bf16["seconds"] > 1.8 * found["normal", "dispatch"]["seconds"]
    run(*words, "--experts", 100, code=USAGE)
    run(*words, "--groups", 5, code=USAGE)
    run("predict", "experts", "--gpu", "H100", "--gpus", 1, code=USAGE)


def test_train():
    words = ["predict", "train", "--model", "gpt2-xl", "--gpu", "V100", "--gpus", 2, "--nodes", 2, "--nic", "1x40roce"]
    answer = json.loads(run(*words, "--needs", "--scaling", "--storage", "17.6 Gb/s", "--json"))
    assert [need["model"] for need in answer["needs"]] == ["ResNet-50", "BERT-Base", "BERT-Large", "GPT-2 XL"]
    assert answer["needs"][3]["verdict"] == "too-slow" and answer["scaling"]["last"] >= 1
    forecast = answer["forecast"]
    parts = sum(forecast[part] for part in ("compute", "exposed", "disturbed", "bubble", "optimizer"))
    assert abs(forecast["step"] - parts) < 1e-9
    assert "checkpoint" in run(*words)
    run("predict", "train", "--gpu", "abacus", code=USAGE)
    run("predict", "train", "--gpu", "H100", "--gpus", 2, "--tensor", 3, code=USAGE)
    run("predict", "train", "--gpu", "H100", "--nodes", 2, code=USAGE)  # no adapters
    here = json.loads(run("predict", "train", "--gpu", "H100", "--gpus", 1, "--json"))["forecast"]
    assert here["exposed"] == 0 and abs(here["step"] - here["compute"] - here["optimizer"]) < 1e-9


def test_gpus():
    listed = run("advise", "gpus", "--sort", "bandwidth")
    assert listed.index("B200 ") < listed.index("H200 ") < listed.index("V100S ") < listed.index("P4 "), listed
    assert all(len(line) <= 80 for line in listed.splitlines()), listed
    table = run("advise", "gpus", "V100-SXM2-32GB", "A100-SXM4-80GB", "B200")
    assert all(len(line) <= 80 for line in table.splitlines()), table
    line = {row.split("  ")[0]: row for row in table.splitlines()}
    assert re.search(r"^INT8 +not published +624 +4500$", line["INT8"]), line["INT8"]
    assert re.search(r"^BF16 +none +312 +2250$", line["BF16"]), line["BF16"]
    gpus = {gpu["name"]: gpu for gpu in json.loads(run("advise", "gpus", "V100", "B200", "--json"))["gpus"]}
    assert len(gpus) == 7 and gpus["B200"]["multiprocessors"] is None and gpus["V100S"]["cores"] == 5120, gpus.keys()
    assert gpus["V100S"]["bf16"] == 0 and gpus["V100S"]["int8"] is None
    error = run("advise", "gpus", "T4", "H1000", code=USAGE)
    assert "did you mean" not in error and "`railbed advise gpus` lists all" in error, error  # another number is another product
    assert "\x1b" not in run("advise", "gpus", "abacus\x1b[2J", code=USAGE)
    # A node's own name is one product; a line's name in cluster.yaml is several, and no node is said to have them all.
    trees = ROOT / "tests/machines/h100-cx7"
    node = json.loads(run("advise", "gpus", "--root", trees, "--json"))["gpus"]
    assert [(gpu["name"], gpu["nodes"]) for gpu in node] == [("H100 80GB HBM3", ["gpu01", "gpu02"])], node
    pair = json.loads(run("advise", "gpus", ROOT / "examples/v100-pair.yaml", "--json"))["gpus"]
    assert len(pair) == 6 and not any(gpu["nodes"] for gpu in pair), pair
    run("advise", "gpus", ROOT / "tests/machines/no-such.yaml", code=USAGE)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for test in (test_rails, test_nothing_is_half_written, test_upgrades):
            test(folder)
        for test in (test_switch, test_gpus, test_latency, test_network, test_experts, test_train, test_upgrades_of_what_cannot_be_exchanged,
                     test_upgrades_of_rails_alone):
            test()
    print("plans and forecasts are as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
