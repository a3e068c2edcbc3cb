"""Every screen: its status, its heading, nothing in the browser's console, axe, both themes, two widths."""

import time

from browser import NARROW, WIDE, Visit, shown
from routes import declared, missed, pattern_of
from server import Server, until

# A desk and a phone.
WIDTHS = [WIDE, NARROW]
# Links of one form on pages of one form, for example from a list of jobs to each of them: so many are followed.
SAME_MAX = 1
# Rows of a table are alike, and axe takes long for many.
FEWER_ROWS = "for (const row of document.querySelectorAll('tbody > tr:nth-child(n + 8)')) row.remove();"
# The themes differ in nothing but colours.
OF_COLOURS = ["color-contrast", "link-in-text-block"]
# The charts of the overview begin two minutes after the start of a server.
CHARTS_S = 150
LINKS = "[...document.querySelectorAll('a[href]')].map((one) => [one.getAttribute('href'), one.hasAttribute('download')])"
FORMS = "[...document.querySelectorAll('form')].map((one) => [one.method, one.getAttribute('action')])"
SECTIONS = ["", "/topics", "/jobs", "/when", "/schedules", "/schedules/new", "/call-backs", "/consumers", "/cluster", "/alerts", "/audit"]


def fixed(queue):
    """Screens that must be there, with jobs in each state."""
    def first(topic, state):
        return queue.api("GET", f"/v1/jobs?topic={topic}&state={state}&limit=1")["jobs"][0]["id"]

    paths = ["/console" + section for section in SECTIONS]
    paths += ["/console/topics?find=nothing", "/console/consumers?after=999999", "/console/audit?find=PAUSE"]
    paths += [f"/console/topics/{topic}" for topic in ("orders", "mails")]
    paths += ["/console/topics/orders/when?span=month", "/console/topics/orders/groups"]
    paths += ["/console/topics/imports/groups", "/console/topics/imports/groups/umbrella", "/console/topics/orders/groups/none"]
    paths += [f"/console/jobs/{first('orders', state)}" for state in ("delayed", "ready", "reserved", "buried", "finished")]
    paths += [f"/console/jobs/{first('orders', 'delayed')}?as=hex", f"/console/jobs/{first('reminders', 'buried')}"]
    columns = "&".join(f"columns={name}" for name in ("key", "state", "group", "priority", "pushed", "reserved", "left", "bytes", "body"))
    paths += ["/console/jobs?topic=orders&state=buried&order=id", f"/console/jobs?{columns}", "/console/jobs?topic=none"]
    paths += ["/console/jobs?topic=orders&text=declined", "/console/jobs/change", "/console/jobs/change?topic=orders&change=delete"]
    paths += ["/console/schedules?topic=reports", "/console/topics/reports/schedules/weekdays/edit"]
    paths += ["/console/topics/reports/schedules/weekdays", "/console/topics/invoices/schedules/monthly"]
    return paths


def check_screen(visit, path, widths, status=200, links=None, is_first=True):
    """Checks a screen at these widths, in both themes. Its links are collected in `links`.

    If it is not the first one of its route, axe looks at it in the light theme at the first width, and in the dark one at the last.
    """
    page, report = visit.page, visit.report
    visit.go(path, status)
    visit.look()
    if links:
        links.collect(visit)
    for width in widths:
        visit.resize(width)
        visit.check_width()
    visit.open_all()
    for width in widths:
        visit.resize(width)
        visit.check_width()
    page.evaluate(FEWER_ROWS)
    for width in widths:
        visit.resize(width)
        for theme, rules in (("light", None), ("dark", OF_COLOURS)):
            if not is_first and width != (widths[0] if theme == "light" else widths[-1]):
                continue
            page.emulate_media(color_scheme=theme)
            visit.check_access(f"{theme}, {width} pixels", rules)
    for _, action in page.evaluate(FORMS):
        report.check((action or "").startswith("/console"), path, f"a form posts to {action!r}")


def of_jobs(started, report, queue):
    """The screens of jobs."""
    check_all(started, report, queue, lambda path: path.startswith("/console/jobs"))


def of_others(started, report, queue):
    """All other screens."""
    check_all(started, report, queue, lambda path: not path.startswith("/console/jobs"))
    with Visit(started, queue, report) as visit, report.step("login", visit.page):
        check_screen(visit, "/console/login?next=/console/jobs", WIDTHS)


