"""Uses the page of `persist report` as a reader would, and compares what it shows with what `persist` prints as JSON.

    python3 check.py PERSIST FOLDER [--images FOLDER]

FOLDER has quest.sav, later.sav (the same game some turns later), town.sav and large.sav. With `--images`, screenshots
are written for the guide.
"""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from browser import Browser  # noqa: E402

FIXTURES = os.path.join(os.path.dirname(__file__), "../../../fixtures")
# On a busy machine; alone it takes a third of it.
MOST_OPEN = 4000
MOST_FRAME = 700


class Saved:
    """A save, as the command shows it to programs."""

    def __init__(self, persist, path, *more):
        self.path = path
        self.data = json.loads(run(persist, "report", "--json", path, *more))
        self.save = self.data["saves"][0]
        self.graph = json.loads(run(persist, "graph", "--json", path))

    def name(self, number):
        name = self.save["objects"]["name"][number]
        return "" if name < 0 else self.save["strings"][name]

    def path_of(self, number):
        return self.graph["objects"][number]["object"]

    def neighbours(self, number):
        """The objects that one refers to, and those that refer to it."""
        path = self.path_of(number)
        refers = [edge["to"] for edge in self.graph["references"] if edge["from"] == path]
        referenced = [edge["from"] for edge in self.graph["references"] if edge["to"] == path]
        return refers, referenced

    def unique(self):
        """An object whose name no other has, with references, and not too many to list."""
        counts = {}
        for number in range(len(self.graph["objects"])):
            counts.setdefault(self.name(number), []).append(number)
        degrees = {}
        for edge in self.graph["references"]:
            degrees[edge["from"]] = degrees.get(edge["from"], 0) + 1
        for name, numbers in counts.items():
            if name and len(numbers) == 1 and 1 <= degrees.get(self.path_of(numbers[0]), 0) <= 24:
                return numbers[0]
        raise AssertionError(f"{self.path} has no object to look for")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: the page shows {str(found)[:300]!r}, the save has {str(expected)[:300]!r}")


def shown(count):
    return f"{count:,}"


def check_overview(browser, saved):
    figures = dict(zip(browser.texts(".figures dt"), browser.texts(".figures dd")))
    equal(figures["objects"], shown(len(saved.graph["objects"])), "objects")
    equal(figures["references"], shown(len(saved.graph["references"])), "references")
    equal(figures["cycles"], shown(len(saved.graph["cycles"])), "cycles")
    equal(figures["unreferenced"], shown(len(saved.graph["unreferenced"])), "unreferenced objects")
    equal(browser.texts(".plain tbody a"), [kind["name"] for kind in saved.save["classes"]], "classes")


def check_treemap(browser, saved):
    browser.click("#views a[href^='#bytes']")
    browser.wait("document.querySelectorAll('.map .area').length")
    parts = saved.save["usage"]["parts"]
    equal(browser.eval("document.querySelectorAll('.map .area').length"), len(parts), "areas")
    # Opens the largest class, and comes back; then its table.
    browser.eval("document.querySelector('.map .tile.kind').focus()")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('.trail button').length")
    browser.click(".trail button")
    browser.wait("document.querySelectorAll('.trail button').length === 0")
    browser.eval("location.hash = '#overview'")
    browser.click(".plain tbody a")
    browser.wait("document.querySelector('#view.table')")


def check_search(browser, saved, number):
    name = saved.name(number)
    browser.press("/")
    equal(browser.eval("document.activeElement.id"), "find", "the focus after /")
    browser.eval("document.activeElement.value = ''")
    browser.type(name)
    browser.wait("document.querySelectorAll('#found [role=option]').length")
    equal(browser.text("#found [aria-selected=true] .name"), name, "the first object found")
    browser.press("Enter")
    check_inspector(browser, saved, number)


def check_inspector(browser, saved, number):
    name = saved.name(number) or f"#{saved.save['objects']['id'][number]}"
    browser.wait(f"document.querySelector('#inspector h2')?.textContent === {json.dumps(name)}")
    refers, referenced = saved.neighbours(number)
    equal(browser.texts("#inspector h3 .count"), [shown(len(refers)), shown(len(referenced))], "neighbours")
    # Long lists show some of theirs.
    links = "[...document.querySelectorAll('#inspector section')].at(-2).querySelectorAll('a.object')"
    numbers = browser.eval(f"[...{links}].map((it) => Number(it.hash.slice(2)))")
    equal([saved.path_of(other) for other in numbers], refers[:len(numbers)], "references")
    if len(refers) <= 24:
        equal(len(numbers), len(refers), "links to neighbours")


