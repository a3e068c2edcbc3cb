"""Pictures of the main screens, for the documents."""

from browser import HEIGHT, NARROW, WIDE, Visit
from server import until
from screens import CHARTS_S, has_charts

SCREENS = {
    "topics": "/console/topics",
    "topic": "/console/topics/orders",
    "jobs": "/console/jobs?topic=orders&state=buried",
    "when": "/console/topics/orders/when",
    "groups": "/console/topics/imports/groups",
    "group": "/console/topics/imports/groups/umbrella",
    "schedules": "/console/schedules",
    "schedule": "/console/topics/reports/schedules/weekdays",
    "schedule-form": "/console/topics/reports/schedules/weekdays/edit",
    "call-backs": "/console/call-backs",
    "consumers": "/console/consumers",
    "cluster": "/console/cluster",
    "alerts": "/console/alerts",
    "audit": "/console/audit",
}


def take(started, report, queue, folder):
    """Takes all pictures. It waits until the overview has charts."""
    folder.mkdir(parents=True, exist_ok=True)
    job = queue.api("GET", "/v1/jobs?topic=orders&state=delayed&limit=1")["jobs"][0]["id"]
    change = "/console/jobs/change?topic=orders&state=buried&change=kick"
    with Visit(started, queue, report) as visit:
        picture(visit, folder, "login", "/console/login")
        visit.log_in(queue.token)
        for name, path in {**SCREENS, "job": f"/console/jobs/{job}", "change": change}.items():
            picture(visit, folder, name, path)
        visit.go("/console/topics")
        visit.press("中文", "header")
        picture(visit, folder, "topics-zh", "/console/topics")
        visit.press("English", "header")
        until(lambda: has_charts(visit), "the overview has charts", CHARTS_S)
        picture(visit, folder, "overview", "/console")
        visit.page.emulate_media(color_scheme="dark")
        picture(visit, folder, "overview-dark", "/console")


def picture(visit, folder, name, path):
    """A picture of a page at each width. What is far down is left out."""
    for width in (WIDE, NARROW):
        visit.resize(width)
        visit.go(path)
        height = min(visit.page.evaluate("document.documentElement.scrollHeight"), 2 * HEIGHT)
        clip = {"x": 0, "y": 0, "width": width, "height": max(height, HEIGHT if width == WIDE else 0)}
        visit.page.screenshot(path=folder / f"{name}-{width}.png", clip=clip, full_page=True)