def check_all(started, report, queue, is_wanted):
    """A part of the screens, and the pages to which their links lead."""
    links = Links(report)
    with Visit(started, queue, report) as visit:
        visit.log_in(queue.token)
        for path in filter(is_wanted, fixed(queue)):
            is_first = links.add(path)
            with report.step("screens", visit.page):
                check_screen(visit, path, WIDTHS, links=links, is_first=is_first)
        for path in filter(is_wanted, ["/console/no-such-page", "/console/jobs/999999", "/console/topics/none"]):
            with report.step("no such thing", visit.page):
                check_screen(visit, path, WIDTHS, 404)
                back = visit.page.locator("main").get_by_role("link", name="Back").get_attribute("href")
                report.check(back.startswith("/console"), path, f"its link leads to {back}")
        links.follow(visit)
    for pattern in missed(links.seen | {"/console/login"}, links.patterns):
        if is_wanted(pattern):
            report.fail(pattern, "no page of this route was looked at")


def chinese(started, report, queue):
    """The screens in Chinese, whose texts have other lengths."""
    with Visit(started, queue, report, locale="zh-CN") as visit:
        visit.log_in(queue.token)
        for path in fixed(queue):
            if "?" in path:
                continue
            with report.step("screens", visit.page):
                visit.go(path)
                visit.look()
                visit.open_all()
                report.equal(visit.page.locator("html").get_attribute("lang"), "zh", path, "the language")
                visit.check_width()
                visit.resize(NARROW)
                visit.check_width()
                visit.resize(WIDE)


class Links:
    """The links of the pages that were looked at."""

    def __init__(self, report):
        self.report, self.seen, self.counts, self.waiting, self.routes = report, set(), {}, [], set()
        self.patterns, _ = declared()

    def add(self, path):
        """Adds a page that is looked at anyway. Returns whether it is the first one of its route."""
        self.seen.add(path)
        route = pattern_of(path, self.patterns)
        is_first = route not in self.routes
        self.routes.add(route)
        return is_first

    def follow(self, visit):
        """Looks at all pages to which links lead, and at those to which they lead."""
        while self.waiting:
            path, source = self.waiting.pop(0)
            with self.report.step(f"a link of {source}", visit.page):
                visit.go(path)
                visit.look()
                self.collect(visit)

    def collect(self, visit):
        """Adds the links of the page. Of many of the same form only some are followed."""
        here = shown(visit.page.url)
        source = pattern_of(here, self.patterns)
        for link, is_file in visit.page.evaluate(LINKS):
            if link.startswith("#"):
                self.report.check(visit.page.locator(link).count() == 1, here, f"nothing has the id of its link {link}")
                continue
            self.report.check(link.startswith("/console"), here, f"a link leads elsewhere: {link}")
            form = source, *form_of(link, self.patterns)
            if link in self.seen or self.counts.get(form, 0) >= SAME_MAX:
                continue
            self.seen.add(link)
            self.counts[form] = self.counts.get(form, 0) + 1
            if is_file:
                check_file(visit, link)
            else:
                self.waiting.append((link, here))


def form_of(link, patterns):
    """What links of the same form have in common: the route, and the names in the query."""
    path, _, query = link.partition("?")
    fields = sorted({field.split("=")[0] for field in query.split("&")})
    return pattern_of(path, patterns), *fields


def check_file(visit, link):
    """A file is saved, and never shown as a page of this origin."""
    answer = visit.context.request.get(link)
    headers = answer.headers
    visit.report.equal(answer.status, 200, link, "the status")
    visit.report.equal(headers.get("content-type"), "application/octet-stream", link, "the content type")
    is_saved = headers.get("content-disposition", "").startswith("attachment")
    visit.report.check(is_saved and headers.get("x-content-type-options") == "nosniff", link, f"it is not just saved: {headers}")


def empty(started, report, binary, folder):
    """A new server: its pages say how to begin."""
    with Server(binary, folder / "empty") as queue, Visit(started, queue, report) as visit:
        for section in SECTIONS:
            with report.step("empty server", visit.page):
                check_screen(visit, "/console" + section, [NARROW])


def charts(started, report, queue):
    """The overview with its charts, when there are some."""
    with Visit(started, queue, report) as visit:
        visit.log_in(queue.token)
        with report.step("charts", visit.page):
            until(lambda: has_charts(visit), "the overview has charts", CHARTS_S)
            check_screen(visit, "/console", [NARROW, WIDE])
            report.equal(visit.page.locator("svg.chart").count(), 2, "/console", "the number of its charts")
            rows = visit.page.locator("#numbers tbody tr").count()
            report.check(rows > 0, "/console", "the numbers of the charts are no table")


def has_charts(visit):
    visit.go("/console")
    if visit.page.locator("svg.chart").count():
        return True
    time.sleep(0.5)
    return False
