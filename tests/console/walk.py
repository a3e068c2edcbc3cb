"""The first hour of a person who never saw the command line: from an empty queue to a schedule, all in the browser.

docs/console.md tells it, with the pictures that it takes.
"""

from actions import Actions
from browser import HEIGHT, WIDE, Visit
from example import NAMES, Receiver
from server import Server, until

MANY = 10_000
REFUSED = "the mail server answered 503"


class Walk(Actions):
    """The person, and what their programs do meanwhile."""

    def __init__(self, visit, queue, receiver, images):
        super().__init__(visit, queue)
        self.receiver, self.images, self.taken = receiver, images, 0

    def run_all(self):
        """Every step in its order."""
        steps = (self.register_topic, self.watch_job, self.find_word, self.learn_why, self.retry_many, self.make_schedule)
        for step in steps:
            with self.step(step.__doc__.rstrip(".")):
                step()

    def picture(self, name):
        """Takes a picture of the page, if there is a folder for them."""
        self.taken += 1
        if self.images:
            height = min(max(self.page.evaluate("document.documentElement.scrollHeight"), 400), HEIGHT)
            clip = {"x": 0, "y": 0, "width": WIDE, "height": height}
            self.page.screenshot(path=self.images / f"walk-{self.taken}-{name}.png", clip=clip, full_page=True)

    def register_topic(self):
        """A topic with a call-back is made."""
        self.visit.go("/console")
        self.visit.follow("Topics", "nav")
        self.fill("main form[method=post]", topic="orders", call_back=f"{self.receiver.address}/orders/due")
        self.picture("topic")
        self.visit.press("Make it")
        self.visit.said("Saved")
        self.fill("form[action$='/settings']", **{"set.remember": "1d"})
        self.visit.press("Save the policy")
        self.visit.said("Saved")

    def watch_job(self):
        """A job is pushed, and its page shows how it was called back."""
        self.open("Push a job")
        self.fill("#push form", delay="3s", key="order-17", body='{"order": 17, "customer": "Ada"}')
        self.visit.press("Push", "#push")
        self.visit.said("Pushed as job")
        self.picture("waits")
        number = self.number()
        until(lambda: self.queue.job(number)["state"] == "finished", f"job {number} is finished by its call-back")
        until(lambda: self.queue.api("GET", f"/v1/jobs/{number}/attempts")["attempts"], f"the call of job {number} is kept")
        self.visit.go(f"/console/jobs/{number}")
        self.equal(self.page.locator("td", has_text="200").count(), 1, "the number of calls that were answered with 200")
        self.picture("called")

    def find_word(self):
        """A buried job is found by a word in its body."""
        jobs = [{"key": f"order-{number}", "body": {"order": number, "customer": name}} for number, name in enumerate(NAMES * 4, 100)]
        jobs[11]["body"]["card"] = "declined"
        self.queue.push("orders", *jobs)
        until(lambda: self.queue.count(topic="orders", state="buried") == 1, "the declined order is buried")
        self.visit.follow("Jobs", "nav")
        self.page.get_by_role("textbox", name="Topic").fill("orders")
        self.page.get_by_label("Text in body, header, key or reason").fill("Grace")
        self.page.get_by_label("buried", exact=True).check()
        self.visit.press("Show")
        self.page.get_by_text("That is all.").wait_for()
        self.equal(self.page.locator("#jobs tbody a[href^='/console/jobs/']").count(), 1, "the number of jobs that were found")
        self.picture("found")
        with self.page.expect_navigation():
            self.page.locator("#jobs tbody a[href^='/console/jobs/']").first.click()
        self.equal(self.page.get_by_text("the card was declined").count() > 0, True, "the reply to its call is shown")
        self.picture("buried")

    def learn_why(self):
        """The page of a job says why it waits."""
        (number,) = self.queue.push("parcels", {"key": "parcel-4", "body": "pack it"})
        self.visit.go("/console/topics/parcels")
        self.visit.press("Pause delivery")
        self.visit.go(f"/console/jobs/{number}")
        said = self.page.locator(".reasons li").first.inner_text()
        self.equal("paused" in said, True, f"the first reason, {said!r}, says that the topic is paused")
        self.picture("why")
        self.visit.go("/console/topics/parcels")
        self.visit.press("Resume delivery")

    def retry_many(self):
        """Ten thousand jobs are retried at once."""
        self.queue.bury("mails", *({"body": f"mail {place}"} for place in range(MANY)), reason=REFUSED)
        self.visit.go("/console/topics")
        with self.page.expect_navigation():
            self.page.locator("tr", has_text="mails").get_by_role("link", name="10,000").click()
        self.visit.follow("Change all 10,000…")
        self.page.get_by_label("Make them ready, if they are buried").check()
        self.visit.press("Count first")
        self.picture("count")
        self.visit.press("Change 10,000 jobs now")
        self.page.locator("#progress").get_by_text("Done.").wait_for()
        self.picture("changed")
        self.equal(self.queue.count(topic="mails", state="ready"), MANY, "the number of ready jobs")

    def make_schedule(self):
        """A schedule is made."""
        self.visit.follow("Schedules", "nav")
        self.visit.follow("New schedule")
        self.fill("main form[method=post]", topic="reports", name="weekdays", when="0 9 * * 1-5", zone="Europe/Berlin")
        self.fill("main form[method=post]", **{"job.body": "daily report"})
        self.visit.press("Preview")
        self.picture("preview")
        self.visit.press("Make it")
        self.visit.said("Saved")
        self.picture("schedule")
        self.equal(self.queue.api("GET", "/v1/topics/reports/schedules/weekdays")["zone"], "Europe/Berlin", "the zone")


def check(started, report, binary, folder, images=None):
    """The whole walk, on a server of its own."""
    receiver = Receiver()
    flags = ["--data", str(folder / "walk" / "data"), "--call-back-allow", "127.0.0.0/8", "--call-back-ports", "1-65535"]
    server = Server(binary, folder / "walk", *flags)
    try:
        with Visit(started, server, report) as visit:
            Walk(visit, server, receiver, images).run_all()
    finally:
        server.stop()
