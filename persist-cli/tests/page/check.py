"""Uses the page of `persist report` as a reader would, and compares what it shows with what `persist` prints as JSON.

    python3 check.py PERSIST FOLDER [--images FOLDER]

FOLDER has quest.sav, later.sav (the same game some turns later), town.sav, large.sav and the larger sample.sav. With `--images`, screenshots
are written for the guide.
"""

import base64
import csv
import json
import os
import re
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

    def __init__(self, persist, path, page):
        self.path = path
        self.data = data_of(page)
        self.save = self.data["saves"][0]
        self.graph = json.loads(run(persist, "graph", "--json", path))

    def name(self, number):
        name = self.save["objects"]["name"][number]
        return "" if name < 0 else self.save["strings"][name]

    def path_of(self, number):
        return self.graph["objects"][number]["object"]

    def key(self, number):
        """What stands for an object in the address of the page."""
        return self.path_of(number).replace("#", "")

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


def data_of(page):
    """The data in a page, which is what `persist report --json` prints."""
    with open(page, encoding="utf-8") as text:
        found = dict(re.findall(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', text.read(), re.DOTALL))
    data = json.loads(found["report"])
    for number, save in enumerate(data["saves"]):
        save["tables"] = [json.loads(found[f"table-{number}-{kind}"]) for kind in range(len(save["classes"]))]
    return data


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
    keys = browser.eval(f"[...{links}].map((it) => it.hash.slice(2))")
    equal(keys, [path.replace("#", "") for path in refers[:len(keys)]], "references")
    if len(refers) <= 24:
        equal(len(keys), len(refers), "links to neighbours")


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
    browser.eval(f"location.hash = '#graph/near@{saved.key(number)}'")
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
    show_table(browser, saved.save["classes"][kind]["name"])
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
    browser.wait("document.querySelector('.tools .note').textContent.includes(' of ')" if len(values) > 1 else "true", 20)
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


def show_table(browser, name):
    browser.eval(f"location.hash = '#table/' + encodeURIComponent({json.dumps(name)})")
    browser.wait(f"document.querySelector('#class')?.selectedOptions[0].textContent.startsWith({json.dumps(name)})")


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
    # What is undone or redone has its label.
    browser.eval("document.querySelector('.entries').focus()")
    browser.press("End")
    rows = browser.texts(".entries .row .name")
    for row in ("redone: Add", "redone: set Door Transform:x", "undone: Score"):
        if row not in rows:
            raise AssertionError(f"{row!r} is not in the timeline: {rows}")
    check_complaints(browser, page)


# Texts that mislead a reader, run in a spreadsheet, or have all that CSV quotes.
REVERSED, FORMULA, QUOTED = "\u202egnp.exe\u2066\u200b", "=cmd|' /C calc'!A0", 'a "b", c\nd'


def check_odd_texts(browser, persist, folder):
    """Characters that are not seen are escaped in all views, and CSV quotes texts and disarms formulas."""
    path, page = f"{folder}/odd.sav", f"{folder}/odd.html"
    run("cp", f"{folder}/quest.sav", path)
    saved = Saved(persist, path, f"{folder}/quest.html")
    kind = next(at for at, it in enumerate(saved.save["classes"]) if it["name"] == "quest.Monster")
    objects = saved.save["classes"][kind]["objects"][:3]
    for number, text in zip(objects, (REVERSED, FORMULA, QUOTED)):
        escaped = "".join(f"\\u{{{ord(letter):x}}}" if ord(letter) > 126 or letter in '"\n' else letter for letter in text)
        run(persist, "set", path, f"{saved.path_of(number)}.name", f'"{escaped}"')
    run(persist, "report", path, "-o", page, "--force", "--find", "gnp", "--diff", f"{folder}/quest.sav")
    escaped = "\\u{202e}gnp.exe\\u{2066}\\u{200b}"
    browser.open(page)
    key = saved.key(objects[0])
    unseen = ("(() => { const texts = [document.title]; const walk = document.createTreeWalker(document.body, 5); "
              "for (let node = walk.nextNode(); node; node = walk.nextNode()) { if (node.parentElement.tagName === 'SCRIPT') continue; "
              "texts.push(node.nodeType === 3 ? node.data : [...node.attributes].map((it) => it.value).join(' ')); } "
              "return texts.filter((text) => /[\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(text)).length; })()")
    for place in (f"#overview@{key}", f"#graph/near@{key}", f"#table/quest.Monster@{key}", f"#compare@{key}"):
        browser.eval(f"location.hash = {json.dumps(place)}")
        browser.wait(f"document.querySelector('#view').classList.contains({json.dumps(place[1:].split('@')[0].split('/')[0])})")
        equal(browser.eval(unseen), 0, f"unseen characters in {place}")
        browser.wait("document.querySelector('#inspector h2')")
        equal(browser.text("#inspector h2"), escaped, "a name that is escaped")
    equal(browser.texts(".found .path"), [], "no path of found objects in another view")
    browser.eval("location.hash = '#overview'")
    browser.wait("document.querySelector('.found .path')")
    equal(browser.text(".found .path"), f"{saved.path_of(objects[0])}.name", "the path of what is found")
    check_csv(browser, persist, saved, path, folder)
    check_complaints(browser, page)
    check_print(browser, page, ["#compare"])


def check_csv(browser, persist, saved, path, folder):
    columns = next(table["columns"] for kind, table in zip(saved.save["classes"], saved.save["tables"]) if kind["name"] == "quest.Monster")
    show_table(browser, "quest.Monster")
    file = f"{folder}/quest.Monster.csv"
    if os.path.exists(file):
        os.remove(file)
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=os.path.abspath(folder))
    browser.click("#csv")
    end = time.monotonic() + 10
    while not os.path.exists(file):
        if time.monotonic() > end:
            raise AssertionError("no CSV file is saved")
        time.sleep(0.05)
    with open(file, newline="", encoding="utf-8") as text:
        rows = list(csv.reader(text))
    equal(rows[0], ["object", *(column["name"] for column in columns)], "the head of the CSV file")
    equal([row[1] for row in rows[1:4]], [REVERSED, f"'{FORMULA}", QUOTED], "the texts of the CSV file")
    health = [column["name"] for column in columns].index("health")
    equal([row[health + 1] for row in rows[1:]], [str(value) for value in columns[health]["values"]], "a column of the CSV file")
    equal({row[0] for row in rows[1:]}, {line.split(".")[0] for line in
          run(persist, "get", path, "Monster[*].health").decode().splitlines()}, "the objects of the CSV file")


# For each class conditions that are true for some of its objects, none, or those with parts that others do not have.
CONDITIONS = {
    "quest.Monster": ["health < 20", "health >= 50 && health != 60", "health <= 10.5 || health == 99", "kind == Ghost",
                      'kind == "Wolf"', "kind::Wolf.pack > 4", "prey == none", "prey != none", "prey.level > 1",
                      "place.x < 10 && place.y > 100.5", 'name > "Murk"', "name ~ ur", 'name ~ "UR"', 'name == "no such name"', "hoard[0].name == none",
                      'hoard[*].name > "s"', "kind::Dragon.0.scales > 9007", "place.x == 65.71429", "health < 20u8"],
    "quest.Hero": ["level == 2", "purse[Gold] > 10", 'purse["Gold"] >= 12', "weapon == none", "guild != none && health < 50",
                   "bag[-1].worn > 0"],
    "quest.World": ["fate.state > 14074774645426309646", "turn == 3000.0"],
}


def check_conditions(browser, persist, saved):
    """A condition leaves the rows that the command finds, for all columns and for one."""
    for name, conditions in CONDITIONS.items():
        show_table(browser, name)
        for condition in conditions:
            counted = subprocess.run([persist, "get", saved.path, f"{name}[{condition}]", "--count"],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            equal(filtered(browser, condition), int(counted), f"rows of {name} with {condition}")
    show_table(browser, "quest.Monster")
    health = browser.eval("[...document.querySelector('#column').options].findIndex((it) => it.textContent === 'health') - 2")
    browser.eval(f"document.querySelector('#column').value = {health}")
    counted = int(run(persist, "get", saved.path, "Monster[health < 20]", "--count"))
    equal(filtered(browser, "< 20"), counted, "rows by a column")
    for wrong in ("nothing < 5", "health <", "health < [1", "== 5 &&"):
        filtered(browser, wrong, "wrong")
    filtered(browser, "")


def filtered(browser, text, expected="right"):
    """Types a filter, and returns the number of rows that are left."""
    browser.eval("{ const it = document.querySelector('#filter'); it.value = ''; it.focus();"
                 " document.querySelector('#view .note').textContent = ''; }")
    browser.type(text) if text else browser.eval("document.querySelector('#filter').dispatchEvent(new Event('input'))")
    browser.wait("document.querySelector('#view .note').textContent !== ''")
    is_wrong = browser.eval("document.querySelector('#view .note').classList.contains('wrong')")
    if is_wrong != (expected == "wrong"):
        raise AssertionError(f"the filter {text!r}: {browser.text('#view .note')}")
    return browser.eval("Number(document.querySelector('[role=grid]').getAttribute('aria-rowcount')) - 1")


def check_deep_links(browser, saved, page):
    """An address has the id of its object, and one that leads nowhere says so."""
    number = saved.save["classes"][1]["objects"][-1]
    name = saved.save["classes"][1]["name"]
    browser.open(page)
    for place in (f"#table/{name}@{saved.key(number)}", f"#graph/near@{saved.key(number)}"):
        browser.eval(f"location.hash = {json.dumps(place)}")
        check_inspector(browser, saved, number)
        equal(browser.eval("location.hash"), place, "the address")
        equal(browser.eval("document.querySelector('#notice').hidden"), True, "no notice")
    for place, said in (("#graph@99999999", "The save has no object #99999999."),
                        ("#graph@World/99999999", "The save has no object World/#99999999."),
                        ("#graph@x", "The save has no object #x."),
                        ("#nothing", "This page has no view “nothing”."),
                        ("#table/quest.Nobody", "The save has no objects of the class of this address; here is the largest one.")):
        browser.eval(f"location.hash = {json.dumps(place)}")
        browser.wait("!document.querySelector('#notice').hidden")
        browser.wait(f"document.querySelector('#notice').textContent === {json.dumps(said)}", 3)


def check_paths(browser, persist, saved, classes):
    """Each path that a button copies leads `persist get` to one value, which is what the page shows."""
    checked = 0
    for kind in saved.save["classes"]:
        if kind["name"] not in classes:
            continue
        # The one with the most bytes has all kinds of parts.
        number = max(kind["objects"], key=lambda it: saved.save["objects"]["bytes"][it])
        browser.eval(f"location.hash = '#overview@{saved.key(number)}'")
        check_inspector(browser, saved, number)
        browser.eval("for (const it of document.querySelectorAll('#inspector details')) it.open = true")
        browser.eval("new Promise((done) => setTimeout(done, 60))")
        shown_values = browser.eval(
            "[...document.querySelectorAll('#inspector .copy')].map((it) => [it.dataset.copy,"
            " it.previousElementSibling?.matches('.number, .text') ? it.previousElementSibling.textContent : null])")
        # Some of each: they are alike.
        for path, value in shown_values[:6] + shown_values[6::max(1, len(shown_values) // 8)]:
            found = json.loads(run(persist, "get", saved.path, path, "--json"))
            equal(len(found), 1, f"values at {path}")
            if value is not None and isinstance(found[0]["value"], (int, float, str)):
                equal(value, str(found[0]["value"]), f"the value at {path}")
            checked += 1
    if checked < 20:
        raise AssertionError(f"only {checked} paths are copied")
    browser.click("#inspector .copy")
    browser.wait("document.querySelector('#live').textContent.startsWith('copied #')", 5)


def check_sizes(browser, page, places, schemes=(False, True)):
    """At both widths and in both colour schemes no view scrolls sideways or cuts words; on paper all rows are seen."""
    # What `check_themes` chose.
    browser.eval("localStorage.clear()")
    for width in (375, 1400):
        for dark in schemes:
            browser.show(width=width, height=800, dark=dark)
            browser.open(page)
            look = f"{page} at {width} pixels, {'dark' if dark else 'light'}"
            equal(browser.eval("document.documentElement.dataset.theme"), "dark" if dark else "light", look)
            for place in places:
                browser.eval(f"location.hash = {json.dumps(place)}")
                browser.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)))")
                for bar in ("documentElement", "querySelector('#views')", "querySelector('.tools') ?? document.body"):
                    box = browser.eval(f"(() => {{ const it = document.{bar}; return [it.scrollWidth - it.clientWidth,"
                                       " it.scrollHeight - it.clientHeight]; })()")
                    equal(box, [0, 0], f"{look}: what {bar} scrolls in {place}")
                equal(browser.eval(BROKEN), [], f"{look}: words that are broken in {place}")
                if width > 1000:
                    equal(browser.eval(CUT), [], f"{look}: texts that are cut in {place}")
                equal(browser.eval(FAINT), [], f"{look}: texts that are hard to read in {place}")
    browser.show()


# Words of names and heads that are on two lines: each is a text of its own, and has one box.
BROKEN = """(() => {
  const found = [];
  const walk = document.createTreeWalker(document.querySelector('.body'), 4);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!node.parentElement.closest('.plain a, .plain.two th, .kind, .key, .entry, .steps, thead') || !/^[\w.:]+$/.test(node.data)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) found.push(node.data);
  }
  return found;
})()"""

# Names and fields that are cut, though there is room in a window of this size. Commands with all their values may be.
CUT = """[...document.querySelectorAll('.body .object .name, .body .key, .entry span, [role=gridcell].number')]
  .filter((it) => it.textContent.length <= 60 && it.scrollWidth > it.clientWidth && getComputedStyle(it).display !== 'inline').map((it) => it.textContent)"""

# Texts whose colour is near that of what is behind them: less than 3 to 1.
FAINT = """(() => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((it) => (it / 255 <= 0.04 ? it / 255 / 12.92 : ((it / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, it, at) => sum + it * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let it = element; it; it = it.parentElement) {
      const colour = getComputedStyle(it).backgroundColor;
      if (/^rgb\(/.test(colour)) return channels(colour);
      if (!/rgba?\(.*, 0\)$/.test(colour)) return null;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll('.bar *, #views *, .body *')) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const ground = behind(element);
    if (ground === null || element.closest('.unseen, select') || element.offsetParent === null) continue;
    const [one, other] = [light(channels(getComputedStyle(element).color)), light(ground)].sort((a, b) => b - a);
    if ((one + 0.05) / (other + 0.05) < 3) found.push(element.textContent.slice(0, 30));
  }
  return found.slice(0, 5);
})()"""


def check_print(browser, page, places):
    """On white paper in dark ink, each list and table has all its rows, and nothing is cut."""
    for dark in (False, True):
        # The width of a sheet.
        browser.show(width=720, height=1000, dark=dark)
        browser.open(page)
        look = f"{page} on paper, {'dark' if dark else 'light'}"
        browser.print_media(dark)
        for place in places:
            check_printed(browser, look, place)
    browser.show()


def check_printed(browser, look, place):
    if place:
        browser.eval(f"location.hash = {json.dumps(place)}")
        browser.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)))")
        browser.eval("dispatchEvent(new Event('beforeprint'))")
        equal(browser.eval("getComputedStyle(document.body).color"), "rgb(29, 35, 38)", f"{look}: the ink in {place}")
        lists = browser.eval("[...document.querySelectorAll('#view .rows')].map((it) => [Number(it.getAttribute('aria-rowcount') ?? 0) - 1,"
                             " it.querySelectorAll('[data-place]').length, it.querySelector('[aria-setsize]')?.ariaSetSize ?? null,"
                             " it.scrollHeight - it.clientHeight])")
        for rows, drawn, of_list, cut in lists:
            equal(drawn, rows if of_list is None else int(of_list), f"{look}: printed rows in {place}")
            equal(cut, 0, f"{look}: what is cut of the printed rows in {place}")
        wide = browser.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        equal(wide, 0, f"{look}: how far {place} is wider than the paper")
        browser.eval("dispatchEvent(new Event('afterprint'))")


