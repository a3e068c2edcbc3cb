"""Actions on topics, jobs, groups, call-backs and clients: by mouse, each checked over the API afterwards."""

import re
import time

from browser import Visit, shown
from example import Receiver
from server import Server, until

MANY = 3000


class Actions:
    """A person on a server that has no tokens."""

    def __init__(self, visit, queue):
        self.visit, self.page, self.report, self.queue = visit, visit.page, visit.report, queue

    def equal(self, found, expected, what):
        self.report.equal(found, expected, shown(self.page.url), what)

    def step(self, name):
        return self.report.step(name, self.page)

    def number(self):
        """The number of the job whose page this is."""
        return int(re.search(r"/jobs/(\d+)", self.page.url).group(1))

    def open(self, name):
        """Opens a part of the page. Without script it is the browser that does it."""
        self.page.locator("summary").filter(has_text=name).first.click()

    def fill(self, form, **fields):
        """Fills in a form, by the names of its fields."""
        for name, value in fields.items():
            self.page.locator(form).locator(f"[name='{name}']").first.fill(value)

    def run_all(self):
        """The main actions, with and without script."""
        self.queue.push("orders", {"body": "first", "delay": "1d"})
        actions = (self.make_topic, self.pause_topic, self.change_setting, self.push_job, self.change_job, self.edit_job)
        for action in (*actions, self.change_many):
            with self.step(action.__doc__.rstrip(".")):
                action()

    def make_topic(self):
        """A topic is made and forgotten."""
        self.visit.go("/console/topics")
        self.page.get_by_label("Name", exact=True).fill("made.here")
        self.visit.press("Make it")
        self.visit.said("Saved")
        self.equal(self.queue.api("GET", "/v1/topics/made.here")["count"], 0, "the number of its jobs")
        self.visit.press("Forget the topic")
        self.visit.said("Deleted")
        self.equal(self.queue.topic("made.here"), None, "the topic")

    def pause_topic(self):
        """A topic is paused and resumed."""
        self.visit.go("/console/topics/orders")
        self.visit.press("Pause delivery")
        self.visit.said("Paused")
        self.equal(self.queue.topic("orders")["paused"], True, "paused")
        self.equal(self.page.locator("h1 .state.paused").count(), 1, "the number of signs that it is paused")
        self.visit.press("Resume delivery")
        self.visit.said("Resumed")
        self.equal(self.queue.topic("orders")["paused"], False, "paused")

    def change_setting(self):
        """Settings of a topic are changed and taken away."""
        self.visit.go("/console/topics/orders")
        policy = "form[action$='/settings']"
        self.fill(policy, **{"set.ttr": "45s", "set.attempts_max": "7", "set.call_back_headers": "X-One: 1\nX-Two: 2"})
        self.page.locator("[name='set.fair']").check()
        self.visit.press("Save the policy")
        self.visit.said("Saved")
        headers = {"call_back_headers": "X-One: 1\nX-Two: 2"}
        found = self.queue.api("GET", "/v1/topics/orders")["settings"]
        self.equal(found, {**found, "ttr_ms": 45000, "attempts_max": 7, "fair": True, **headers}, "the settings")
        self.equal(self.page.locator("[name='set.ttr']").input_value(), "45s", "the field of ttr")
        self.fill(policy, **{"set.ttr": "", "set.call_back_headers": ""})
        self.page.locator("[name='set.fair']").uncheck()
        self.visit.press("Save the policy")
        found = self.queue.api("GET", "/v1/topics/orders")["settings"]
        self.equal(found, {"attempts_max": 7}, "the settings")
        with self.visit.expecting(400):
            self.fill(policy, **{"set.ttr": "soon"})
            self.visit.press("Save the policy")
            self.check_problem("ttr")
        with self.visit.expecting(400, 422):
            self.visit.go("/console/topics/orders")
            self.visit.press("Save the policy")
            self.check_problem("nothing differs")

    def check_problem(self, text):
        """Checks that the page says what is wrong, as a page of the console."""
        self.visit.look()
        said = self.page.locator("main p.problem").all_inner_texts()
        back = self.page.locator("main").get_by_role("link", name="Back").get_attribute("href")
        self.report.check(len(back) > len("/console"), shown(self.page.url), f"its link leads to {back}, not to the page before")
        self.report.check(any(text in one for one in said), shown(self.page.url), f"it says {said}, expected {text!r}")

    def push_job(self):
        """A job is pushed."""
        self.visit.go("/console/topics/orders")
        self.open("Push a job")
        body = '{"order": 17,\n "note": "<b>ünïcode</b> & \\"quotes\\""}'
        form = "#push form"
        self.fill(form, delay="15m", key="order-17", group="acme", priority="7", body=body, headers="source: shop\ntrace: 1")
        self.page.locator(form).locator("select").select_option("application/json")
        self.visit.press("Push", "#push")
        self.visit.said("Pushed as job")
        job = self.queue.job(self.number())
        expected = {"state": "delayed", "key": "order-17", "group": "acme", "priority": 7}
        self.equal({name: job[name] for name in expected}, expected, "the job")
        self.equal(job["body"], {"order": 17, "note": '<b>ünïcode</b> & "quotes"'}, "the body")
        self.equal(job["headers"], {"content-type": "application/json", "source": "shop", "trace": "1"}, "the headers")
        with self.visit.expecting(409):
            self.visit.go("/console/topics/orders")
            self.open("Push a job")
            self.fill(form, key="order-17", delay="1h")
            self.visit.press("Push", "#push")
            self.check_problem("key")

    def change_job(self):
        """Jobs are rescheduled, run now, kicked and deleted."""
        (number,) = self.queue.push("orders", {"body": "later", "delay": "1h"})
        self.visit.go(f"/console/jobs/{number}")
        self.fill("form[action$='/reschedule']", due="2030-12-24T18:00:00Z")
        self.visit.press("Reschedule")
        self.visit.said("another due time")
        self.equal(self.queue.job(number)["due"], "2030-12-24T18:00:00.000Z", "due")
        self.visit.press("Run now")
        self.visit.said("ready")
        self.equal(self.queue.job(number)["state"], "ready", "the state")
        self.fill("form[action$='/reschedule']", delay="2h")
        self.visit.press("Reschedule")
        self.equal(self.queue.job(number)["state"], "delayed", "the state")
        (buried,) = self.queue.bury("cellar", {"body": "x"}, reason="no such address")
        self.visit.go(f"/console/jobs/{buried}")
        reason = self.page.locator("dd", has_text="no such address").count()
        self.report.check(reason > 0, shown(self.page.url), "it does not say why the job was buried")
        self.visit.press("Kick: make it ready")
        self.equal(self.queue.job(buried)["state"], "ready", "the state")
        self.visit.press("Delete")
        self.visit.said("Deleted")
        self.equal(self.queue.job(buried), None, "the job")

    def edit_job(self):
        """A job is edited, and one that was changed meanwhile is not."""
        (number,) = self.queue.push("orders", {"body": "old", "delay": "1h", "headers": {"a": "1"}, "ttr": "30s"})
        self.visit.go(f"/console/jobs/{number}")
        self.open("Edit")
        form = "#edit form"
        self.fill(form, priority="3", ttr="2m", body="new\nbody", headers="b: 2")
        for name in ("with_body", "with_headers"):
            self.page.locator(form).locator(f"[name='{name}']").check()
        self.visit.press("Save", "#edit")
        self.visit.said("edited")
        job = self.queue.job(number)
        self.equal((job["priority"], job["ttr_ms"], job["body"], job["headers"]), (3, 120000, "new\nbody", {"b": "2"}), "the job")
        self.open("Edit")
        self.fill(form, priority="4", body="not this", headers="not: this")
        self.visit.press("Save", "#edit")
        job = self.queue.job(number)
        self.equal((job["priority"], job["body"], job["headers"]), (4, "new\nbody", {"b": "2"}), "the job")
        self.queue.api("PATCH", f"/v1/jobs/{number}", {"priority": 5})
        with self.visit.expecting(412):
            self.open("Edit")
            self.fill(form, priority="6")
            self.visit.press("Save", "#edit")
            self.check_problem("has changed")
        self.equal(self.queue.job(number)["priority"], 5, "the priority")

    def change_many(self):
        """Many buried jobs are made ready: counted, then changed, with progress."""
        many = MANY if self.visit.has_script else 5
        topic = f"many.{many}"
        self.queue.bury(topic, *({"body": f"job {number}"} for number in range(many)), reason="no answer")
        self.visit.go(f"/console/jobs?topic={topic}&state=buried")
        self.visit.follow(f"Change all {many:,}…")
        self.page.get_by_label("Make them ready, if they are buried").check()
        self.visit.press("Count first")
        self.page.get_by_text(f"{many:,} jobs meet the conditions. {many:,} of them").wait_for()
        self.equal(self.queue.count(topic=topic, state="buried"), many, "the number of buried jobs after counting")
        self.visit.press(f"Change {many:,} jobs now")
        self.finish_change(f"{many:,} changed, 0 left as they were, of {many:,}.")
        self.equal(self.queue.count(topic=topic, state="ready"), many, "the number of ready jobs")
        self.visit.follow("Back to the jobs")

    def finish_change(self, expected):
        """Waits for the end of a change. Without script, a person presses a button for each step."""
        progress = self.page.locator("#progress")
        while not self.visit.has_script and progress.get_by_role("button", name="Go on").count():
            self.visit.press("Go on", "#progress")
        progress.get_by_text("Done.").wait_for()
        self.report.check(expected in progress.inner_text(), shown(self.page.url), f"it says {progress.inner_text()!r}, expected {expected!r}")


