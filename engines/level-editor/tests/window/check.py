"""Uses the level editor in a real window as its user would: clicks, drags, types, undoes, kills it, starts it again, and
compares saves.

    python3 check.py LEVEL_EDITOR PERSIST [--images FOLDER]

It needs Xvfb and xdotool. With `--images`, which needs ImageMagick, screenshots are written for the guide.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from display import Display, Window, middle  # noqa: E402

# The role of an object in the view. The tree of the inspector has a button with the same name.
SEEN = {"role": "GraphicsObject"}

# The differences that the five edits make in the save, where the world is one object.
CHANGES = [
    '/Hall/Brazier.name: "Torch" -> "Brazier"',
    "/Hall/Brazier:Place.x: -64.0f32 -> -24.0f32",
    "/Hall/Brazier:Place.y: -40.0f32 -> -16.0f32",
    "/Hall/Brazier:Lamp.radius: 64.0f32 -> 96.0f32",
    "/Brazier1: + ",
]


class Check:
    def __init__(self, editor, persist, images):
        self.editor, self.persist, self.images = editor, persist, images
        self.folder = tempfile.mkdtemp()
        self.level = os.path.join(self.folder, "keep.sav")
        self.display = Display()
        self.window = None

    def close(self):
        if self.window:
            self.window.kill()
        self.display.close()
        shutil.rmtree(self.folder)

    def start(self):
        self.window = Window(self.display, self.editor, self.level)
        return self.window

    def image(self, name, box=None):
        if self.images:
            self.window.settle()
            self.display.image(os.path.join(self.images, name), box)

    def run(self, *arguments, code=0):
        """Returns the output of the command `persist`."""
        done = subprocess.run([self.persist, *arguments], stdout=subprocess.PIPE, text=True, cwd=self.folder)
        assert done.returncode == code, f"persist {arguments}: {done.returncode}, {done.stdout}"
        return done.stdout

    def copy(self, name):
        shutil.copy(self.level, os.path.join(self.folder, name))

    def save(self):
        self.window.press("ctrl+s")
        self.window.see_title("keep.sav")

    def edit(self):
        """Makes five edits of a saved level; returns the position of the lamp."""
        window = self.start()
        window.see("Torch", **SEEN)
        window.see_title("keep.sav *")
        self.save()
        self.copy("first.sav")

        window.drag("Torch", (40, 24), **SEEN)
        window.see_title("keep.sav *")
        window.fill("radius", "96", role="SpinButton")
        window.see("radius", value="96")
        window.fill("Name", "Brazier", role="TextInput")
        lamp = window.see("Brazier", **SEEN)

        window.click("Brazier", **SEEN)
        window.press("ctrl+c")
        window.see_text("copied Brazier") # the clipboard has it after that frame
        window.press("ctrl+v")
        window.see("Brazier1", **SEEN)

        window.click("Guard", **SEEN)
        window.press("Delete")
        window.see_none("Guard", **SEEN)
        window.press("ctrl+z")
        window.see("Guard", **SEEN)
        window.press("ctrl+shift+z")
        window.see_none("Guard", **SEEN)
        window.press("ctrl+z")
        window.see("Guard", **SEEN)
        self.image_of_history()
        return lamp

    def image_of_history(self):
        self.window.click("Brazier", **SEEN)
        self.window.click("Edit")
        self.window.click("History")
        self.window.press("Escape")
        self.image("level-editor.png")
        self.window.click("Edit")
        self.window.click("History")
        self.window.press("Escape")

    def refuse_a_second(self):
        """Only one editor at a time can open a level."""
        done = subprocess.run([self.editor, self.level], env=self.display.environment, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and done.stderr.startswith("level-editor: "), done

    def recover(self, lamp):
        """No edit is lost when the editor is killed."""
        self.window.kill()
        # Recover the level from its save and journal, without the editor.
        self.run("journal", "keep.journal", "--to", "8", "-o", "replayed.sav")

        window = self.start()
        window.see_text("Recovered 8 edits")
        window.see_title("keep.sav *")
        assert window.see("Brazier", **SEEN).box[2:] != lamp.box, "the banner moves nothing"
        window.see("Guard", **SEEN)
        window.click("Brazier", **SEEN)
        window.see("radius", value="96")
        self.image("level-editor-recovered.png", (0, 0, 708, 500))
        window.click("Edit")
        window.see("Undo Paste Ctrl+Z")
        window.see("Redo Delete Guard Ctrl+Shift+Z")
        window.press("Escape")
        window.see_none("Redo Delete Guard Ctrl+Shift+Z")
        self.save()
        self.run("diff", "replayed.sav", "keep.sav")
        changes = self.run("diff", "first.sav", "keep.sav", code=1).splitlines()
        for change in CHANGES:
            assert any(line.strip().startswith(change) for line in changes), (change, changes)
        assert "1 changed, 0 added, 0 removed" in changes, changes

    def crash(self):
        """No edit is lost when a bug aborts the editor."""
        window = self.window
        window.click("Close the message")
        window.drag("Candle", (0, 48), **SEEN)
        window.click("File")
        window.click("Crash", ends=True)
        assert window.program.wait(60) == -signal.SIGABRT

    def undo_all(self):
        """The edits before the kill and the abort can be undone, back to an equal save."""
        window = self.start()
        window.see_text("Recovered 1 edit")
        x, y = middle(window.see("Candle", **SEEN))
        window.press("ctrl+z")
        window.until("undone drag", lambda: middle(window.see("Candle", **SEEN)) == (x, y - 48))
        window.see_title("keep.sav")
        window.press("ctrl+z")
        window.see_none("Brazier1", **SEEN)
        window.press("ctrl+z")
        window.click("Torch", **SEEN)
        window.see("radius", value="96")
        window.press("ctrl+z")
        window.see("radius", value="64")
        window.press("ctrl+z")
        window.see("x", value="-64")
        self.save()
        self.run("diff", "first.sav", "keep.sav")

    def save_while_typing(self):
        """A save includes the text that is being typed, and the field keeps the focus."""
        window = self.window
        window.fill("Name", "Lantern", end="ctrl+s", role="TextInput")
        window.see("Lantern", **SEEN)
        window.see_title("keep.sav")
        changes = self.run("diff", "first.sav", "keep.sav", code=1)
        assert 'name: "Torch" -> "Lantern"' in changes, changes
        self.display.tool("type", "s")
        window.press("Return")
        window.see("Lanterns", **SEEN)


def main():
    editor, persist = map(os.path.abspath, sys.argv[1:3])
    images = os.path.abspath(sys.argv[4]) if sys.argv[3:4] == ["--images"] else None
    check = Check(editor, persist, images)
    try:
        lamp = check.edit()
        check.refuse_a_second()
        check.recover(lamp)
        check.crash()
        check.undo_all()
        check.save_while_typing()
    finally:
        check.close()
    print("the level editor recovered from its crashes")


main()
