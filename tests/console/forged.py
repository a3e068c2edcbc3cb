"""Posts that are not from a page of the console: refused, and nothing is changed."""

import html
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode

from browser import Visit, shown
from raw import FORM, Session, Victim, send, state_of
from routes import declared, missed
from server import Server, Tokens, until

# What a page of another site tries. ACTION and TOKEN are filled in.
POSTED_FORM = """<form method="post" action="ACTION" enctype="ENCTYPE"><input name="form_token" value="TOKEN"></form>
<script>document.forms[0].submit()</script>"""
FETCH = """<script>
const body = new URLSearchParams({ form_token: "TOKEN" });
fetch("ACTION", { method: "POST", mode: "no-cors", credentials: "include", body })
  .then(() => { document.title = "answered"; }, () => { document.title = "failed"; });
</script>"""
READ = """<script>
fetch("ACTION", { credentials: "include" }).then((answer) => answer.text())
  .then((text) => { document.title = "read " + text.length; }, () => { document.title = "failed"; });
</script>"""
FRAME = """<iframe src="ACTION" onload="document.title = 'loaded'"></iframe>"""
LINK = """<a href="ACTION">look</a>"""


class OtherSite:
    """A site of an attacker, on another port of this machine."""

    def __init__(self):
        pages = self.pages = {}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                page = pages.get(self.path, "").encode()
                self.send_response(200 if page else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                pass

        self.listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.listener.daemon_threads = True
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def page(self, template, action, token="", enctype=FORM):
        """Puts up a page; returns its path."""
        filled = template.replace("ACTION", html.escape(action)).replace("TOKEN", token).replace("ENCTYPE", enctype)
        path = f"/{len(self.pages)}"
        self.pages[path] = f"<!doctype html><title>waits</title>{filled}"
        return path

    def address(self, host, path):
        return f"http://{host}:{self.listener.server_port}{path}"


def check(started, report, binary, folder):
    """A server with tokens, and one without."""
    tokens = Tokens(binary, folder / "forged")
    operator = tokens.create("ops", "push,consume,read,manage,admin")
    with Server(binary, folder / "forged/server", "--tokens-file", str(tokens.file), token=operator) as queue:
        attack(started, report, queue, operator)
    report.area += " without tokens"
    with Server(binary, folder / "forged/open") as queue:
        attack(started, report, queue, None)


def attack(started, report, queue, operator):
    victim = Victim(queue, "orders")
    waiting = queue.command("reserve", "nothing", "--wait", "5m")
    try:
        connection = until(lambda: connection_of(queue), "a client is connected")
        raw_posts(report, queue, operator, victim, connection)
        with report.step("pages of other sites"):
            other_sites(started, report, queue, operator)
    finally:
        waiting.kill()
        waiting.wait()


def connection_of(queue):
    """The number of a client's connection."""
    clients = queue.api("GET", "/v1/connections")["connections"]
    return next((one["connection"] for one in clients if one["client_name"] != "http"), None)


def raw_posts(report, queue, operator, victim, connection):
    """Each action with a form that is wrong in one way."""
    session, before = Session(queue, operator), state_of(queue)
    posts = victim.posts(connection)
    _, actions = declared()
    for pattern in missed([path for path, _ in posts] + ["/console/logout", "/console/login", "/console/language"], actions):
        report.fail(pattern, "no forged post is made to this action")
    posts.append(("/console/logout", []))
    other = Session(queue, operator).form_token() if operator else "x" * 43
    own_origin = {"Origin": queue.http, "Sec_Fetch_Site": "same-origin"}
    wrong = {
        "without a form token": ({"form_token": ""}, 403),
        "with a wrong form token": ({"form_token": "x" * 43, **own_origin}, 403),
        "with the form token of another session": ({"form_token": other, **own_origin}, 403),
        "from another site": ({"Origin": "https://evil.example"}, 403),
        "from another port": ({"Origin": "http://127.0.0.1:1", "Sec_Fetch_Site": "same-site"}, 403),
        "from the origin null": ({"Origin": "null"}, 403),
        "that a browser says is of another site": ({"Sec_Fetch_Site": "cross-site"}, 403),
        "as JSON": ({"Content_Type": "application/json"}, 415),
        "as text": ({"Content_Type": "text/plain"}, 415),
        "as parts": ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
    }
    for path, fields in posts:
        for what, (changed, expected) in wrong.items():
            with report.step(f"a post {what}"):
                status = session.post(path, fields, **changed).status
                report.equal(status, expected, path, "the status")
        with report.step("a post with the form token in its address"):
            query = urlencode({"form_token": session.form_token()})
            status = session.post(f"{path}?{query}", fields, form_token="").status
            report.equal(status, 403, path, "the status")
        with report.step("an action as GET"):
            query = urlencode([*fields, ("form_token", session.form_token())])
            status = session.get(f"{path}?{query}").status
            report.check(status in (200, 303, 400, 404, 405, 422), path, f"the status is {status}")
        if operator:
            with report.step("a post without a session"):
                answer = Session(queue).post(path, fields, form_token=session.form_token())
                is_to_login = "/console/login" in answer.headers.get("Location", "")
                report.check(answer.status in (302, 303, 307) and is_to_login, path, f"the status is {answer.status}")
    for path, fields in (("/console/login", [("token", operator or "x")]), ("/console/language", [("to", "zh")])):
        for what in ("from another site", "from another port", "as JSON"):
            with report.step(f"a post {what}"):
                changed, expected = wrong[what]
                report.equal(session.post(path, fields, "", **changed).status, expected, path, "the status")
    with report.step("a body that is too large"):
        answer = send(queue, "POST", "/console/topics", "x=" + "y" * (300 << 10), {"Content-Type": FORM, **session.with_cookie()})
        report.equal(answer.status, 413, "/console/topics", "the status")
    report.equal(state_of(queue), before, "all these posts", "the state of the queue")
    report.equal(session.get("/console").status, 200, "/console", "the status after all these posts")
    right = session.post("/console/topics/orders/pause", [], **own_origin)
    report.check(right.status == 303 and queue.topic("orders")["paused"], "/console/topics/orders/pause", f"a right post has the status {right.status}")
    session.post("/console/topics/orders/resume", [])


def other_sites(started, report, queue, operator):
    """A person who is logged in looks at pages of an attacker: on another port, and of another site."""
    site, before = OtherSite(), state_of(queue)
    action = queue.http + "/console/topics/orders/pause"
    for host in ("127.0.0.1", "localhost"):
        with Visit(started, queue, report) as visit:
            visit.is_hostile = True
            if operator:
                visit.log_in(operator)
            visit.go("/console/topics/orders")
            token = visit.page.locator("[name=form_token]").first.get_attribute("value")
            for enctype in (FORM, "text/plain", "multipart/form-data"):
                with report.step(f"a form of {host} posts itself as {enctype}"):
                    path = site.page(POSTED_FORM, action, token, enctype)
                    with visit.page.expect_response(action) as posted:
                        visit.page.goto(site.address(host, path))
                    report.equal(posted.value.status, 403, shown(action), "the status")
            with report.step(f"a script of {host} posts"):
                visit.page.goto(site.address(host, site.page(FETCH, action, token)))
                visit.page.wait_for_function("document.title !== 'waits'")
            with report.step(f"a script of {host} reads a page"):
                visit.page.goto(site.address(host, site.page(READ, queue.http + "/console/topics")))
                visit.page.wait_for_function("document.title !== 'waits'")
                report.equal(visit.page.title(), "failed", "/console/topics", "what the script got")
            with report.step(f"a page of {host} has the console in a frame"):
                visit.page.goto(site.address(host, site.page(FRAME, queue.http + "/console/topics")))
                visit.page.wait_for_function("document.title !== 'waits'")
                shows = [frame.locator("header .brand").count() for frame in visit.page.frames[1:]]
                report.equal(shows, [0], "/console/topics", "what the frame shows of the console")
            with report.step(f"a link of {host} leads to the console"):
                visit.page.goto(site.address(host, site.page(LINK, queue.http + "/console/topics")))
                with visit.page.expect_navigation():
                    visit.page.get_by_text("look").click()
                visit.page.locator("h1").wait_for()
                report.equal(visit.page.locator("h1").count(), 1, "/console/topics", "the number of headings behind the link")
    report.equal(state_of(queue), before, "pages of other sites", "the state of the queue")
