"""A virtual display and the window of an editor in it, by Xvfb, xdotool and Python's standard library."""

import collections
import os
import signal
import subprocess
import tempfile
import threading
import time

# Long enough for a busy machine. Usually each wait takes a few frames.
MOST_SECONDS = 60

Widget = collections.namedtuple("Widget", "role label value box focused")


class Display:
    """An X server on a display that is free."""

    def __init__(self, width=1100, height=700):
        to_read, to_write = os.pipe()
        self.server = subprocess.Popen(
            # Otherwise the server resets whenever its last client ends, and refuses new clients meanwhile.
            ["Xvfb", "-noreset", "-displayfd", str(to_write), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"],
            pass_fds=[to_write], stderr=subprocess.DEVNULL)
        os.close(to_write)
        with os.fdopen(to_read) as display:
            self.environment = {**os.environ, "DISPLAY": f":{display.readline().strip()}", "LIBGL_ALWAYS_SOFTWARE": "1"}
        # Otherwise winit computes another scale factor for the virtual screen.
        self.environment["WINIT_X11_SCALE_FACTOR"] = "1"

    def close(self):
        self.server.kill()
        self.server.wait()

    def tool(self, *arguments):
        done = subprocess.run(["xdotool", *map(str, arguments)], env=self.environment, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    def image(self, path, box=None):
        """Writes an image of the screen, or a part of it, with few colours."""
        crop = []
        if box:
            left, top, right, bottom = map(round, box)
            crop = ["-crop", f"{right - left}x{bottom - top}+{left}+{top}", "+repage"]
        subprocess.run(["import", "-silent", "-window", "root", *crop, "-strip", "+dither", "-colors", "64", path],
                       env=self.environment, check=True)


class Window:
    """A program that reports its widgets: after each frame that differs, a line for each and an empty line."""

    def __init__(self, display, *command):
        self.display = display
        environment = {**display.environment, "LEVEL_EDITOR_WIDGETS": "1"}
        # The error output, which is shown if the program ends.
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        encoding="utf-8")
        self.changed = threading.Condition()
        self.widgets = []
        self.reports = 0
        threading.Thread(target=self.read, daemon=True).start()
        self.id = self.until("a window", lambda: display.tool("search", "--onlyvisible", "--pid", self.program.pid))
        # Without a window manager, nothing else gives the window the keyboard focus.
        self.id = self.id.split()[-1]
        display.tool("windowfocus", "--sync", self.id)

    def read(self):
        widgets = []
        for line in self.program.stdout:
            line = line.rstrip("\n")
            if line:
                role, label, value, box, focus = line.split("\t")
                widgets.append(Widget(role, label, value, tuple(map(float, box.split())), focus == "focus"))
                continue
            with self.changed:
                self.widgets, widgets = widgets, []
                self.reports += 1
                self.changed.notify_all()

    def until(self, what, condition):
        """Waits until a condition holds, and returns what it returns."""
        end = time.monotonic() + MOST_SECONDS
        while True:
            with self.changed:
                if found := condition():
                    return found
                # Changes of other things than widgets, such as the title, are not reported.
                self.changed.wait(0.05)
            if self.program.poll() is not None:
                self.errors.seek(0)
                raise AssertionError(f"the editor has ended with {self.program.returncode}, and there was no {what}\n"
                                     f"{self.errors.read()}")
            if time.monotonic() > end:
                shown = "\n".join(map(str, self.widgets))
                raise AssertionError(f"{shown}\n{self.title()!r}\nwithin {MOST_SECONDS} s, there was no {what}")

    def settle(self):
        """Waits until frames no longer differ, for example until a menu is at its final position."""
        while True:
            reports = self.reports
            time.sleep(0.15)
            if self.reports == reports:
                return

    def find(self, label, role=None, value=None):
        """Returns the widgets with a label, and with a role and a value if these are given."""
        return [widget for widget in self.widgets
                if widget.label == label and role in (None, widget.role) and value in (None, widget.value)]

    def see(self, label, **more):
        return self.until(f"{label!r} {more}", lambda: self.find(label, **more))[0]

    def see_none(self, label, **more):
        self.until(f"end of {label!r} {more}", lambda: not self.find(label, **more))

    def see_text(self, text):
        """Waits for a label that contains a text."""
        return self.until(f"text {text!r}", lambda: [widget for widget in self.widgets if text in widget.value])[0]

    def title(self):
        return self.display.tool("getwindowname", self.id)

    def see_title(self, title):
        self.until(f"title {title!r}", lambda: self.title() == title)

    def click(self, label, ends=False, **more):
        self.see(label, **more)
        self.settle()
        self.move(*middle(self.see(label, **more)))
        self.button("down")
        if ends:
            self.display.tool("mouseup", 1)
        else:
            self.button("up")

    def move(self, x, y):
        """Moves the mouse, and waits for a frame that has seen it, since the next frame knows the widget below it."""
        self.display.tool("mousemove", x, y)
        self.until(f"pointer at {x} {y}", lambda: self.widgets and self.widgets[0].box[:2] == (x, y))

    def button(self, state):
        self.display.tool(f"mouse{state}", 1)
        self.until(f"button that is {state}", lambda: self.widgets[0].label == state)

    def press(self, *keys):
        self.display.tool("key", *keys)

    def fill(self, label, text, end="Return", **more):
        """Types into a field, and presses a key."""
        self.click(label, **more)
        self.until(f"focus in {label!r}", lambda: any(widget.focused for widget in self.find(label)))
        self.press("ctrl+a")
        self.display.tool("type", text)
        self.press(end)

    def drag(self, label, by, **more):
        """Drags a widget, and waits until it has followed the mouse."""
        self.settle()
        x, y = middle(self.see(label, **more))
        self.move(x, y)
        self.button("down")
        for step in (4, 3, 2, 1):
            self.move(x + by[0] // step, y + by[1] // step)
        there = (x + by[0], y + by[1])
        self.until(f"{label} at {there}", lambda: [seen for seen in self.find(label, **more) if middle(seen) == there])
        self.button("up")

    def kill(self):
        """Kills the program, so that it cannot run any more code."""
        self.program.send_signal(signal.SIGKILL)
        return self.program.wait()


def middle(widget):
    left, top, right, bottom = widget.box
    return round((left + right) / 2), round((top + bottom) / 2)
