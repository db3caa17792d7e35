"""A real server with small studies, opened in a real browser."""

import base64
import json
import subprocess
import sys
import time
import urllib.request

import pytest

IDEAS = (
    "Rain gardens", "Tool library", "Night bus", "Play streets", "Repair café", "Shade sails", "Open kitchen", "Quiet",
)  # fmt: skip
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
).decode()
SCRIPT, PICTURE = "<script>alert(2)</script>", "<img src=x onerror=alert(3)>"
ELSEWHERE = "http://elsewhere.test"
HOSTILE = [
    ("<script>alert(1)</script>", "text", f"</p>{SCRIPT}{PICTURE}"),
    (
        '"><img src=x onerror=alert(4)>',
        "markdown",
        f"{SCRIPT} [go](javascript:alert(5)) ![x]({ELSEWHERE}/p.png) {PICTURE}",
    ),
    ("{{7*7}} \u202eevil", "html", f"<script>parent.alert(6)</script><img src={ELSEWHERE}/i.png onerror=alert(7)>"),
    ("javascript:alert(8)", "text", "x" * 3000),
]
STUDIES = {
    **{name: {} for name in ("pairs", "touch", "undo", "edit", "reload", "offline", "lost", "two", "pause", "twice")},
    **{name: {} for name in ("void", "manage", "axe")},
    "live": {"collection": {"stopping": {"width": 1.5}, "cost": 0.1, "budget": 400}},
    "practice": {"practice": "practice.csv"},
    "invited": {"access": {"mode": "invited"}},
    "listed": {"access": {"mode": "listed", "annotators": ["ann", "bob"]}},
    "strict": {"ties": False},
    "german": {"language": "de"}, "french": {"language": "fr"},
    "few": {"collection": {"caps": {"annotator": 2}}},
    "grades": {"kind": "grades", "scale": ["bad", "fair", "good"]},
    "axe-grades": {"kind": "grades"},
    "rankings": {"kind": "rankings", "list_size": 4},
    "axe-rankings": {"kind": "rankings", "list_size": 4},
    "hostile": {"items": "hostile.csv"},
    "long": {"items": "long.csv"},
}  # fmt: skip


def toml(name, options):
    options = {"title": f"Ideas: {name}", "question": "Which idea is better?", "items": "items.csv", **options}
    sections = {key: options.pop(key) for key in ("access", "collection") if key in options}
    lines = ["[study]", f'name = "{name}"']
    lines += [f"{key} = {value(each)}" for key, each in options.items()]
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {value(each)}" for key, each in values.items())]
    return "\n".join(lines)


def value(of):
    if isinstance(of, dict):
        return "{ " + ", ".join(f"{key} = {value(each)}" for key, each in of.items()) + " }"
    return json.dumps(of)


def table(rows):
    """CSV with every value quoted."""
    return "\n".join(",".join('"' + str(each).replace('"', '""') + '"' for each in row) for row in rows) + "\n"


class Served:
    """A study on the server, as its owner sees it."""

    def __init__(self, links):
        self.join, self.owner = links["join"], links["owner"]
        self.token = self.owner.partition("#token=")[2]
        self.api = self.join.replace("/s/", "/api/v1/studies/")
        self.url = links["url"]

    def call(self, method, path, body=None, token=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.api + path, data, headers, method=method)) as answer:
            return json.loads(answer.read())

    def skipped(self, wanted):
        """Wait until this many questions were skipped: the page sends answers behind the next question."""
        for _ in range(100):
            if (found := self.call("GET", "/status")["skipped"]) == wanted:
                return
            time.sleep(0.1)
        pytest.fail(f"{found} questions skipped, {wanted} wanted")

    def stored(self, wanted=None):
        """The judgments that count, oldest first; waits until there are as many as wanted."""
        for _ in range(100):
            rows = [each for each in self.call("GET", "/export.json")["judgments"] if each["status"] == "counted"]
            if wanted is None or len(rows) == wanted:
                return rows
            time.sleep(0.1)
        pytest.fail(f"{len(rows)} judgments stored, {wanted} wanted: {rows}")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    texts = [(f"i{n}", title, f"{title} in every part of the city.") for n, title in enumerate(IDEAS)]
    (folder / "items.csv").write_text(table([("id", "title", "text"), *texts]), encoding="utf-8")
    (folder / "practice.csv").write_text(table([("id", "title"), ("p1", "Easy"), ("p2", "Hard")]), encoding="utf-8")
    hostile = [("id", "title", "text", "markdown", "html", "image")]
    for number, (title, column, content) in enumerate(HOSTILE):
        cells = {"text": "", "markdown": "", "html": "", column: content}
        picture = f"data:image/png;base64,{PIXEL}" if number == 3 else ""
        hostile.append((f"h{number}", title, cells["text"], cells["markdown"], cells["html"], picture))
    (folder / "hostile.csv").write_text(table(hostile), encoding="utf-8")
    long = [("id", "text"), *((name, "A paragraph of an answer. " * 300) for name in ("a", "b", "c"))]
    (folder / "long.csv").write_text(table(long), encoding="utf-8")
    paths = []
    for name, options in STUDIES.items():
        paths.append(folder / f"{name}.toml")
        paths[-1].write_text(toml(name, options), encoding="utf-8")
    command = [sys.executable, "-m", "crowdrank", "serve", *map(str, paths), "--json", "--port", "0"]
    with (folder / "errors.txt").open("w") as errors:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        lines = [running.stdout.readline() for _ in paths]
        assert all(lines), (folder / "errors.txt").read_text()
        yield {name: Served(json.loads(line)) for name, line in zip(STUDIES, lines, strict=True)}
        running.terminate()
        running.wait(10)
        running.stdout.close()


class Visit:
    """A page in a browser of its own, and what went wrong in it."""

    def __init__(self, browser, address, context=None, **options):
        self.context = context or browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.said, self.requests = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.goto(address)

    def start(self):
        self.page.get_by_role("button", name="Start").click()
        self.question()
        return self

    def question(self):
        """The id of the question on the screen."""
        stage = self.page.locator(".stage")
        stage.wait_for()
        return stage.get_attribute("data-question")

    def items(self):
        """The ids of the items on the screen, in their order."""
        return self.page.locator("[data-item]").evaluate_all("all => all.map((each) => each.dataset.item)")

    def press(self, name):
        """Press a key and wait until another question is on the screen."""
        return self.act(lambda: self.page.keyboard.press(name))

    def act(self, action):
        before = self.question()
        shown = self.items()
        action()
        self.page.wait_for_function("id => document.querySelector('.stage')?.dataset.question !== id", arg=before)
        return shown

    def shows(self, question):
        """Wait until this question is on the screen."""
        self.page.wait_for_function("id => document.querySelector('.stage')?.dataset.question === id", arg=question)

    def sent(self):
        """Wait until nothing is on its way to the server."""
        self.page.wait_for_function("() => document.querySelector('#unsent').textContent === ''")

    def healthy(self, url):
        """Nothing was said on the console, and nothing was asked of any other host."""
        assert self.said == []
        assert [each for each in self.requests if not each.startswith((url, "data:", "blob:"))] == []


@pytest.fixture
def visit(browser):
    """`visit(address, color_scheme="dark")`."""
    visits = []

    def open_page(address, context=None, **options):
        visits.append(Visit(browser, address, context, **options))
        return visits[-1]

    yield open_page
    for each in visits:
        each.context.close()
