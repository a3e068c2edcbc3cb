"""What users write may be hostile: pages show it as text, run nothing of it, and keep their layout."""

import base64
from urllib.parse import quote, urlencode

from browser import NARROW, WIDE, Visit, shown
from server import ApiError, Server

HACK = "<script>window.hacked='SCRIPT'</script><img src=x onerror=\"window.hacked='IMG'\">"
BREAK_OUT = "\"'><svg/onload=window.hacked='SVG'>{{7*7}}{% raw %}${7*7}</textarea></title></pre><b>"
LEFT_TO_RIGHT = "abc \u202e\u2066txt.exe\u2069\u202d"
EMOJI = "👩‍👩‍👧‍👦 🏴‍☠️ e\u0301\u0302\u0303 \u200b\ufeff漢字"
LONG = "W" * 240
CONTROLS = "nul:\u0000 bell:\u0007 escape:\u001b[31m return:\r tab:\t delete:\u007f next-line:\u0085"
TEXTS = [HACK, BREAK_OUT, LEFT_TO_RIGHT, EMOJI, LONG]
TOPIC = "hostile"

# Text that may change the direction of its line must stand alone in a box that isolates it.
NOT_ISOLATED = """() => {
  const turns = /[\\u202a-\\u202e\\u2066-\\u2069\\u200f]/;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!turns.test(node.data) || node.parentElement.closest("textarea, option, script")) continue;
    let box = node.parentElement;
    while (box && !/isolate|plaintext/.test(getComputedStyle(box).unicodeBidi)) box = box.parentElement;
    const around = box ? box.textContent.replace(node.data, "").trim() : "the page";
    if (around) found.push(`${box ? box.outerHTML.slice(0, 100) : "no box"} with ${around.slice(0, 60)}`);
  }
  return found;
}"""

# The widths of narrow and of wide letters in a body.
WIDTHS = """() => ["iiiiiiiiii", "WWWWWWWWWW"].map((text) => {
  const span = document.querySelector("pre#body").appendChild(document.createElement("span"));
  span.textContent = text;
  return Math.round(span.getBoundingClientRect().width);
})"""


def fits(text, chars_max):
    """A text cut to a length in bytes."""
    return text.encode()[:chars_max].decode(errors="ignore")


def fill(queue):
    """Jobs, groups and schedules with hostile texts; returns the paths of their pages."""
    queue.api("PATCH", f"/v1/topics/{TOPIC}", {"fair": True})
    jobs, paths = [], []
    for place, text in enumerate(TEXTS):
        headers = {"content-type": text, "x-hostile": text, f"name-{place}": text}
        job = {"body": text, "key": fits(text, 250), "group": fits(text, 250), "headers": headers}
        jobs += [{**job, "key": fits(text, 240) + " later", "delay": "1h"}, job]
    numbers = queue.push(TOPIC, *jobs)
    leases = {job["id"]: job["lease"] for job in queue.reserve(TOPIC, len(TEXTS))}
    for (number, lease), text in zip(leases.items(), TEXTS):
        queue.settle(bury=[lease], reason=text)
    paths += [f"/console/jobs/{number}" for number in numbers]
    paths += [f"/console/jobs?{urlencode({'topic': TOPIC, 'text': text, 'key_prefix': fits(text, 200)})}" for text in TEXTS]
    for place, text in enumerate(TEXTS):
        group = quote(fits(text, 250), safe="")
        queue.api("PATCH", f"/v1/topics/{TOPIC}/groups/{group}", {"weight": 2, "paused": place % 2 == 0})
        paths.append(f"/console/topics/{TOPIC}/groups/{group}")
        paths += schedule(queue, place, text)
    paths += bodies(queue)
    topic = f"/console/topics/{TOPIC}"
    paths += [topic, f"{topic}/groups", f"/console/schedules?topic={TOPIC}", "/console/schedules?paused=yes"]
    columns = "&columns=".join(["key", "group", "reason", "body", "state"])
    paths += [f"/console/jobs?topic={TOPIC}&columns={columns}", "/console", "/console/topics"]
    paths += ["/console/consumers", "/console/call-backs", "/console/audit"]
    paths += [f"/console/jobs?{urlencode({'text': text})}" for text in TEXTS]
    return paths


def schedule(queue, place, text):
    """A schedule whose name, note, key and jobs are hostile. A name may be less."""
    job = {"body": text, "headers": {"x": text}, "group": fits(text, 250)}
    rules = {"when": "0 9 * * *", "note": fits(text, 1000), "key": fits(text, 200), "job": job}
    try:
        name = quote(fits(text, 200), safe="")
        queue.api("PUT", f"/v1/topics/{TOPIC}/schedules/{name}", rules)
    except ApiError:
        name = f"plain-{place}"
        queue.api("PUT", f"/v1/topics/{TOPIC}/schedules/{name}", rules)
    queue.api("POST", f"/v1/topics/{TOPIC}/schedules/{name}/pause", {"note": fits(text, 1000)})
    path = f"/console/topics/{TOPIC}/schedules/{name}"
    return [path, path + "/edit"]


def bodies(queue):
    """Bodies that are large, or no text."""
    large = "<script>window.hacked='LARGE'</script>" * 27_000
    jobs = [
        {"body": large},
        {"body": "W" * (1 << 20)},
        {"body": CONTROLS},
        {"body": {HACK: [BREAK_OUT, {LEFT_TO_RIGHT: EMOJI}]}},
        {"body": [[[[[[[[[[HACK]]]]]]]]]]},
        {"body_base64": base64.b64encode(bytes(range(256)) * 300).decode()},
        {"body": "\r\n" * 3000},
    ]
    numbers = queue.push("bodies", *jobs)
    try:
        numbers += queue.push("bodies", {"body": "x", "headers": {"controls": CONTROLS}})
    except ApiError:
        # Then no page has to show such a header.
        pass
    forms = [f"/console/jobs/{number}?as={form}" for number, form in zip(numbers, ["json", "hex", "hex", "text", "text", "text", "hex"])]
    return [f"/console/jobs/{number}" for number in numbers] + forms + ["/console/jobs?topic=bodies&columns=body&columns=bytes"]