def check_links(browser, saved, number):
    """A reference leads to its object, and Back returns."""
    refers, _ = saved.neighbours(number)
    browser.click("#inspector .neighbours a.object")
    paths = [node["object"] for node in saved.graph["objects"]]
    check_inspector(browser, saved, paths.index(refers[0]))
    browser.eval("history.back()")
    check_inspector(browser, saved, number)


def check_graph(browser, saved, number):
    """The graph is drawn, moves to another object by a key, and colours cycles."""
    browser.eval(f"location.hash = '#graph/near@{number}'")
    browser.wait("document.querySelector('#view .note')?.textContent.endsWith('.')", 20)
    drawn = ("(() => { const it = document.querySelector('canvas'); const data = it.getContext('2d')"
             ".getImageData(0, 0, it.width, it.height).data; let seen = 0; "
             "for (let at = 3; at < data.length; at += 4) seen += data[at] > 0; return seen; })()")
    browser.wait(f"{drawn} > 50")
    equal(browser.eval("document.querySelector('canvas').getAttribute('role')"), "application", "the role of the graph")
    browser.eval("document.querySelector('canvas').focus()")
    browser.press("n")
    refers, _ = saved.neighbours(number)
    paths = [node["object"] for node in saved.graph["objects"]]
    others = [paths.index(path) for path in refers if path != saved.path_of(number)]
    check_inspector(browser, saved, others[0])
    browser.eval("location.hash = '#graph/whole'")
    browser.wait("document.querySelector('.segments input:checked')?.value === 'whole'")
    browser.click(".tools .switch")
    browser.wait("document.querySelector('.tools .switch input').checked")


def check_table(browser, saved):
    """Sorts by a number in both directions, filters, and opens a row by keys."""
    found = [(kind, at) for kind, table in enumerate(saved.save["tables"])
             for at, column in enumerate(table["columns"]) if column["is"] == "number" and len(column["values"]) > 1
             and all(isinstance(value, (int, float)) for value in column["values"])]
    kind, at = max(found, key=lambda it: len(saved.save["tables"][it[0]]["columns"][it[1]]["values"]))
    values = saved.save["tables"][kind]["columns"][at]["values"]
    objects = saved.save["classes"][kind]["objects"]
    browser.eval(f"location.hash = '#table/{kind}'")
    browser.wait(f"document.querySelector('[role=grid]')?.getAttribute('aria-rowcount') === '{len(values) + 1}'")
    head = f"[role=columnheader]:nth-child({at + 2})"
    cells = f".window .row [role=gridcell]:nth-child({at + 2})"
    for direction in ("ascending", "descending"):
        browser.click(f"{head} button")
        browser.wait(f"document.querySelector({json.dumps(head)}).getAttribute('aria-sort') === '{direction}'")
        browser.wait(f"document.querySelector('#live').textContent.includes('{direction}')")
        first = [float(text) for text in browser.texts(cells)[:5]]
        equal(first, [float(value) for value in sorted(values, reverse=direction == "descending")[:5]], direction)
    # By keys: the second row.
    browser.eval("document.querySelector('[role=grid]').focus()")
    browser.press("Home")
    browser.press("ArrowDown")
    browser.press("Enter")
    order = sorted(range(len(values)), key=lambda row: -values[row])
    check_inspector(browser, saved, objects[order[1]])
    # By the id of an object: it is among the rows that are left, and each has the text.
    wanted = f"#{saved.save['objects']['id'][objects[-1]]}"
    browser.click("#filter")
    browser.type(wanted)
    browser.wait("document.querySelector('.tools .quiet').textContent.includes(' of ')" if len(values) > 1 else "true", 20)
    rows = browser.texts(".window .row")
    if not rows or not any(wanted in row for row in rows):
        raise AssertionError(f"the filter {wanted} leaves {rows[:3]}")


def check_hostile(browser, saved):
    """A name that is markup is text."""
    hostile = [text for text in saved.save["strings"] if "onerror" in text]
    equal(len(hostile), 1, "hostile names")
    browser.press("Escape")
    browser.eval("document.activeElement.blur()")
    browser.press("/")
    browser.eval("document.activeElement.value = ''")
    browser.type("onerror")
    browser.press("Enter")
    browser.wait(f"document.querySelector('#inspector h2')?.textContent === {json.dumps(hostile[0])}")
    equal(browser.eval("document.querySelectorAll('img').length"), 0, "images")


def check_themes(browser):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.eval(ground)
    browser.click("#theme")
    if browser.eval(ground) == light:
        raise AssertionError("the switch does not change the colours")
    browser.click("#theme")
    equal(browser.eval(ground), light, "the colours after two presses")


