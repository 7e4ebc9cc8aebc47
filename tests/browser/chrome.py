"""One headless Chromium that a test drives: the DevTools protocol over a pair of pipes (--remote-debugging-pipe)."""
import base64
import json
import os
import select
import subprocess
import tempfile
import time

from report_test import BROWSER, FLAGS


class Chrome:
    def __enter__(self):
        # Its helpers may write there for a moment after it has ended.
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def hand_over():
            os.dup2(to_browser, 100)
            os.dup2(from_browser, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = subprocess.Popen([BROWSER, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"],
                                        preexec_fn=hand_over, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.events = 0, b"", []
        target = self.call("Target.createTarget", {"url": "about:blank"}, own=False)["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, own=False)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.profile.cleanup()

    def call(self, method, params=None, own=True, patience=60):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if own:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + patience
        while True:
            answer = self._next(until)
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _next(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            self.buffer += os.read(self.into, 1 << 20)
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def script(self, expression):
        result = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def until(self, expression, patience=30):
        """Waits until it is true, and says how long that took."""
        began = time.monotonic()
        while not self.script(expression):
            assert time.monotonic() - began < patience, f"not within {patience} s: {expression}"
            time.sleep(0.05)
        return time.monotonic() - began

    def open(self, address, width=1280, height=1000, dark=False):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.call("Page.navigate", {"url": address})

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key}
            if kind == "keyDown" and len(key) == 1:
                event["text"] = key
            self.call("Input.dispatchKeyEvent", event)

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        path.write_bytes(base64.b64decode(data["data"]))

    def complaints(self):
        """Errors that the page logged, with those of the policy; what could not be fetched is told apart."""
        self.script("0")
        entries = [one["params"]["entry"] for one in self.events if one.get("method") == "Log.entryAdded"]
        thrown = [one["params"]["exceptionDetails"] for one in self.events if one.get("method") == "Runtime.exceptionThrown"]
        return [one["text"] for one in entries if one["level"] == "error" and one["source"] != "network"] + [str(one) for one in thrown]
