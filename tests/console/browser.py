"""A browser that notes everything that goes wrong on a page."""

import json
import os
import re
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing.util import Finalize
from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("ADJOURN_CHROMIUM", "/usr/bin/chromium")
TIMEOUT_MS = 15_000
WIDE, NARROW = 1280, 390
HEIGHT = 900
# Rules that cost much, and of which no violation is serious.
NEVER_SERIOUS = {"region": {"enabled": False}}
# The status of a response is checked where it is received. A request that is stopped is no error.
HARMLESS = re.compile(r"Failed to load resource|htmx:(sendAbort|afterRequest),")

# The policy of a page does not apply to this script. What it says is an error in the console.
WATCH = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy violated: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
}, true);
"""

# What is wider than the viewport: the innermost elements with such a content, unless they are in a box that scrolls.
STICKING_OUT = """() => {
  const page = document.scrollingElement.scrollWidth;
  if (page <= innerWidth) return null;
  const width = document.documentElement.clientWidth;
  const scrolls = (one) => one && one !== document.body
    && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  const end = (one, box) => Math.max(box.right, box.left + one.scrollWidth);
  const isOut = (one) => !scrolls(one) && end(one, one.getBoundingClientRect()) > width + 1;
  const out = [...document.body.querySelectorAll("*")].filter((one) => isOut(one) && ![...one.children].some(isOut));
  const name = (one) => one.outerHTML.slice(0, 80);
  return `it is ${page} pixels wide at a width of ${innerWidth}: ${out.slice(0, 2).map(name)}`;
}"""


def is_installed():
    """True if there is a browser."""
    return Path(CHROMIUM).exists()


@contextmanager
def browser():
    """A browser, until the end of the block."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            yield started
        finally:
            started.close()


@lru_cache(maxsize=1)
def browser_of_process():
    """The one browser of this process, until the process ends: its start takes seconds."""
    kept = browser()
    started = kept.__enter__()
    Finalize(None, kept.__exit__, (None, None, None), exitpriority=1)
    return started


class Visit:
    """A person with a browser of their own: cookies, storage, one page."""

    def __init__(self, started, queue, report, **options):
        self.queue, self.report = queue, report
        settings = {"viewport": {"width": WIDE, "height": HEIGHT}, "timezone_id": "Asia/Shanghai", "locale": "en-GB"}
        self.context = started.new_context(base_url=queue.http, **{**settings, **options})
        self.context.set_default_timeout(TIMEOUT_MS)
        self.context.add_init_script(WATCH)
        self.has_script = options.get("java_script_enabled", True)
        self.expected = set()
        # True while `go` checks the status itself.
        self.is_going = False
        # True on pages of an attacker: what fails there is meant to fail.
        self.is_hostile = False
        self.page = self.context.new_page()
        self.page.on("console", self.on_console)
        self.page.on("pageerror", lambda error: self.fail(f"error of a script: {error}"))
        self.page.on("dialog", self.on_dialog)
        self.page.on("response", self.on_response)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def fail(self, message):
        """Notes a failure on this page."""
        if not self.is_hostile:
            self.report.fail(shown(self.page.url), message)

    def on_console(self, message):
        if message.type in ("error", "warning") and not HARMLESS.match(message.text):
            self.fail(f"console: {message.text}")

    def on_dialog(self, dialog):
        self.fail(f"a dialog opened: {dialog.message}")
        dialog.dismiss()

    def on_response(self, response):
        is_expected = response.status in self.expected or self.is_going or self.is_hostile
        if response.status >= 400 and not is_expected:
            self.report.fail(shown(response.url), f"{response.request.method} is answered with {response.status}")

    @contextmanager
    def expecting(self, *statuses):
        """Until the end of the block these statuses are no failures."""
        self.expected |= set(statuses)
        try:
            yield
        finally:
            self.expected -= set(statuses)

    def go(self, path, status=200):
        """Opens a page, which must have this status."""
        self.is_going = True
        try:
            response = self.page.goto(path)
        finally:
            self.is_going = False
        found = response.status if response else None
        assert found == status, f"its status is {found}, expected {status}"

    def look(self, name=None):
        """Checks what every page has: one h1, a title, a language, no script of a user."""
        page, where = self.page, name or shown(self.page.url)
        self.report.equal(page.locator("h1").count(), 1, where, "the number of its h1")
        title = page.title()
        is_titled = len(title.removesuffix("· Adjourn").strip()) > 0 and title.endswith("· Adjourn")
        self.report.check(is_titled, where, f"its title is {title!r}")
        hacked = page.evaluate("window.hacked")
        self.report.check(hacked is None, where, f"a script of a user ran: {hacked}")

    def open_all(self):
        """Opens all parts that a person can open."""
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")

    def resize(self, width):
        """Gives the page another width."""
        self.page.set_viewport_size({"width": width, "height": HEIGHT})

    def check_width(self, name=None):
        """Checks that the page does not scroll sideways."""
        found = self.page.evaluate(STICKING_OUT)
        if found:
            self.report.fail(name or shown(self.page.url), found)

    def check_access(self, variant, rules=None):
        """Checks a page with axe: nothing serious or critical."""
        options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {"rules": NEVER_SERIOUS})}
        if not self.page.evaluate("typeof axe === 'object'"):
            self.page.evaluate(AXE_SCRIPT)
        found = self.page.evaluate(f"axe.run(document, {json.dumps(options)}).then((all) => all.violations)")
        for violation in found:
            if violation["impact"] in ("serious", "critical"):
                nodes = violation["nodes"]
                first = f"{nodes[0]['target']} {nodes[0].get('failureSummary', '')}"
                message = f"axe, {variant}: {violation['id']} ({violation['impact']}), {len(nodes)} times: {first}"
                self.report.fail(shown(self.page.url), message)

    def press(self, name, within="main", exact=True):
        """Presses the button with this name, and waits for the page that comes."""
        button = self.page.locator(within).get_by_role("button", name=name, exact=exact).first
        with self.page.expect_navigation():
            button.click()

    def follow(self, name, within="main", exact=True):
        """Follows the link with this name."""
        with self.page.expect_navigation():
            self.page.locator(within).get_by_role("link", name=name, exact=exact).first.click()

    def said(self, pattern):
        """Checks what the page says of the last action."""
        found = self.page.locator("p.said").all_inner_texts()
        problem = self.page.locator("p.problem").all_inner_texts()
        if not (found and re.search(pattern, found[0])):
            self.fail(f"says {found or problem}, expected {pattern!r}")

    def log_in(self, token, at="/console/login"):
        """Logs in, at the page to which a page without a session leads."""
        self.page.goto(at)
        self.page.locator("main [name=token]").fill(token)
        with self.page.expect_navigation():
            self.page.locator("main button").click()


def shown(address):
    """An address without its host."""
    return re.sub(r"^http://[^/]*", "", address) or "/"