def check(started, report, binary, folder):
    """All pages that show what users wrote."""
    folder = folder / "hostile"
    flags = ["--data", str(folder / "data"), "--audit-log", str(folder / "audit.log"), "--server-name", HACK[:60]]
    with Server(binary, folder, *flags) as queue, Visit(started, queue, report) as visit:
        paths = fill(queue)
        for path in paths:
            with report.step("hostile texts", visit.page):
                look(visit, path)
        with report.step("hostile addresses", visit.page):
            addresses(visit)
        with report.step("exact texts", visit.page):
            exact(visit, queue)


def look(visit, path):
    """A page runs nothing, and keeps its width and the direction of its lines."""
    visit.go(path)
    visit.look()
    visit.check_width()
    turned = visit.page.evaluate(NOT_ISOLATED)
    visit.report.check(not turned, path, f"a text of a user may turn the text around it: {turned[:2]}")
    visit.open_all()
    visit.resize(NARROW)
    visit.check_width()
    visit.resize(WIDE)
    strange = visit.page.locator("main svg:not(.chart):not(.bar), main img, main script, main b:not(.tiles b)").count()
    visit.report.equal(strange, 0, path, "the number of elements that a user wrote")


def addresses(visit):
    """What stands in an address is text, too."""
    for text in (HACK + BREAK_OUT, fits(LEFT_TO_RIGHT + LONG, 200)):
        value = quote(text)
        for path in (f"/console/topics?find={value}", f"/console/jobs?said=saved&said_count={value}&order={value}", f"/console/audit?find={value}",
                     f"/console/schedules?prefix={value}", f"/console/call-backs?find={value}", f"/console/topics/{TOPIC}/groups?prefix={value}",
                     f"/console/login?next={value}", f"/console/jobs/change?topic={TOPIC}&delay={value}"):
            look(visit, path)
        with visit.expecting(400, 404, 422):
            for path in (f"/console/jobs?attempts_min={value}", f"/console/topics/{quote(text, safe='')}", f"/console/jobs?cursor={value}",
                         f"/console/{quote(text, safe='')}", f"/console/topics/{TOPIC}/schedules/{quote(fits(text, 100), safe='')}x"):
                visit.page.goto(path)
                visit.look()
                visit.check_width()


def exact(visit, queue):
    """A page has each text as it was written: in sight, and in the form that edits it."""
    for text in TEXTS:
        job = {"body": text, "delay": "1h", "headers": {"h": text}}
        (number,) = queue.push(TOPIC, {**job, "key": fits("exact " + text, 250), "group": fits(text, 250)})
        visit.go(f"/console/jobs/{number}")
        report, page, where = visit.report, visit.page, shown(visit.page.url)
        report.equal(page.locator("pre#body").text_content(), text, where, "the body")
        facts = page.locator("dd").all_text_contents()
        for what, value in (("key", fits("exact " + text, 250)), ("group", fits(text, 250)), ("header", text)):
            report.check(value in facts, where, f"the {what} {value!r} is not among {facts}")
        if page.locator("[name=body]").count():
            report.equal(page.locator("[name=body]").input_value(), text, where, "the body in the form")
        with page.expect_navigation():
            page.locator(f"a[href*='/groups/{quote(fits(text, 250), safe='')[:6]}']").first.click()
        report.equal(page.locator("h1 .data").text_content(), fits(text, 250), shown(page.url), "the heading of the group")
    keep_lines(visit, queue)
    show_exactly(visit, queue)


def keep_lines(visit, queue):
    """A form that is sent as it is does not change the body."""
    for body in ("\nbegins with a line", "\r\nreturns\r\n", "two\n\n\nlines\n", "tab\tand trailing  "):
        (number,) = queue.push(TOPIC, {"body": body, "delay": "1h"})
        visit.go(f"/console/jobs/{number}")
        visit.open_all()
        if not visit.page.locator("[name=with_body]").count():
            continue
        visit.page.locator("[name=with_body]").check()
        visit.press("Save", "#edit")
        visit.report.equal(queue.job(number)["body"], body, f"/console/jobs/{number}/edit", "the body after an edit without a change")


def show_exactly(visit, queue):
    """A body is shown as it is: numbers and their order in JSON, columns, and no form that would spoil it."""
    report, page = visit.report, visit.page
    json = '{"z":1,"a":12345678901234567890123,"f":1.10,"a":2}'
    number, binary = queue.push("bodies", {"body": json, "headers": {"content-type": "application/json"}}, {"body_base64": "/wBB/w=="})
    visit.go(f"/console/jobs/{number}")
    found = "".join(page.locator("pre#body").text_content().split())
    report.equal(found, json, f"/console/jobs/{number}", "the body without spaces")
    visit.go(f"/console/jobs/{binary}?as=text")
    report.equal(page.locator("[name=with_body]").count(), 0, f"/console/jobs/{binary}?as=text", "the number of forms for a body that is no text")
    visit.go(f"/console/jobs/{binary}?as=hex")
    widths = page.evaluate(WIDTHS)
    report.equal(widths[0], widths[1], f"/console/jobs/{binary}?as=hex", "the width of ten i, and that of ten W,")