def check_paper(browser, page, name, count):
    """The browser itself prints all rows of a table: they take as many sheets as they need."""
    browser.open(page)
    show_table(browser, name)
    browser.wait("document.querySelectorAll('.window .row').length > 0")
    browser.eval("addEventListener('beforeprint', () => { window.printedRows = document.querySelectorAll('.window .row').length; })")
    pdf = base64.b64decode(browser.call("Page.printToPDF")["data"])
    equal(browser.eval("window.printedRows"), count, "rows when it is printed")
    sheets = len(re.findall(rb"/Type\s*/Page\b", pdf))
    if not count / 60 < sheets < count / 5:
        raise AssertionError(f"{count} rows are printed on {sheets} sheets")
    return sheets


def check_sample(browser, persist, folder):
    """The page of a large save is small, says what it has, and counts all."""
    path, page = f"{folder}/sample.sav", f"{folder}/sample.html"
    run(persist, "report", path, "-o", page, "--force", "--find", "Region 1")
    size = os.path.getsize(page)
    if size > 20e6:
        raise AssertionError(f"the page of {os.path.getsize(path)} bytes has {size}")
    browser.open(page)
    data = data_of(page)["saves"][0]
    totals, there = data["totals"], len(data["objects"]["id"])
    counts = json.loads(run(persist, "info", path, "--json"))[0]
    figures = dict(zip(browser.texts(".figures dt"), browser.texts(".figures dd")))
    equal(figures["objects"], shown(totals["objects"]), "objects of a large save")
    equal(browser.text(".sample strong"), f"{shown(there)} of {shown(totals['objects'])} objects", "what the page has")
    equal(totals["objects"], counts["objects"], "objects in the save")
    equal({kind["name"]: kind["records"] for kind in data["classes"]},
          {kind["name"]: kind["objects"] for kind in counts["classes"]}, "records of the classes")
    found = int(run(persist, "find", path, "Region 1", "--count"))
    equal(browser.text(".found .count"), f"{shown(found)} objects, {shown(found)} values", "what is found")
    equal(len(browser.texts(".found li")), found, "found objects in the page")
    # A person refers to objects that the page does not have.
    town = data["classes"][[kind["name"] for kind in data["classes"]].index("realm.Town")]["objects"][0]
    people = int(run(persist, "get", path, f"#{data['objects']['id'][town]}.people[*]", "--count"))
    browser.eval(f"location.hash = '#overview@{data['objects']['id'][town]}'")
    browser.wait("document.querySelectorAll('#inspector h3 .count').length === 2")
    equal(browser.texts("#inspector h3 .count")[0], shown(people), "references of a town")
    browser.eval("location.hash = '#graph@99999999'")
    browser.wait("document.querySelector('#notice').textContent.startsWith('This page does not have the object #99999999: it has')")
    show_table(browser, "realm.Person")
    persons = next(kind for kind in data["classes"] if kind["name"] == "realm.Person")
    note = f"{shown(len(persons['objects']))} rows in this page, {shown(persons['records'])} in the save"
    browser.wait(f"document.querySelector('.tools .note').textContent === {json.dumps(note)}")
    check_complaints(browser, page)
    return there, totals["objects"], size


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
            saved = Saved(persist, path, page)
            opened, frame = check_save(browser, saved, page)
            if name == "quest":
                check_compare(browser, saved)
            if name == "large":
                check_hostile(browser, saved)
            if name == "quest":
                check_conditions(browser, persist, saved)
                check_deep_links(browser, saved, page)
                check_paths(browser, persist, saved, ("quest.Monster", "quest.Hero", "quest.World"))
                key = saved.key(saved.unique())
                check_sizes(browser, page, [f"{place}@{key}" for place in
                            ("#overview", "#bytes", "#graph", "#table/quest.Guild", "#table/quest.Monster", "#compare")])
                check_print(browser, page, (f"#overview@{key}", "#bytes", "#graph", "#table/quest.Hero"))
                heroes = next(kind["records"] for kind in saved.save["classes"] if kind["name"] == "quest.Hero")
                sheets = check_paper(browser, page, "quest.Hero", heroes)
                print(f"{name}: {heroes} rows on {sheets} sheets", flush=True)
            if name == "town":
                check_paths(browser, persist, saved, ("Hunger", "Walker", "Child", "Cart", "Dice", "persist.World"))
            check_complaints(browser, path)
            objects, size = shown(len(saved.graph["objects"])), os.path.getsize(page) / 1e6
            print(f"{name}: {objects} objects, page {size:.1f} MB, usable after {opened:.0f} ms, "
                  f"longest frame {frame:.0f} ms, checked in {time.monotonic() - start:.1f} s", flush=True)
            if opened > MOST_OPEN or frame > MOST_FRAME:
                raise AssertionError(f"{name}: the page is slower than {MOST_OPEN} ms to open, {MOST_FRAME} ms a frame")
        check_timeline(browser, persist, folder)
        check_sizes(browser, f"{folder}/edits.html", ["#timeline"])
        check_print(browser, f"{folder}/edits.html", ["#timeline"])
        check_odd_texts(browser, persist, folder)
        there, objects, size = check_sample(browser, persist, folder)
        print(f"sample: {shown(there)} of {shown(objects)} objects, page {size / 1e6:.1f} MB", flush=True)
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
        ("graph", "town", "#graph/whole@World/5", {}),
        ("table", "large", "#table/realm.Person@30001", {"dark": True}),
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
