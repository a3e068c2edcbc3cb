"""Requests that no page of the console sends: with any header, any cookie, any body."""

import http.client
import json
import re
from collections import namedtuple
from urllib.parse import urlencode, urlsplit

from server import PATIENCE_S

FORM = "application/x-www-form-urlencoded"
COOKIE = "adjourn_console_1"

Answer = namedtuple("Answer", "status headers text")


def send(queue, method, path, body=None, headers=None):
    """Sends a request. Redirects are not followed."""
    connection = http.client.HTTPConnection(urlsplit(queue.http).netloc, timeout=PATIENCE_S)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read().decode(errors="replace"))
    finally:
        connection.close()


class Session:
    """A session of the console without a browser. Without a token it has no cookie."""

    def __init__(self, queue, token=None):
        self.queue, self.cookie, self.token_of_form = queue, None, ""
        if token:
            answer = send(queue, "POST", "/console/login", urlencode({"token": token}), {"Content-Type": FORM})
            self.cookie = re.search(rf"{COOKIE}=([^;]*)", answer.headers["Set-Cookie"]).group(1)

    def get(self, path, **headers):
        """Asks for a page."""
        return send(self.queue, "GET", path, None, {**self.with_cookie(), **headers})

    def post(self, path, fields, form_token=None, **headers):
        """Posts a form with the right token of its session, unless another one is given."""
        form_token = self.form_token() if form_token is None else form_token
        body = urlencode([*fields, ("form_token", form_token)])
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return send(self.queue, "POST", path, body, {"Content-Type": FORM, **self.with_cookie(), **headers})

    def form_token(self):
        """What forms of this session carry."""
        if not self.token_of_form:
            # Each page with a form of the session has it.
            for path in ("/console", "/console/jobs", "/console/topics"):
                found = re.search(r'name="form_token" value="([^"]+)"', self.get(path).text)
                if found:
                    self.token_of_form = found.group(1)
                    break
        assert self.token_of_form, "no page has a form token"
        return self.token_of_form

    def with_cookie(self):
        return {"Cookie": f"{COOKIE}={self.cookie}"} if self.cookie else {}


def state_of(queue):
    """All that a forged request might change, as a text."""
    def all_of(path, name):
        return queue.api("GET", path)[name]

    topics = all_of("/v1/topics?limit=10000", "topics")
    for topic in topics:
        topic["settings"] = queue.api("GET", f"/v1/topics/{topic['topic']}")["settings"]
        topic["groups"] = all_of(f"/v1/topics/{topic['topic']}/groups", "groups")
        topic["schedules"] = all_of(f"/v1/topics/{topic['topic']}/schedules", "schedules")
    jobs = all_of("/v1/jobs?limit=1000&bodies=true&order=id", "jobs")
    clients = [one["connection"] for one in all_of("/v1/connections", "connections") if one["client_name"] != "http"]
    state = {"topics": topics, "jobs": jobs, "clients": clients}
    return re.sub(r'"(oldest_ready_ms|ttr_left_ms)": \d+', "", json.dumps(state))


class Victim:
    """A topic with everything on which an action may act."""

    def __init__(self, queue, topic):
        self.queue, self.topic = queue, topic
        queue.api("PATCH", f"/v1/topics/{topic}", {"fair": True, "call_back": "http://127.0.0.1:9/", "call_back_paused": True})
        self.delayed, self.ready = queue.push(topic, {"body": "a", "delay": "9h"}, {"body": "b", "group": "acme", "priority": 9})
        (self.buried,) = queue.bury(topic, {"body": "c", "priority": 1})
        queue.api("PUT", f"/v1/topics/{topic}/schedules/daily", {"when": "0 9 1 1 *", "job": {"body": "d"}})

    def posts(self, connection):
        """A form for each action, as pages send them."""
        topic, jobs = f"/console/topics/{self.topic}", "/console/jobs"
        daily = {"name": "daily", "version": "1", "when": "@every 5s"}
        past = {"from": "2024-01-01T00:00:00Z", "to": "2024-01-02T00:00:00Z"}
        forms = [
            ("/console/topics", {"topic": self.topic + ".new"}),
            (f"{topic}/settings", {"was.ttr": "", "set.ttr": "5s"}),
            (f"{topic}/push", {"body": "forged"}),
            *((f"{topic}/{action}", {}) for action in ("pause", "resume", "kick", "delete")),
            *((f"{topic}/groups/acme", fields) for fields in ({"do": "pause"}, {"do": "weight", "weight": "9"})),
            ("/console/schedules/new", {"topic": self.topic, "name": "forged", "when": "@every 5s"}),
            (f"{topic}/schedules", daily),
            *((f"{topic}/schedules/daily/{action}", past) for action in ("run", "pause", "resume", "backfill", "delete")),
            *(("/console/call-backs", {"action": action, "topic": self.topic}) for action in ("pause", "resume")),
            ("/console/call-backs", {"action": "check", "url": "http://127.0.0.1:9/"}),
            (f"/console/consumers/{connection}", {"ends_session": "true"}),
            ("/console/cluster", {"action": "add", "address": "127.0.0.1:9"}),
            ("/console/cluster", {"action": "transfer", "node": "0"}),
            ("/console/cluster", {"action": "remove", "node": "1", "confirm": "1"}),
            *((f"{jobs}/selected", {"job": str(self.delayed), "change": change}) for change in ("run-now", "delete")),
            (f"{jobs}/selected", {"job": str(self.buried), "change": "kick"}),
            (f"{jobs}/change", {"topic": self.topic, "change": "delete"}),
            (f"{jobs}/change", {"topic": self.topic, "change": "move", "to": self.topic + ".new"}),
            (f"{jobs}/{self.buried}/kick", {}),
            (f"{jobs}/{self.delayed}/run-now", {}),
            (f"{jobs}/{self.delayed}/reschedule", {"delay": "1s"}),
            (f"{jobs}/{self.delayed}/edit", {"priority": "1"}),
            (f"{jobs}/{self.delayed}/delete", {}),
        ]
        return [(path, list(fields.items())) for path, fields in forms]
