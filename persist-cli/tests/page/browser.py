"""Chromium without a window, driven by its DevTools protocol over a pipe: nothing but Python's library is needed."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome"]

# What a page records of itself while it is tested: the longest time between two frames.
FRAMES = """
window.longestFrame = 0;
(() => {
  let last = 0;
  const frame = (now) => {
    if (last > 0) window.longestFrame = Math.max(window.longestFrame, now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})();
"""

KEYS = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "Home": 36, "End": 35, "Tab": 9}


def program():
    """The path of the browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp()
        to_read, self.out = os.pipe()
        self.input, to_write = os.pipe()
        # Above 3 and 4, where the browser has them.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                 "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
                 f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen([program(), *flags], preexec_fn=place, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_read, to_write, *ends):
            os.close(end)
        self.buffer = b""
        self.calls = 0
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=FRAMES)
        self.show()

    def show(self, width=1280, height=800, dark=False):
        """Sets the size of the window, and the colours that the system asks for."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def print_media(self, dark):
        """Shows the page as it is on paper."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print", features=[scheme])

    def call(self, method, **parameters):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") != self.calls:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def read(self):
        while b"\0" not in self.buffer:
            data = os.read(self.input, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def eval(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def wait(self, expression, seconds=20):
        """Waits until an expression is true."""
        end = time.monotonic() + seconds
        while not self.eval(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise AssertionError(f"not true in {seconds} s: {expression}")
            time.sleep(0.02)

    def open(self, path):
        """Opens a page; returns the milliseconds until it could be used."""
        self.events.clear()
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        self.wait("performance.getEntriesByName('ready').length && document.readyState === 'complete'")
        # Two frames later it is seen.
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.eval("performance.now()")

    def text(self, selector):
        return self.eval(f"document.querySelector({json.dumps(selector)}).textContent")

    def texts(self, selector):
        return self.eval(f"[...document.querySelectorAll({json.dumps(selector)})].map((it) => it.textContent)")

    def click(self, selector):
        """Presses the mouse where an element is, as a person would."""
        query = f"document.querySelector({json.dumps(selector)})"
        self.wait(query)
        box = self.eval(f"(() => {{ const it = {query}; it.scrollIntoView({{ block: 'nearest' }}); "
                        "const box = it.getBoundingClientRect(); "
                        "return [box.x + Math.min(box.width / 2, 60), box.y + box.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, key):
        code = KEYS.get(key) or ord(key.upper())
        text = {"Enter": "\r"}.get(key) or (key if len(key) == 1 else "")
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """Errors of the console, and requests to anywhere but the page itself."""
        found = []
        for event in self.events:
            method, what = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(what["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                found.append(f"console: {what['args']}")
            elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not what["request"]["url"].startswith(("file:", "blob:")):
                found.append(f"request: {what['request']['url']}")
        return found

    def close(self):
        self.call("Browser.close")
        self.process.wait(timeout=10)
        shutil.rmtree(self.folder, ignore_errors=True)
