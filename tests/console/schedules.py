"""Schedules: one is made with the form, looked at, edited, paused, run, filled and deleted."""

from urllib.parse import quote

from browser import Visit, shown
from server import ApiError, Server

NAME = "nightly / ä"
PATH = f"/console/topics/reports/schedules/{quote(NAME, safe='')}"
NOTE = "for\nthe accountants"
API = f"/v1/topics/reports/schedules/{quote(NAME, safe='')}"


class Schedules:
    """A person on a server that has no tokens."""

    def __init__(self, visit, queue):
        self.visit, self.page, self.report, self.queue = visit, visit.page, visit.report, queue

    def run_all(self):
        """One step after the other: each needs those before it."""
        actions = (self.preview, self.make, self.make_again, self.edit, self.edit_too_late)
        for action in (*actions, self.pause, self.run, self.backfill, self.delete):
            with self.report.step(action.__doc__.rstrip("."), self.page):
                action()

    def equal(self, found, expected, what):
        self.report.equal(found, expected, shown(self.page.url), what)

    def fill(self, **fields):
        """Fills in the form. Names of fields have `__` for a dot."""
        for name, value in fields.items():
            self.page.locator(f"main form [name='{name.replace('__', '.')}']").fill(value)

    def shown(self):
        """The schedule, or None if there is none."""
        try:
            return self.queue.api("GET", API)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def preview(self):
        """The form shows when a schedule would fire, and keeps what was filled in."""
        self.visit.go("/console/schedules")
        self.visit.follow("New schedule")
        self.fill(topic="reports", name=NAME, when="0 9 * * 1-5", zone="Europe/Berlin", note=NOTE)
        self.fill(job__body="\nbody\n<b>", job__headers="a: 1")
        self.page.locator("[name=overlap]").select_option("allow")
        self.visit.press("Preview")
        self.visit.look()
        instants = self.page.locator("section.said li").all_inner_texts()
        self.equal(len([one for one in instants if " 09:00:00 " in one]), 5, "the number of instants at nine")
        self.equal(self.page.locator("[name=name]").input_value(), NAME, "the name in the form")
        self.equal(self.page.locator("[name='job.body']").input_value(), "\nbody\n<b>", "the body in the form")
        self.equal(self.page.locator("[name=overlap]").input_value(), "allow", "the overlap in the form")
        self.equal(self.shown(), None, "the schedule after a preview")
        with self.visit.expecting(400, 422):
            self.fill(when="0 0 31 2 *")
            self.visit.press("Preview")
            told = self.page.locator("main p.problem").all_inner_texts()
            self.report.check(any("when" in one for one in told), shown(self.page.url), f"for a wrong expression it says {told}")
            self.equal(self.page.locator("[name=note]").input_value(), NOTE, "the note in the form")
        self.fill(when="0 9 * * 1-5")

    def make(self):
        """A schedule is made."""
        self.visit.press("Make it")
        self.visit.said("Saved")
        self.equal(shown(self.page.url).split("?")[0].lower(), PATH.lower(), "the page of the schedule")
        found = self.shown()
        self.equal(rules(found), ("0 9 * * 1-5", "Europe/Berlin", NOTE, "allow"), "the schedule")
        self.equal((found["job"]["body"], found["job"]["headers"]), ("\nbody\n<b>", {"a": "1"}), "its jobs")

    def make_again(self):
        """A new schedule does not replace one of the same name."""
        self.visit.go("/console/schedules/new?topic=reports")
        self.fill(name=NAME, when="@every 90s")
        with self.visit.expecting(400, 409, 412, 422):
            self.visit.press("Make it")
            self.report.check(self.page.locator("main p.problem").count(), shown(self.page.url), "it says nothing about the name that is taken")
        self.equal(self.shown()["when"], "0 9 * * 1-5", "the schedule")

    def edit(self):
        """A schedule is edited: what was not changed stays."""
        self.visit.go(PATH)
        self.visit.follow("Edit")
        self.fill(when="30 9 * * *", job__ttr="10m")
        self.visit.press("Save it")
        self.visit.said("Saved")
        found = self.shown()
        self.equal(rules(found), ("30 9 * * *", "Europe/Berlin", NOTE, "allow"), "the schedule")
        job = found["job"]
        self.equal((job["body"], job["headers"], job["ttr_ms"]), ("\nbody\n<b>", {"a": "1"}, 600000), "its jobs")

    def edit_too_late(self):
        """A schedule that was set meanwhile is not edited."""
        self.visit.go(PATH + "/edit")
        self.queue.api("PUT", API, {"when": "@hourly", "overlap": "allow", "job": {"body": "x"}})
        with self.visit.expecting(409, 412):
            self.fill(when="0 1 * * *")
            self.visit.press("Save it")
            self.report.check(self.page.locator("main p.problem").count(), shown(self.page.url), "it says nothing about the other change")
        self.equal(self.shown()["when"], "@hourly", "the schedule")

    def pause(self):
        """A schedule is paused with a note, and resumed."""
        self.visit.go(PATH)
        self.page.get_by_label("Why it is paused (optional)").fill("until <b>Monday</b>")
        self.visit.press("Pause it")
        self.visit.said("Paused")
        found = self.shown()
        self.equal((found.get("paused"), found.get("pause_note")), ("user", "until <b>Monday</b>"), "the pause")
        self.page.locator("p.warning", has_text="until <b>Monday</b>").wait_for()
        self.visit.go("/console/schedules?paused=yes")
        self.equal(self.page.locator("main tbody tr").count(), 1, "the number of paused schedules")
        self.visit.go(PATH)
        self.visit.press("Resume it")
        self.visit.said("Resumed")
        self.equal(self.shown().get("paused"), None, "the pause")

    def run(self):
        """A schedule is run now, and its history says so."""
        before = self.queue.count(topic="reports")
        self.visit.press("Run now")
        self.visit.said("Fired: the job is [0-9,]+")
        self.equal(self.queue.count(topic="reports"), before + 1, "the number of jobs")
        self.equal(self.page.locator("ol.strip li").count(), 1, "the number of marks of its history")
        job = self.page.locator("#live tbody a").first.inner_text()
        self.equal(self.queue.job(job)["body"], "x", "the body of the job of its history")

    def backfill(self):
        """Jobs are pushed for a time that has passed: counted first."""
        self.page.locator("summary").filter(has_text="Push jobs for a time that has passed").click()
        self.fill(**{"from": "2024-11-04T00:00:00Z", "to": "2024-11-04T05:30:00Z"})
        self.visit.press("Count", "#fill")
        self.page.get_by_text("It had 6 instants in this time.").wait_for()
        before = self.queue.count(topic="reports")
        self.visit.press("Push them", "#fill")
        self.visit.said("^6 jobs pushed")
        self.equal(self.queue.count(topic="reports"), before + 6, "the number of jobs")

    def delete(self):
        """A schedule is deleted, and its jobs stay."""
        self.visit.go(PATH)
        before = self.queue.count(topic="reports")
        self.page.locator("summary").filter(has_text="Delete it").click()
        self.visit.press("Delete the schedule")
        self.visit.said("Deleted")
        self.equal((self.shown(), self.queue.count(topic="reports")), (None, before), "the schedule and the number of jobs")


def rules(found):
    """Some rules of a schedule."""
    return found["when"], found["zone"], found["note"], found["overlap"]


def with_script(started, report, binary, folder):
    """Schedules by mouse."""
    with Server(binary, folder / "schedules") as queue, Visit(started, queue, report) as visit:
        Schedules(visit, queue).run_all()


def without_script(started, report, binary, folder):
    """The same without script."""
    with Server(binary, folder / "schedules-no-script") as queue, Visit(started, queue, report, java_script_enabled=False) as visit:
        Schedules(visit, queue).run_all()
