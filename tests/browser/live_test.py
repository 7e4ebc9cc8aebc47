#!/usr/bin/env python3
"""The live page in Chromium: of one composed pair, of hostile names, and of 200 nodes. RAILBED names the binary.

usage: live_test.py [FOLDER]      screenshots stay in FOLDER when it is given
Exits 77 (skipped) where there is no Chromium. Times are printed, never asserted.
"""
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from chrome import Chrome
from report_test import BROWSER

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

RAILBED = os.environ.get("RAILBED", "railbed")
MACHINES = pathlib.Path(__file__).resolve().parents[1] / "machines"
SHOTS = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
FLEET = int(os.environ.get("LIVE_NODES", "200"))
PORT_STATE = re.compile(r"(/mlx5_3/ports/1/state = ).*")
HOSTILE = "<img src=x onerror=document.title='owned'>"


def write_whole(path, text):
    """A reader sees the file before or after, never half of it."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


class Watch:
    """railbed watch over trees in a folder."""

    def __init__(self, folder, cluster, every=1, listen="127.0.0.1:0", **how):
        self.folder, self.cluster, self.every, self.listen, self.how = folder, cluster, every, listen, how

    def __enter__(self):
        self.process = subprocess.Popen([RAILBED, "watch", self.cluster, "--root", self.folder, "--every", str(self.every),
                                         "--listen", self.listen, "--state", self.folder / "state"],
                                        stderr=subprocess.PIPE, text=True, **self.how)
        said = ""
        for line in self.process.stderr:
            said += line
            found = re.search(r"(http://\S+)", line)
            if found:
                self.address = found[1]
                return self
        raise AssertionError(f"railbed watch ended with {self.process.wait(timeout=30)}: {said}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stderr.close()

    def seconds_of_processor(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) * 1024


def pair(folder):
    for name in ("gpu01", "gpu02"):
        (folder / f"{name}.tree").write_text((MACHINES / "h100-cx7" / f"{name}.tree").read_text())
    (folder / "cluster.yaml").write_text((MACHINES / "h100-cx7/cluster.yaml").read_text())
    return folder / "cluster.yaml"


def lasting_port():
    """A free port that nobody gets as the source of a connection while nothing listens there."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(lowest - 1, 1024, -1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def shot(browser, name):
    if SHOTS is not None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        browser.screenshot(SHOTS / f"{name}.png")


SHOWN = "document.querySelectorAll('#nodes .node-box').length"


