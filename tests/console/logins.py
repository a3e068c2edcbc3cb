"""Tokens: logging in and out, what a token may see and do, and what a stolen cookie is worth."""

import re
import time
from urllib.parse import quote, urlencode

from browser import Visit, shown
from raw import COOKIE, FORM, Session, Victim, send, state_of
from server import Server, Tokens, until

SECTIONS = ["", "/topics", "/jobs", "/when", "/schedules", "/call-backs"]
OF_OPERATORS = ["/consumers", "/cluster", "/alerts", "/audit"]
# A token must lose its effect within this time.
REVOKED_S = 10
# Failed logins at once; after that there is one a second.
BURST = 10
ACTS = "main form[method=post] button, main form[method=post] input[type=submit]"


def check(started, report, binary, folder):
    """A server with tokens, and a console that only shows."""
    folder = folder / "logins"
    tokens = Tokens(binary, folder)
    operator = tokens.create("ops", "push,consume,read,manage,admin")
    reader, leaver = tokens.create("reader", "read:orders.*"), tokens.create("leaver", "read:*")
    flags = ["--tokens-file", str(tokens.file)]
    with Server(binary, folder / "server", *flags, token=operator) as queue:
        own, others = Victim(queue, "orders.new"), Victim(queue, "mails")
        steps = [
            ("logging in", lambda: log_in(started, report, queue, own)),
            ("a token of some topics", lambda: some_topics(started, report, queue, reader, own, others)),
            ("logging out", lambda: log_out(started, report, queue)),
            ("a token that is revoked", lambda: revoked(started, report, queue, tokens, leaver)),
        ]
        for name, step in steps:
            with report.step(name):
                step()
    with Server(binary, folder / "wrong", *flags, token=operator) as queue:
        with report.step("wrong tokens"):
            wrong_tokens(started, report, queue)
    with Server(binary, folder / "read-only", "--console-read-only", *flags, token=operator) as queue:
        with report.step("a console that only shows"):
            read_only(started, report, queue, Victim(queue, "orders"))


def pages_of(victim):
    """The pages of a topic and of its things."""
    topic = f"/console/topics/{victim.topic}"
    return [
        topic,
        f"{topic}/when",
        f"{topic}/groups",
        f"{topic}/groups/acme",
        f"{topic}/schedules/daily",
        f"{topic}/schedules/daily/edit",
        f"/console/schedules/new?topic={victim.topic}",
        f"/console/schedules?topic={victim.topic}",
        f"/console/jobs?topic={victim.topic}&state=buried&text=c",
        f"/console/jobs/change?topic={victim.topic}&change=delete",
        *(f"/console/jobs/{number}" for number in (victim.delayed, victim.ready, victim.buried)),
    ]


def log_in(started, report, queue, victim):
    """Each page leads to the login, and then back."""
    with Visit(started, queue, report) as visit:
        for path in ["/console", "/console/audit", *pages_of(victim)[8:]]:
            visit.context.clear_cookies()
            visit.go(path)
            report.check(shown(visit.page.url).startswith("/console/login?"), path, f"without a session it leads to {visit.page.url}")
            visit.page.get_by_label("Token").fill(queue.token)
            visit.press("Log in")
            report.equal(shown(visit.page.url), path, path, "the page after logging in")
        (cookie,) = [one for one in visit.context.cookies() if one["name"] == COOKIE]
        found = {name: cookie[name] for name in ("httpOnly", "sameSite", "path")}
        report.equal(found, {"httpOnly": True, "sameSite": "Strict", "path": "/console"}, "the cookie", "its kind")
        report.check(len(cookie["value"]) >= 40 and queue.token not in cookie["value"], "the cookie", "its value can be guessed")
        report.check(queue.token not in visit.page.content(), shown(visit.page.url), "the page shows the token")
        visit.go("/console/login?next=/console/topics")
        report.equal(shown(visit.page.url), "/console/topics", "/console/login", "the page for a person who is logged in")
    sections = ["/console" + section for section in SECTIONS + OF_OPERATORS]
    for path in ["/console/jobs/1/body", *sections, *pages_of(victim)]:
        answer = send(queue, "GET", path)
        is_to_login = answer.headers.get("Location", "").startswith("/console/login?next=")
        report.check(answer.status in (302, 303, 307) and is_to_login, path, f"without a session the status is {answer.status}")
        part = send(queue, "GET", path, None, {"HX-Request": "true"})
        leads = part.headers.get("HX-Redirect", "")
        report.check(part.status == 204 and leads.startswith("/console/login?next="), path, f"a part without a session has the status {part.status}")
    session = Session(queue, queue.token)
    for path in ["/console", "/console/none", *pages_of(victim)]:
        check_headers(report, session, path)
    for elsewhere in ("https://evil.example/", "//evil.example/", "/console//evil.example", "/console\\evil", "/v1/topics", "javascript:alert(1)"):
        answer = send(queue, "POST", "/console/login", urlencode({"token": queue.token, "next": elsewhere}), {"Content-Type": FORM})
        report.equal(answer.headers.get("Location"), "/console", "/console/login", f"where next={elsewhere} leads")
        answer = send(queue, "POST", "/console/language", urlencode({"to": "en", "back": elsewhere}), {"Content-Type": FORM})
        report.equal(answer.headers.get("Location"), "/console", "/console/language", f"where back={elsewhere} leads")
        back = [("job", str(victim.ready)), ("change", "run-now"), ("back", elsewhere)]
        answer = session.post("/console/jobs/selected", back)
        leads = answer.headers.get("Location", "").split("?")[0]
        report.equal(leads, "/console/jobs", "/console/jobs/selected", f"where back={elsewhere} leads")
        shown_login = send(queue, "GET", f"/console/login?next={quote(elsewhere)}").text
        report.check('name="next" value="/console"' in shown_login, "/console/login", f"its form leads to {elsewhere}")


