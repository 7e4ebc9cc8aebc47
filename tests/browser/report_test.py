#!/usr/bin/env python3
"""Opens sample reports in headless Chromium, as a person would: wide, dark, on a phone, on paper.

usage: report_test.py REPORT_TEST [FOLDER]
REPORT_TEST is the room's test binary; it writes the sample pages. Screenshots and the PDF stay in FOLDER when
it is given. Exits 77 (skipped) where there is no Chromium.
"""
import base64
import hashlib
import html
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import guardian  # noqa: E402

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]
FORMS = {  # name: width, height, flags
    "light": (1280, 1600, ["--blink-settings=preferredColorScheme=1"]),
    "dark": (1280, 1600, ["--blink-settings=preferredColorScheme=0"]),
    "phone": (390, 1600, ["--blink-settings=preferredColorScheme=1"]),
}

# What is wrong with the laid-out page, written into its title for --dump-dom to carry out. It runs in a frame of
# the wanted width, because a headless window is never narrower than about 500 pixels.
PROBE = """
<script>addEventListener("load", function () {
  var wrong = [];
  var root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push("page is " + root.scrollWidth + " wide in " + root.clientWidth);
  document.querySelectorAll("svg.picture").forEach(function (svg) {
    var page = svg.getBoundingClientRect();
    if (!page.width) return;
    svg.querySelectorAll("text").forEach(function (text) {
      var box = text.getBoundingClientRect();
      var group = text.closest("g");
      var frame = group && group.querySelector(":scope > rect");
      var outer = frame ? frame.getBoundingClientRect() : page;
      if (box.left < outer.left - 1 || box.right > outer.right + 1 || box.top < outer.top - 1 ||
          box.bottom > outer.bottom + 1) wrong.push("label leaves its box: " + text.textContent.slice(0, 40));
    });
  });
  if (document.images.length) wrong.push("there is an image");
  if (performance.getEntriesByType("resource").length) wrong.push("something was loaded");
  parent.postMessage(JSON.stringify({wrong: wrong, buttons: document.querySelectorAll(".commands button").length,
    pictures: [].filter.call(document.querySelectorAll("svg.picture"), function (s) {
      return s.getBoundingClientRect().width > 0 }).length, title: document.title}), "*");
});</script>"""
FRAME = """<!DOCTYPE html><meta charset="utf-8"><iframe style="border:0;width:%dpx;height:1600px" srcdoc="%s"></iframe>
<pre id="answer"></pre><script>addEventListener("message", function (e) {
  document.getElementById("answer").textContent = e.data })</script>"""


def chromium(*arguments):
    """One run of the browser with a profile of its own; its standard output."""
    with tempfile.TemporaryDirectory() as profile:
        run = subprocess.run([BROWSER, *FLAGS, f"--user-data-dir={profile}", *arguments], capture_output=True,
                             timeout=120, check=True)
    return run.stdout.decode("utf-8", "replace")


def probe(page, width, flags, folder):
    """The probe's answer for the page laid out at this width. The copy has no policy, so that the probe may run."""
    text = page.read_text("utf-8")
    copy = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("</body>", PROBE + "</body>")
    frame = folder / "frame.html"
    frame.write_text(FRAME % (width, html.escape(copy)), "utf-8")
    dom = chromium(*flags, "--virtual-time-budget=5000", "--dump-dom", frame.as_uri())
    answer = re.search(r'<pre id="answer">(.*?)</pre>', dom, re.S)
    return json.loads(html.unescape(answer[1]))


def colours(png):
    """How many different colours a screenshot (8-bit RGB or RGBA, not interlaced) has, and its first pixel."""
    data = png.read_bytes()
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    raw, size = zlib.decompress(packed), {2: 3, 6: 4}[kind]
    stride, above, seen, first = width * size, bytes(width * size), set(), None
    for row in range(min(height, 700)):  # enough of the page to be sure of it
        start = row * (stride + 1)
        line = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + stride]), above, size)
        seen.update(bytes(line[i:i + 3]) for i in range(0, stride, size * 3))
        first, above = first or tuple(line[:3]), line
    return len(seen), first


def unfilter(kind, line, above, size):
    """PNG filters (PNG specification, section 9)."""
    for i in range(len(line)):
        left = line[i - size] if i >= size else 0
        corner = above[i - size] if i >= size else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + above[i]) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + above[i]) // 2) & 255
        elif kind == 4:
            guess = left + above[i] - corner
            near = min((left, above[i], corner), key=lambda v: abs(guess - v))
            line[i] = (line[i] + near) & 255
    return line


def script_digest_is_named(page):
    text = page.read_text("utf-8")
    script = re.search(r"<script>(.*?)</script>", text, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'" in text


def check_page(page, folder):
    wrong = []
    if not script_digest_is_named(page):
        wrong.append("the policy does not name the digest of the script (src/report/page/page.cc)")
    for form, (width, height, flags) in FORMS.items():
        if form != "dark":  # the same layout as light
            answer = probe(page, width, flags, folder)
            wrong += [f"{form}: {one}" for one in answer["wrong"]]
            pictures = 1  # of the cluster
            if page.stem == "runs-only":  # nobody looked at a node there
                pictures = 0
            if page.stem.startswith("managed") or page.stem == "hostile":  # and of its management network
                pictures = 2
            if answer["pictures"] != pictures:
                wrong.append(f"{form}: {answer['pictures']} pictures are shown, not {pictures}")
            if answer["title"] == "owned":
                wrong.append(f"{form}: text of a node was run as a script")
        if form == "phone" or page.stem in ("fleet-1000", "hostile") and form == "dark":
            continue
        shot = folder / f"{page.stem}-{form}.png"
        chromium(*flags, f"--window-size={width},{height}", f"--screenshot={shot}", page.as_uri())
        count, corner = colours(shot)
        if count < 20:
            wrong.append(f"{form}: the screenshot is blank ({count} colours)")
        if (sum(corner) < 3 * 128) != (form == "dark"):
            wrong.append(f"{form}: the background is {corner}")
    return wrong


def check_print(page, folder):
    pdf = folder / f"{page.stem}.pdf"
    chromium("--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri())
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))
    # Four; squeezed columns or an empty page make more.
    return [] if pages == 4 else [f"print: {pages} pages, not 4"]


def main():
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.argv[1], "--gtest_filter=Samples.*", "--gtest_brief=1"], check=True,
                   env={**os.environ, "RAILBED_SAMPLES": str(folder)}, stdout=subprocess.DEVNULL)
    failed = False
    wanted = ["healthy-pair", "emulated-pair", "broken-pair", "dense-pair", "infiniband-three", "switched-eight",
              "fleet-32", "fleet-1000", "managed-pair", "managed-12", "managed-64", "measured-pair",
              "runs-only", "hostile"]
    for name in wanted:
        page = folder / f"{name}.html"
        wrong = check_page(page, folder)
        if name == "broken-pair":
            wrong += check_print(page, folder)
        print(f"{'FAIL' if wrong else 'ok  '} {name}", flush=True)
        for one in wrong[:8]:
            print(f"     {one}")
        failed = failed or bool(wrong)
    if len(sys.argv) <= 2:
        shutil.rmtree(folder)
    return 1 if failed else 0


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no Chromium")
        sys.exit(77)
    guardian.begin()
    sys.exit(main())