def check_compare(browser, saved):
    diff = saved.data["diff"]
    browser.click("#views a[href^='#compare']")
    browser.wait("document.querySelectorAll('.sides .plain').length")
    equal(browser.texts(".switch .count"), [shown(len(diff[key])) for key in ("a", "added", "gone")], "differences")
    fields = [diff["names"][field][1] for field in diff["fields"][0]]
    equal(sorted(browser.texts(".two tr.changed th")), sorted(fields), "the fields that differ")


def check_timeline(browser, persist, folder):
    save, journal = f"{FIXTURES}/journals/edits.sav", f"{FIXTURES}/journals/edits.journal"
    page = f"{folder}/edits.html"
    run(persist, "report", save, "--journal", journal, "-o", page, "--force")
    listed = json.loads(subprocess.run([persist, "journal", journal, "--json"], stdout=subprocess.PIPE).stdout)
    events = listed["entries"] + listed["events"]
    browser.open(page)
    browser.click("#views a[href^='#timeline']")
    browser.wait("document.querySelectorAll('.entries .row').length")
    equal(browser.text("#view .tools .quiet").split()[0], shown(len(events)), "entries")
    # The last one is chosen; up to the first one with a step.
    browser.eval("document.querySelector('.entries').focus()")
    browser.press("Home")
    browser.press("Enter")
    first = events[0]["label"] or events[0]["what"]
    browser.wait(f"document.querySelector('.sides h2').textContent.startsWith({json.dumps(first)})")
    rows = browser.eval("document.querySelectorAll('.sides tbody tr').length")
    equal(rows, len(events[0]["steps"]), "steps of the first entry")
    check_complaints(browser, page)


def check_tab_order(browser):
    """The first key leads to the content, and each stop shows where the focus is."""
    browser.eval("document.activeElement.blur()")
    browser.press("Tab")
    equal(browser.eval("document.activeElement.className"), "skip", "the first stop")
    stops = []
    for _ in range(6):
        browser.press("Tab")
        stops.append(browser.eval("document.activeElement.id || document.activeElement.textContent"))
    equal(stops[:3], ["find", "theme", "Overview"], "the next stops")


def check_complaints(browser, path):
    complaints = browser.complaints()
    if complaints:
        raise AssertionError(f"{path}: {complaints}")


def check_save(browser, saved, page):
    opened = browser.open(page)
    check_overview(browser, saved)
    check_tab_order(browser)
    number = saved.unique()
    check_search(browser, saved, number)
    check_links(browser, saved, number)
    check_treemap(browser, saved)
    check_table(browser, saved)
    check_graph(browser, saved, number)
    check_themes(browser)
    frame = browser.eval("longestFrame")
    return opened, frame


def main():
    persist, folder = sys.argv[1:3]
    images = sys.argv[4] if sys.argv[3:4] == ["--images"] else None
    browser = Browser()
    try:
        for name in ("quest", "town", "large"):
            start = time.monotonic()
            path, page = f"{folder}/{name}.sav", f"{folder}/{name}.html"
            more = ["--diff", f"{folder}/later.sav", "--by", "name"] if name == "quest" else []
            run(persist, "report", path, "-o", page, "--force", *more)
            saved = Saved(persist, path, *more)
            opened, frame = check_save(browser, saved, page)
            if name == "quest":
                check_compare(browser, saved)
            if name == "large":
                check_hostile(browser, saved)
            check_complaints(browser, path)
            objects, size = shown(len(saved.graph["objects"])), os.path.getsize(page) / 1e6
            print(f"{name}: {objects} objects, page {size:.1f} MB, usable after {opened:.0f} ms, "
                  f"longest frame {frame:.0f} ms, checked in {time.monotonic() - start:.1f} s", flush=True)
            if opened > MOST_OPEN or frame > MOST_FRAME:
                raise AssertionError(f"{name}: the page is slower than {MOST_OPEN} ms to open, {MOST_FRAME} ms a frame")
        check_timeline(browser, persist, folder)
        if images:
            take_images(browser, folder, images)
    finally:
        browser.close()


def take_images(browser, folder, images):
    """The pictures of the guide."""
    os.makedirs(images, exist_ok=True)
    views = [
        ("overview", "quest", "#overview", {}),
        ("bytes", "quest", "#bytes", {}),
        ("graph", "town", "#graph/whole@5", {}),
        ("table", "large", "#table/0@30000", {"dark": True}),
        ("compare", "quest", "#compare", {}),
    ]
    for name, save, place, look in views:
        browser.show(width=1100, height=680, **look)
        browser.open(f"{folder}/{save}.html")
        browser.eval(f"location.hash = {json.dumps(place)}")
        time.sleep(3)
        browser.screenshot(f"{images}/report-{name}.png")
    browser.show()


if __name__ == "__main__":
    main()