def check_headers(report, session, path):
    """A page is kept nowhere, runs only the script of this server, and stands in no frame."""
    headers = session.get(path).headers
    policy = headers.get("Content-Security-Policy", "")
    directives = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    none, own = "'none'", "'self'"
    expected = {"default-src": none, "script-src": own, "style-src": own, "form-action": own}
    expected |= {"base-uri": none, "frame-ancestors": none}
    found = {name: directives.get(name) for name in expected}
    report.equal(found, expected, path, "the policy")
    kept = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
    report.equal({name: headers.get(name) for name in kept}, kept, path, "the headers")


def some_topics(started, report, queue, reader, own, others):
    """A token that may only read `orders.*`."""
    session, before = Session(queue, reader), state_of(queue)
    with Visit(started, queue, report) as visit:
        visit.log_in(reader)
        for path in ["/console" + section for section in SECTIONS] + pages_of(own):
            with report.step("a reader", visit.page):
                look_as_reader(visit, path, others)
        for path in ["/console" + section for section in OF_OPERATORS]:
            with report.step("a reader at a page of operators", visit.page):
                visit.go(path, 403)
                visit.look()
    for path in pages_of(others) + [f"/console/jobs/{others.delayed}/body"]:
        with report.step("a reader at a topic of others"):
            answer = session.get(path)
            told = re.sub(r"<(input|select|textarea|a|link)[^>]*>", "", answer.text)
            shows = [name for name in ("daily", "acme") if name in told and name not in path]
            report.check(answer.status in (200, 403, 404) and not shows, path, f"the status is {answer.status}, and it shows {shows}")
            has_jobs = re.search(r'href="/console/jobs/\d+"', answer.text)
            report.check(not has_jobs, path, "it shows jobs of others")
            if not path.startswith(("/console/jobs?", "/console/jobs/change", "/console/schedules")):
                report.check(answer.status in (403, 404), path, f"the status is {answer.status}, expected 403")
    connection = queue.api("GET", "/v1/connections")["connections"][0]["connection"]
    for victim in (own, others):
        for path, fields in victim.posts(connection):
            with report.step("a forged post of a reader"):
                answer = session.post(path, fields)
                # To this person the jobs of others do not exist.
                hidden = [404, 303] if victim is others and path.startswith("/console/jobs/") else []
                told = f"the status is {answer.status}, expected 403"
                report.check(answer.status in (403, *hidden), f"{path} {dict(fields)}", told)
    report.equal(state_of(queue), before, "all these posts", "the state of the queue")


def look_as_reader(visit, path, others):
    """A page shows nothing of other topics, and nothing with which to act."""
    is_for_editors = path.endswith("/edit") or "/schedules/new" in path
    if is_for_editors:
        return visit.go(path, 403)
    report, page = visit.report, visit.page
    visit.go(path)
    visit.look()
    buttons = [one.inner_text() for one in page.locator(ACTS).all()]
    report.equal(buttons, [], path, "the buttons of actions")
    links = page.evaluate("[...document.querySelectorAll('main a')].map((one) => one.getAttribute('href'))")
    editing = [link for link in links if re.search(r"/edit$|/new(\?|$)|/jobs/change", link)]
    report.equal(editing, [], path, "the links to forms of changes")
    report.check(others.topic not in page.locator("main").inner_text(), path, f"it shows the topic {others.topic}")
    jobs = {int(number) for link in links for number in re.findall(r"^/console/jobs/(\d+)", link)}
    report.check(not jobs & {others.delayed, others.ready, others.buried}, path, "it shows jobs of others")
    nav = page.locator("header nav a").all_inner_texts()
    report.check(not {"Consumers", "Cluster", "Alerts", "Audit log"} & set(nav), path, f"its links are {nav}")
    forbidden = [link for link in links if link.startswith(tuple("/console" + section for section in OF_OPERATORS))]
    report.equal(forbidden, [], path, "the links to pages that it may not see")


