"""Lists: pages that follow each other, orders, conditions, and the bars that say when jobs are due."""

from browser import Visit, shown
from server import Server

TOPICS, GROUPS, SCHEDULES, JOBS = 120, 110, 110, 130


class Lists:
    """A person who looks for something."""

    def __init__(self, visit, queue):
        self.visit, self.page, self.report, self.queue = visit, visit.page, visit.report, queue

    def run_all(self):
        actions = (self.topics, self.sort_topics, self.jobs, self.groups, self.schedules)
        for action in (*actions, self.conditions, self.columns, self.bars, self.named_oddly):
            with self.report.step(action.__doc__.rstrip("."), self.page):
                action()

    def equal(self, found, expected, what):
        self.report.equal(found, expected, shown(self.page.url), what)

    def all_pages(self, path, cell):
        """The texts of a cell of all rows, on all pages."""
        self.visit.go(path)
        found, count = [], 0
        while True:
            found += self.page.locator(f"tbody tr {cell}").all_inner_texts()
            count += 1
            following = self.page.locator("main").get_by_role("link", name="Next page")
            if not following.count() or count > 20:
                return found, count
            with self.page.expect_navigation():
                following.click()

    def check_pages(self, path, cell, expected):
        """Checks that the pages have each element once."""
        found, pages = self.all_pages(path, cell)
        self.equal(sorted(found), sorted(expected), "all that its pages have")
        self.report.check(pages == 3, path, f"it has {pages} pages for {len(expected)} elements, expected 3")
        leads_on = self.page.locator("main p.row a").count() > 0
        self.report.check(leads_on, shown(self.page.url), "no link leads from the last page to another one")

    def topics(self):
        """A hundred topics."""
        names = [f"many.{number:03}" for number in range(TOPICS)]
        for name in names:
            self.queue.push(name, {"body": "x", "delay": "1h"})
        self.check_pages("/console/topics?find=many.", "td:first-child a", names)

    def sort_topics(self):
        """Topics are sorted by what they have."""
        self.queue.bury("many.077", {"body": "x"}, {"body": "y"})
        self.visit.go("/console/topics")
        self.visit.follow("buried")
        self.equal(self.page.locator("tbody tr td:first-child a").first.inner_text(), "many.077", "the topic with most buried jobs")
        self.page.get_by_label("Name contains").fill("077")
        self.visit.press("Find")
        self.equal(self.page.locator("tbody tr").count(), 1, "the number of topics with 077 in their name")

    def jobs(self):
        """A hundred jobs, in each order."""
        def job(number):
            return {"body": f"{number}", "key": f"key-{number * 7 % JOBS:03}", "delay": f"{JOBS - number}m"}

        self.queue.push("list", *map(job, range(JOBS)))
        keys = [f"key-{number:03}" for number in range(JOBS)]
        self.check_pages("/console/jobs?topic=list", "td:nth-child(3)", keys)
        for order in ("due", "id", "key"):
            self.visit.go(f"/console/jobs?topic=list&order={order}")
            numbers = [int(one) for one in self.page.locator("tbody td:nth-child(2)").all_inner_texts()]
            by_key = self.page.locator("tbody td:nth-child(3)").all_inner_texts()
            found = by_key if order == "key" else numbers
            is_sorted = found == sorted(found, reverse=order == "due")
            self.report.check(is_sorted, shown(self.page.url), "the jobs are not in this order")

    def groups(self):
        """A hundred groups."""
        names = [f"tenant {number:03}" for number in range(GROUPS)]
        self.queue.api("PATCH", "/v1/topics/groups", {"fair": True})
        self.queue.push("groups", *({"body": "x", "group": name} for name in names))
        self.check_pages("/console/topics/groups/groups", "td:first-child a", names)
        self.page.get_by_label("Name begins with").fill("tenant 00")
        self.visit.press("Find")
        self.equal(self.page.locator("tbody tr").count(), 10, "the number of groups with this prefix")

    def schedules(self):
        """A hundred schedules of one topic, and of all topics."""
        names = [f"daily-{number:03}" for number in range(SCHEDULES)]
        for number, name in enumerate(names):
            self.queue.api("PUT", f"/v1/topics/schedules.{number % 2}/schedules/{name}", {"when": "0 9 1 1 *"})
        self.check_pages("/console/schedules", "td:first-child a", names)
        self.visit.go("/console/schedules?topic=schedules.1&prefix=daily-00")
        self.equal(self.page.locator("tbody tr").count(), 5, "the number of schedules of a topic with this prefix")

    def conditions(self):
        """Jobs are found by their conditions."""
        of_group = {"body": "x", "due": "2131-12-24T18:30:00Z", "group": "acme"}
        self.queue.push("conditions", of_group, {"body": "x", "due": "2131-12-26T00:00:00Z"})
        self.queue.bury("conditions", {"body": "x", "key": "late-1"}, reason="no such address")
        wanted = [
            ({"due_from": "2131-12-24T18:00", "due_before": "2131-12-25T18:00"}, 1),
            ({"due_from": "2131-12-24T19:30:00+01:00"}, 2),
            ({"group": "acme"}, 1),
            ({"reason": "such addr"}, 1),
            ({"attempts_min": "1"}, 1),
            ({"key_prefix": "late-"}, 1),
            ({"group": "none"}, 0),
        ]
        for fields, count in wanted:
            self.visit.go("/console/jobs?topic=conditions")
            self.visit.open_all()
            for name, value in fields.items():
                self.page.locator(f"form[role=search] [name='{name}']").fill(value)
            self.visit.press("Show")
            self.equal(self.page.locator("#jobs tbody tr").count(), count, f"the number of jobs for {fields}")
            for name, value in fields.items():
                self.equal(self.page.locator(f"form[role=search] [name='{name}']").input_value(), value, f"the field {name}")
        self.visit.go("/console/jobs?topic=conditions")
        self.page.locator("form[role=search] [value=buried]").first.check()
        self.visit.press("Show")
        self.equal(self.page.locator("#jobs tbody tr").count(), 1, "the number of buried jobs")
        self.visit.go("/console/jobs?topic=conditions")
        self.visit.open_all()
        self.page.locator("select[name=buried]").select_option("consumer")
        self.visit.press("Show")
        self.equal(self.page.locator("#jobs tbody tr").count(), 1, "the number of jobs that a consumer buried")

    def columns(self):
        """Columns are chosen, and stay chosen on the next page."""
        self.visit.go("/console/jobs?topic=list")
        self.visit.open_all()
        self.page.locator("[name=columns][value=body]").check()
        self.page.locator("[name=columns][value=state]").uncheck()
        self.visit.press("Show")
        heads = self.page.locator("#jobs th").all_inner_texts()
        self.report.check("Body" in heads and "State" not in heads, shown(self.page.url), f"the columns are {heads}")
        self.visit.follow("Next page")
        self.equal(self.page.locator("#jobs th").all_inner_texts(), heads, "the columns of the next page")

    def bars(self):
        """The bars have all delayed jobs, and lead to them."""
        delays = ["20m"] * 3 + ["5h"] * 4 + ["3d"] * 5 + ["90d"] * 6
        self.queue.push("bars", *({"body": "x", "delay": delay} for delay in delays))
        for span, inside in (("hour", 3), ("day", 7), ("month", 12)):
            self.visit.go(f"/console/topics/bars/when?span={span}")
            counts = [int(one) for one in self.page.locator("tbody td.n").all_inner_texts()]
            self.equal(sum(counts), inside, "the sum of its bars")
            self.page.get_by_text(f"{len(delays) - inside} jobs are due later.").wait_for()
        row = self.page.locator("tbody tr").filter(has=self.page.locator("td.n", has_text="5")).first
        with self.page.expect_navigation():
            row.get_by_role("link").click()
        self.equal(self.page.locator("#jobs tbody tr").count(), 5, "the number of jobs of a bar")

    def named_oddly(self):
        """Names with slashes and colons have pages."""
        topic, path = "shop/eu:orders-1", "/console/topics/shop%2Feu%3Aorders-1"
        self.queue.api("PATCH", "/v1/topics/shop%2Feu:orders-1", {"fair": True})
        self.queue.push("shop%2Feu:orders-1", {"body": "x", "group": "a/b?c#d&e=%"})
        self.visit.go("/console/topics?find=shop")
        self.visit.follow(topic)
        self.equal(shown(self.page.url), path, "the address of the topic")
        for action, said in (("Pause delivery", "Paused"), ("Resume delivery", "Resumed")):
            self.visit.press(action)
            self.visit.said(said)
        for link in ("Jobs", "When jobs are due", "Schedules", "Groups"):
            self.visit.go(path)
            self.visit.follow(link)
            self.visit.look()
        self.visit.follow("a/b?c#d&e=%")
        self.equal(self.page.locator("h1 .data").inner_text(), "a/b?c#d&e=%", "the heading")
        self.visit.press("Pause the group")
        self.visit.said("Paused")
        self.visit.follow("Its jobs")
        self.equal(self.page.locator("#jobs tbody tr").count(), 1, "the number of jobs of the group")


def check(started, report, binary, folder):
    """Lists of more than one page."""
    with Server(binary, folder / "lists") as queue, Visit(started, queue, report) as visit:
        Lists(visit, queue).run_all()