class More(Actions):
    """What needs a script, or is the same without one."""

    def run_all(self):
        super().run_all()
        actions = (self.search_text, self.change_selected, self.kick_topic, self.other_changes, self.change_group, self.call_backs)
        actions += (self.stop_search, self.copy_body, self.use_keyboard)
        for action in (*actions, self.disconnect, self.refresh, self.switch_language, self.switch_zone):
            with self.step(action.__doc__.rstrip(".")):
                action()

    def search_text(self):
        """A word in a body is found."""
        (number,) = self.queue.push("hay", {"body": "here is the needle: 針", "delay": "5h"})
        self.queue.push("hay", *({"body": f"hay {place}", "delay": "1h"} for place in range(1000)))
        self.visit.go("/console/jobs")
        self.page.get_by_label("Text in body, header, key or reason").fill("needle: 針")
        self.visit.press("Show")
        self.page.get_by_text("That is all.").wait_for()
        links = self.page.locator("#jobs tbody a[href^='/console/jobs/']").all_inner_texts()
        self.equal(links, [str(number)], "the jobs that were found")
        self.visit.follow(str(number), "#jobs")
        self.equal(self.number(), number, "the job to which the link leads")
        self.visit.go("/console/jobs?text=hay&topic=hay&columns=body&columns=key")
        self.page.get_by_text("Looked at").first.wait_for()
        until(lambda: self.page.locator("#jobs tbody a").count() >= 500, "a search with many hits shows 500 of them")
        link = self.page.locator("#more a").get_attribute("href") or ""
        self.report.check("columns=body" in link, link, "a search that goes on has other columns")

    def stop_search(self):
        """A search is stopped."""
        held = []
        self.page.route("**/console/jobs?*cursor=*", lambda route: held.append(route))
        self.visit.go("/console/jobs?topic=hay&text=hay")
        until(lambda: held or self.page.wait_for_timeout(20), "the search goes on")
        self.page.get_by_role("button", name="Stop").click()
        self.equal(self.page.locator("#more[hx-get]").count(), 0, "the number of searches that go on")
        before = self.page.locator("#jobs tbody tr").count()
        held[0].continue_()
        self.page.unroute("**/console/jobs?*cursor=*")
        self.page.locator("#more").get_by_role("link", name="Go on").wait_for()
        self.equal(self.page.locator("#jobs tbody tr").count(), before, "the number of rows after it was stopped")

    def copy_body(self):
        """The body of a job is copied."""
        (number,) = self.queue.push("orders", {"body": "copy\nme", "delay": "1h"})
        self.visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.visit.go(f"/console/jobs/{number}")
        self.page.get_by_role("button", name="Copy").click()
        self.page.get_by_role("button", name="✓").wait_for()
        self.equal(self.page.evaluate("navigator.clipboard.readText()"), "copy\nme", "what was copied")

    def use_keyboard(self):
        """A person without a mouse skips the links, and pauses a topic."""
        self.visit.go("/console/topics/orders")
        self.page.keyboard.press("Tab")
        self.equal(self.page.evaluate("document.activeElement.className"), "skip", "the first element")
        self.page.keyboard.press("Enter")
        self.equal(self.page.evaluate("document.activeElement.id"), "main", "the element after skipping the links")
        for _ in range(30):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement.textContent.trim()") == "Pause delivery":
                break
        outline = self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        self.equal(outline, "solid", "the outline of the button")
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        self.visit.said("Paused")
        self.visit.press("Resume delivery")

    def change_selected(self):
        """Jobs that were selected in a list are kicked and deleted."""
        self.queue.bury("some", *({"body": f"{place}"} for place in range(4)))
        self.visit.go("/console/jobs?topic=some")
        self.page.get_by_label("Select all on this page").check()
        self.equal(self.page.locator("tbody input:checked").count(), 4, "the number of selected jobs")
        self.visit.press("Kick")
        self.visit.said("^4 jobs changed")
        self.equal(self.queue.count(topic="some", state="ready"), 4, "the number of ready jobs")
        self.page.locator("tbody input[type=checkbox]").first.check()
        self.visit.press("Delete")
        self.visit.said("^1 jobs? changed")
        self.equal(self.queue.count(topic="some"), 3, "the number of jobs")
        self.report.check("topic=some" in self.page.url, shown(self.page.url), "it does not lead back to the list")

    def kick_topic(self):
        """The buried jobs of a topic are made ready on its page."""
        self.queue.bury("some", {"body": "y"}, {"body": "z"})
        self.visit.go("/console/topics/some")
        self.visit.press("Make buried jobs ready")
        self.visit.said("^2 buried jobs are ready again")
        self.equal(self.queue.count(topic="some", state="buried"), 0, "the number of buried jobs")

    def other_changes(self):
        """Many jobs are rescheduled, moved and deleted."""
        self.queue.push("from", *({"body": "x", "delay": "1h"} for _ in range(30)))
        self.change("Give them another due time", delay="3d")
        far = self.queue.count(topic="from", due_from=f"{time.strftime('%Y')}-01-01T00:00:00Z", state="delayed")
        due = self.queue.api("GET", "/v1/jobs?topic=from&limit=1")["jobs"][0]["due"]
        self.report.check(far == 30 and due > in_hours(48), "/console/jobs/change", f"{far} jobs are delayed, the first to {due}")
        self.change("Move them to another topic", to="to.here")
        self.equal((self.queue.count(topic="from"), self.queue.count(topic="to.here")), (0, 30), "the numbers of jobs in both topics")
        self.visit.go("/console/topics/to.here")
        self.visit.follow("Delete all its jobs…")
        self.visit.press("Count first")
        self.visit.press("Change 30 jobs now")
        self.finish_change("30 changed")
        self.equal(self.queue.count(topic="to.here"), 0, "the number of jobs")

    def change(self, label, **fields):
        self.visit.go("/console/jobs/change?topic=from")
        self.page.get_by_label(label).check()
        self.fill("form[method=get]", **fields)
        self.visit.press("Count first")
        self.visit.press("Change 30 jobs now")
        self.finish_change("30 changed")

    def change_group(self):
        """The weight and the pause of a group are set."""
        self.queue.api("PATCH", "/v1/topics/imports", {"fair": True})
        self.queue.push("imports", *({"body": "row", "group": group} for group in ("tenant 7/ä", "acme", "acme")))
        self.visit.go("/console/topics/imports/groups")
        self.visit.follow("tenant 7/ä")
        self.page.get_by_label("Weight").fill("5")
        self.visit.press("Set the weight")
        self.visit.said("Saved")
        self.visit.press("Pause the group")
        self.visit.said("Paused")
        self.equal(self.group("tenant 7/ä"), (5, True), "weight and pause")
        self.visit.press("Resume the group")
        self.equal(self.group("tenant 7/ä"), (5, False), "weight and pause")
        self.visit.follow("Its jobs")
        self.equal(self.page.locator("#jobs tbody tr").count(), 1, "the number of jobs of the group")

    def group(self, name):
        groups = self.queue.api("GET", "/v1/topics/imports/groups")["groups"]
        return next((one["weight"], one["paused"]) for one in groups if one["group"] == name)

    def call_backs(self):
        """A URL is checked, and calls are paused and resumed."""
        receiver = Receiver()
        self.queue.api("PATCH", "/v1/topics/calls", {"call_back": f"{receiver.address}/due"})
        self.visit.go("/console/call-backs")
        self.visit.press("Pause calls")
        self.visit.said("Paused")
        self.equal(self.queue.api("GET", "/v1/topics/calls")["settings"].get("call_back_paused"), True, "call_back_paused")
        self.visit.press("Resume calls")
        self.visit.said("Resumed")
        self.equal(self.queue.api("GET", "/v1/topics/calls")["settings"].get("call_back_paused"), None, "call_back_paused")
        for url, may in ((f"{receiver.address}/x", True), ("http://169.254.169.254/latest", False)):
            self.page.get_by_label("URL").fill(url)
            self.visit.press("Check")
            told = self.page.locator("main p[role=status], main p.problem").all_inner_texts()
            self.report.check(any(("may call it" in one) == may for one in told), "/console/call-backs", f"for {url} it says {told}")
            self.equal(self.page.get_by_label("URL").input_value(), url, "the URL in the form")
        self.queue.api("PATCH", "/v1/topics/calls", {"call_back": None})

    def disconnect(self):
        """A client is disconnected, and its session ended."""
        waiting = self.queue.command("reserve", "nothing", "--wait", "5m")
        until(self.clients, "a client is connected")
        self.visit.go("/console/consumers")
        (number,) = self.clients()
        self.visit.press("Disconnect and give its jobs back", f"form[action$='/consumers/{number}']")
        self.visit.said("Disconnected")
        self.report.check(number not in self.clients(), "/console/consumers", f"connection {number} is still there")
        waiting.kill()
        waiting.wait()

    def clients(self):
        connections = self.queue.api("GET", "/v1/connections")["connections"]
        return [one["connection"] for one in connections if one["client_name"].startswith("adjourn-cli")]

    def refresh(self):
        """A page shows new counts by itself, and what is open stays open."""
        self.queue.push("fresh", {"body": "x"})
        self.visit.go("/console/topics/fresh")
        self.open("Push a job")
        self.queue.push("fresh", {"body": "x"}, {"body": "x"})
        self.page.locator(".tiles a[href*='state=ready'] b", has_text=re.compile("^3$")).wait_for()
        self.equal(self.page.locator("details#push[open]").count(), 1, "the number of open forms after a refresh")
        self.visit.go("/console/topics")
        link = self.page.get_by_role("link", name="fresh", exact=True)
        link.focus()
        self.queue.push("fresh", {"body": "x"})
        self.page.locator("tr", has=link).locator("td", has_text=re.compile("^4$")).first.wait_for()
        focused = self.page.evaluate("document.activeElement.textContent.trim()")
        self.report.check(focused == "fresh", "/console/topics", "a link loses the focus when the page shows new counts")

    def switch_language(self):
        """The pages are in Chinese, and in English again."""
        for path in ("/console/topics", "/console/jobs?state=buried", "/console/topics/orders"):
            self.visit.go(path)
            self.visit.press("中文", "header")
            self.equal(shown(self.page.url), path, "the page after the language was chosen")
            self.equal(self.page.locator("html").get_attribute("lang"), "zh", "the language")
            nav = self.page.locator("header nav a").all_inner_texts()
            english = [label for label in nav if re.fullmatch(r"[\x00-\x7f]+", label)]
            self.equal(english, [], "the links that are still English")
            self.visit.check_width()
            self.visit.press("English", "header")
            self.equal(self.page.locator("html").get_attribute("lang"), "en", "the language")

    def switch_zone(self):
        """Times are local, or in UTC, and stay so."""
        (number,) = self.queue.push("orders", {"body": "x", "due": "2030-12-24T18:00:00Z"})
        self.visit.go(f"/console/jobs/{number}")
        due = self.page.locator("time[datetime='2030-12-24T18:00:00.000Z']").first
        self.report.check("2:00:00 AM" in due.get_attribute("title"), shown(self.page.url), f"the local time is {due.get_attribute('title')!r}")
        zone = self.page.locator("#zone")
        self.equal(zone.inner_text(), "Times in UTC", "the button")
        zone.click()
        self.report.check("6:00:00 PM" in due.get_attribute("title"), shown(self.page.url), f"the time in UTC is {due.get_attribute('title')!r}")
        self.visit.go("/console/topics")
        self.equal(self.page.locator("#zone").inner_text(), "Local times", "the button on another page")
        self.page.locator("#zone").click()
        self.equal(self.page.locator("#zone").inner_text(), "Times in UTC", "the button")


def in_hours(hours):
    """A time from now, as the API writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + hours * 3600))


def with_script(started, report, binary, folder):
    """All actions by mouse."""
    flags = ["--call-back-allow", "127.0.0.0/8", "--call-back-ports", "1-65535"]
    with Server(binary, folder / "actions", *flags) as queue, Visit(started, queue, report) as visit:
        More(visit, queue).run_all()


def without_script(started, report, binary, folder):
    """The main actions in a browser without script."""
    with Server(binary, folder / "no-script") as queue, Visit(started, queue, report, java_script_enabled=False) as visit:
        Actions(visit, queue).run_all()