def log_out(started, report, queue):
    """A session ends when its person logs out; that of another browser does not."""
    other = Session(queue, queue.token)
    with Visit(started, queue, report) as visit:
        visit.log_in(queue.token, "/console/jobs")
        (cookie,) = [one["value"] for one in visit.context.cookies() if one["name"] == COOKIE]
        visit.page.get_by_text("ops", exact=True).wait_for()
        visit.press("Log out", "header")
        report.check(shown(visit.page.url).startswith("/console/login"), "/console/logout", f"it leads to {visit.page.url}")
        left = [one for one in visit.context.cookies() if one["name"] == COOKIE]
        report.equal(left, [], "/console/logout", "the cookies that are left")
        visit.page.go_back()
        report.check("/console/login" in visit.page.url, shown(visit.page.url), "the browser's button leads back to it after logging out")
    report.check(not is_worth(queue, cookie), "a stolen cookie", "it is worth something after logging out")
    report.check(is_worth(queue, other.cookie), "the cookie of another session", "it is worth nothing after logging out")


def is_worth(queue, cookie):
    """True if a cookie opens a page."""
    return send(queue, "GET", "/console/topics", None, {"Cookie": f"{COOKIE}={cookie}"}).status == 200


def revoked(started, report, queue, tokens, secret):
    """A session ends when its token is revoked: for its person, too, whose page notices it by itself."""
    with Visit(started, queue, report) as visit:
        visit.log_in(secret, "/console/topics")
        (cookie,) = [one["value"] for one in visit.context.cookies() if one["name"] == COOKIE]
        report.check(is_worth(queue, cookie), "a stolen cookie", "it is worth nothing before its token is revoked")
        tokens.revoke("leaver")
        until(lambda: not is_worth(queue, cookie), "a stolen cookie is worth nothing after its token was revoked", REVOKED_S)
        visit.page.wait_for_url("**/console/login**")
        report.check(not visit.page.locator("header nav a").count(), "/console/login", "it shows the links of the console")
    answer = Session(queue, queue.token).get("/console")
    report.equal(answer.status, 200, "/console", "the status for another token")


def wrong_tokens(started, report, queue):
    """The eleventh failure gets 429, a right token is let in all the same, and a wrong one later gets a page that says what to do."""
    wrong, right = (urlencode({"token": token}) for token in ("adjourn_wrong", queue.token))
    begin, statuses = time.monotonic(), []
    while (not statuses or statuses[-1] == 401) and len(statuses) < 60:
        statuses.append(send(queue, "POST", "/console/login", wrong, {"Content-Type": FORM}).status)
    # Meanwhile there may be one more for each second.
    is_right = statuses[-1] == 429 and BURST < len(statuses) <= BURST + 2 + int(time.monotonic() - begin)
    report.check(is_right, "/console/login", f"the statuses of wrong tokens are {statuses}")
    answer = send(queue, "POST", "/console/login", right, {"Content-Type": FORM})
    report.equal(answer.status, 303, "/console/login", "the status of a right token after too many failures")
    refused = []
    until(lambda: refused.append(send(queue, "POST", "/console/login", wrong, {"Content-Type": FORM})) or refused[-1].status == 429, "too many failures")
    report.check("try again in" in refused[-1].text, "/console/login", "it does not say how long to wait")
    with Visit(started, queue, report) as visit, visit.expecting(401, 429):
        problem = visit.page.locator("main p.problem")
        until(lambda: visit.log_in("adjourn_wrong") or "try again in" not in problem.inner_text(), "a wrong token is looked at again")
        visit.look()
        told = problem.inner_text()
        report.check("no such token" in told, "/console/login", f"for a wrong token it says {told}")
        report.equal(visit.context.cookies(), [], "/console/login", "the cookies after a wrong token")


def read_only(started, report, queue, victim):
    """A console that only shows has no buttons, and refuses posts."""
    session, before = Session(queue, queue.token), state_of(queue)
    connection = queue.api("GET", "/v1/connections")["connections"][0]["connection"]
    with Visit(started, queue, report) as visit:
        visit.log_in(queue.token)
        for path in ["/console" + section for section in SECTIONS + OF_OPERATORS] + pages_of(victim):
            if path.endswith("/edit") or "/schedules/new" in path:
                continue
            with report.step("read-only", visit.page):
                visit.go(path)
                buttons = [one.inner_text() for one in visit.page.locator(ACTS).all()]
                report.equal(buttons, [], path, "the buttons of actions")
        for path, fields in victim.posts(connection):
            with report.step("a forged post"):
                report.equal(session.post(path, fields).status, 403, f"{path} {dict(fields)}", "the status")
        report.equal(state_of(queue), before, "all these posts", "the state of the queue")
        with report.step("read-only", visit.page):
            visit.go("/console/topics")
            visit.press("中文", "header")
            report.equal(visit.page.locator("html").get_attribute("lang"), "zh", "/console/topics", "the language")
            visit.press("English", "header")
            with visit.page.expect_navigation():
                visit.page.locator("form[action='/console/logout'] button").click()
            report.check("/console/login" in visit.page.url, "/console/logout", f"logging out leads to {shown(visit.page.url)}")