@unittest.skipIf(BROWSER is None, "no Chromium")
class LiveTest(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.browser = self.stack.enter_context(Chrome())

    def watch(self, cluster, **how):
        return self.stack.enter_context(Watch(self.folder, cluster, **how))

    def text(self, selector):
        return self.browser.script(f"document.querySelector({selector!r}).innerText")

    def no_complaints(self):
        self.assertEqual(self.browser.complaints(), [])

    def set_port(self, node, state):
        tree = self.folder / f"{node}.tree"
        write_whole(tree, PORT_STATE.sub(rf"\g<1>{state}", tree.read_text()))

    def test_a_finding_comes_and_goes(self):
        watch = self.watch(pair(self.folder))
        browser = self.browser
        browser.open(watch.address)
        browser.until(f"{SHOWN} === 2 && document.querySelectorAll('#picture svg').length > 0", 60)
        browser.script("window.sameDocument = true")
        shot(browser, "pair-sound")
        before = self.text("#findings")
        self.set_port("gpu01", "1: DOWN")
        browser.until("document.getElementById('findings').innerText.includes('mlx5_3/1')", 30)
        found = self.text("#findings")
        self.assertIn("rdma.port-state", found)
        browser.until("/since \\d/.test(document.getElementById('findings').innerText)", 10)
        self.assertIn("mlx5_3/1", self.text("#sentence"))
        browser.until("[...document.querySelectorAll('#rails .bad')].length > 0", 10)
        shot(browser, "pair-broken")
        browser.script("navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); };"
                       "document.querySelector('#findings .commands button').click()")
        browser.until("document.querySelector('#findings .commands code').innerText.trim() === (window.copied || '').trim()", 10)
        self.assertIn("appeared", self.text("#events"))
        self.set_port("gpu01", "4: ACTIVE")
        browser.until("!document.getElementById('findings').innerText.includes('rdma.port-state')", 30)
        self.assertEqual(self.text("#findings"), before)
        self.assertNotIn("gone", self.text("#events"), "it may return within five minutes")
        self.assertTrue(browser.script("window.sameDocument"), "without a reload")
        self.no_complaints()

    def test_what_changed_before_is_told(self):
        watch = self.watch(pair(self.folder))
        self.browser.open(watch.address)
        self.browser.until(f"{SHOWN} === 2", 60)
        tree = self.folder / "gpu01.tree"
        text = tree.read_text()
        self.assertIn("/mlx5_3/fw_ver = 28.43.2026", text)
        write_whole(tree, text.replace("/mlx5_3/fw_ver = 28.43.2026", "/mlx5_3/fw_ver = 28.44.1036"))
        self.browser.until("document.getElementById('events').innerText.includes('firmware of mlx5_3')", 30)
        self.set_port("gpu01", "1: DOWN")
        self.browser.until("/What changed before it[^]*firmware of mlx5_3/.test(document.getElementById('findings').innerText)", 30)
        self.no_complaints()

    def test_hostile_names_stay_text(self):
        cluster = pair(self.folder)
        tree = self.folder / "gpu01.tree"
        text = PORT_STATE.sub(r"\g<1>1: DOWN", tree.read_text())
        # What a node says of itself: its system, its firmware, its interfaces' states.
        text = re.sub(r'PRETTY_NAME="[^"]*"', f'PRETTY_NAME="{HOSTILE}"', text)
        text = text.replace("operstate = up", f"operstate = {HOSTILE}").replace("1: DOWN", f"1: {HOSTILE}")
        tree.write_text(text)
        watch = self.watch(cluster)
        self.browser.open(watch.address)
        self.browser.until(f"{SHOWN} === 2 && document.querySelectorAll('#picture svg').length > 0", 60)
        self.browser.until("document.getElementById('nodes').innerText.includes('onerror')", 10)
        shot(self.browser, "hostile")
        self.assertEqual(self.browser.script("document.querySelectorAll('main img, main script').length"), 0)
        self.assertNotEqual(self.browser.script("document.title"), "owned")
        # Whatever the data are, the page inserts them as text.
        self.browser.script(f"""(() => {{
          const evil = {HOSTILE!r};
          const walk = value => {{ for (const key in value) if (typeof value[key] === "string" && key !== "time") value[key] = evil;
            else if (value[key] && typeof value[key] === "object") walk(value[key]); }};
          walk(view); view.events.forEach(one => {{ one.kind = evil; }}); show(null);
          [...rails, ...nodes].forEach(one => {{ one.box.open = true; }}); }})()""")
        time.sleep(0.5)
        self.assertEqual(self.browser.script("document.querySelectorAll('main img, main script').length"), 0)
        self.assertNotEqual(self.browser.script("document.title"), "owned")
        self.no_complaints()

    def test_a_lost_connection_is_told_and_mends_itself(self):
        cluster = pair(self.folder)
        listen = f"127.0.0.1:{lasting_port()}"
        with Watch(self.folder, cluster, listen=listen) as watch:
            self.browser.open(watch.address)
            self.browser.until(f"{SHOWN} === 2", 60)
            self.assertTrue(self.browser.script("document.getElementById('lost').hidden"))
        self.browser.until("!document.getElementById('lost').hidden && document.body.classList.contains('stale')", 20)
        self.assertIn("lost", self.text("#lost"))
        shot(self.browser, "lost")
        self.watch(cluster, listen=listen)
        self.browser.until("document.getElementById('lost').hidden && !document.body.classList.contains('stale')", 60)
        self.no_complaints()

    def test_keys(self):
        self.set_up_broken()
        browser = self.browser
        count = browser.script("document.querySelectorAll('.finding').length")
        self.assertGreater(count, 1)
        focused = "[...document.querySelectorAll('.finding')].indexOf(document.activeElement)"
        browser.press("j")
        self.assertEqual(browser.script(focused), 0)
        browser.press("j")
        self.assertEqual(browser.script(focused), 1)
        browser.press("k")
        self.assertEqual(browser.script(focused), 0)
        browser.press("?")
        self.assertTrue(browser.script("document.getElementById('help').open"))
        shot(browser, "help")
        browser.script("document.getElementById('help').close()")
        self.assertEqual(browser.script("document.querySelector('body > a').getAttribute('href')"), "#findings")
        self.no_complaints()

    def set_up_broken(self):
        cluster = pair(self.folder)
        self.set_port("gpu01", "1: DOWN")
        tree = self.folder / "gpu02.tree"
        tree.write_text(tree.read_text().replace("/mtu = 9000", "/mtu = 1500"))
        watch = self.watch(cluster)
        self.browser.open(watch.address)
        self.browser.until("document.querySelectorAll('.finding').length > 1 && document.querySelectorAll('#picture svg').length > 0", 60)
        return watch

    def test_phone_and_dark(self):
        watch = self.set_up_broken()
        for width in (360, 1280):
            for dark in (False, True):
                self.browser.open(watch.address, width=width, height=800, dark=dark)
                self.browser.until(f"{SHOWN} === 2 && document.querySelectorAll('#picture svg').length > 0", 60)
                time.sleep(0.3)
                shot(self.browser, f"broken-{width}-{'dark' if dark else 'light'}")
                wide = self.browser.script("document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width, "the page scrolls sideways")
                light = self.browser.script("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)"
                                            ".reduce((sum, one) => sum + Number(one), 0)")
                self.assertEqual(light < 3 * 128, dark)
        self.no_complaints()

    def test_a_node_alone(self):
        pair(self.folder)
        monitor = subprocess.Popen([RAILBED, "monitor", self.folder / "cluster.yaml", "--root", self.folder / "gpu01.tree", "--node", "gpu01",
                                    "--listen", "127.0.0.1:0", "--state", self.folder / "state"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(monitor.stderr.close)
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.terminate)
        address = next(re.search(r"(http://[^/]+)/metrics", line)[1] for line in monitor.stderr if "/metrics" in line)
        self.browser.open(address)
        self.browser.until(f"{SHOWN} === 1 && document.querySelectorAll('#picture svg').length > 0", 60)
        self.browser.until("document.querySelectorAll('#rails tbody tr').length === 8", 20)
        shot(self.browser, "node")
        self.assertIn("text/event-stream", urllib.request.urlopen(address + "/live", timeout=5).headers["Content-Type"])
        self.no_complaints()

    def test_a_fleet(self):
        watch = self.watch(self.compose_fleet(), every=5)
        ready = time.monotonic()
        while not self.is_all_looked_at(watch.address):
            self.assertLess(time.monotonic() - ready, 600)
            time.sleep(0.5)
        print(f"{FLEET} nodes: all looked at after {time.monotonic() - ready:.1f} s", flush=True)
        browser = self.browser
        browser.call("Page.addScriptToEvaluateOnNewDocument", {"source":
            "window.longTasks = []; new PerformanceObserver(list => longTasks.push(...list.getEntries().map(one => one.duration)))"
            ".observe({type: 'longtask', buffered: true});"})
        browser.open(watch.address)
        browser.until(f"{SHOWN} === {FLEET} && document.querySelectorAll('#picture svg').length > 0", 60)
        paint = browser.script("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        shown = browser.script("performance.getEntriesByName('railbed-shown')[0].startTime")
        print(f"{FLEET} nodes: first paint {paint:.0f} ms, all shown {shown:.0f} ms, "
              f"long tasks {browser.script('longTasks.map(Math.round).join()') or 'none'} ms", flush=True)
        shot(browser, "fleet")
        browser.script("longTasks.length = 0; performance.clearMeasures()")
        burned, began = watch.seconds_of_processor(), time.monotonic()
        for i in range(1, FLEET + 1, 2):  # traffic on half of the nodes
            tree = self.folder / f"gpu{i:03}.tree"
            write_whole(tree, re.sub(r"(port_rcv_data|port_xmit_data) = \d+", r"\1 = 999999999", tree.read_text()))
        browser.until("performance.getEntriesByName('railbed-update').length >= 4", 60)
        updates = browser.script("performance.getEntriesByName('railbed-update').map(one => one.duration)")
        burned, took = watch.seconds_of_processor() - burned, time.monotonic() - began
        print(f"{FLEET} nodes: updates {', '.join(f'{one:.1f}' for one in updates)} ms, long tasks "
              f"{browser.script('longTasks.map(Math.round).join()') or 'none'}; railbed watch took {100 * burned / took:.0f} % of a processor "
              f"and {watch.memory() >> 20} MiB", flush=True)
        self.no_complaints()

    def is_all_looked_at(self, address):
        nodes = json.load(urllib.request.urlopen(address + "live.json"))["view"]["nodes"]
        return len(nodes) == FLEET and all(one["reachable"] and one["gpus"] for one in nodes)

    def compose_fleet(self):
        whole = (MACHINES / "h100-cx7/gpu01.tree").read_text()
        names = [f"gpu{i:03}" for i in range(1, FLEET + 1)]
        for number, name in enumerate(names, 1):
            text = re.sub(r"\b10\.(\d)\.0\.1\b", rf"10.\1.0.{number}", whole).replace("gpu01", name)
            if number % 50 == 7:
                text = PORT_STATE.sub(r"\g<1>1: DOWN", text)
            (self.folder / f"{name}.tree").write_text(text)
        rules = (MACHINES / "h100-cx7/cluster.yaml").read_text()
        rules = rules.replace("  - gpu01\n  - gpu02\n", "".join(f"  - {name}\n" for name in names))
        (self.folder / "cluster.yaml").write_text(rules.replace("cluster: h100-pair", "cluster: h100-fleet"))
        return self.folder / "cluster.yaml"


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no Chromium")
        sys.exit(77)
    guardian.begin()
    unittest.main()
