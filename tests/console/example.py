"""A shop's queue as example data: orders, mails, call-backs, groups of tenants, schedules. Jobs in every state."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from server import Server, Tokens, until

NAMES = ["Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Leslie", "Radia", "Tim", "Margaret"]
TENANTS = ["acme", "globex", "initech", "umbrella", "wayne"]

ALERTS = """
[[target]]
name = "chat"
webhook = "{target}/alerts"

[[rule]]
name = "orders were given up"
when = "buried"
topics = "orders*"

[[rule]]
name = "mails are late"
when = "lateness"
topics = "mails"
above = "10m"
for = "1m"

[[rule]]
name = "disk is nearly full"
when = "disk_free"
below = 1_000_000
"""


class Receiver:
    """Answers call-backs and alerts: with the status at the end of the path, with 400 if the body says *declined*, else 200."""

    def __init__(self):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                last = self.path.rsplit("/", 1)[-1]
                is_declined = b"declined" in body
                status = 400 if is_declined else int(last) if last in ("400", "500") else 200
                replies = {200: b'{"ok": true}', 400: b"the card was declined" if is_declined else b"the account is closed"}
                reply = replies.get(status, b"no connection to the bank")
                self.send_response(status)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.listener.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.listener.server_port}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()


class Example:
    """A server with tokens, an audit log, alerts, call-backs, and jobs of every kind."""

    def __init__(self, binary, folder):
        self.tokens = Tokens(binary, folder)
        self.operator = self.tokens.create("ops", "push,consume,read,manage,admin")
        self.receiver = Receiver()
        alerts = folder / "alerts.toml"
        alerts.write_text(ALERTS.format(target=self.receiver.address))
        flags = ["--data", str(folder / "data"), "--tokens-file", str(self.tokens.file)]
        flags += ["--audit-log", str(folder / "audit.log"), "--alerts-file", str(alerts), "--server-name", "shop"]
        flags += ["--call-back-allow", "127.0.0.0/8", "--call-back-ports", "1-65535"]
        self.server = Server(binary, folder / "server", *flags, token=self.operator)
        self.consumers = []
        fill(self.server, self.receiver)
        self.consumers = consume(self.server)

    def stop(self):
        """Ends the server and its clients."""
        for consumer in self.consumers:
            consumer.kill()
            consumer.wait()
        self.server.stop()


def order(number, **fields):
    """A job that closes an order."""
    name = NAMES[number % len(NAMES)]
    body = {"order": number, "customer": name, "total": f"{number % 90 + 9}.90 EUR"}
    return {"body": body, "key": f"order-{number}", **fields}


def fill(queue, receiver):
    """Fills a queue."""
    fill_orders(queue)
    fill_mails(queue)
    fill_imports(queue)
    fill_calls(queue, receiver)
    fill_schedules(queue)


def fill_orders(queue):
    queue.api("PATCH", "/v1/topics/orders", {"attempts_max": 5, "backoff": "10s,1m,10m", "ttr": "2m", "remember": "1d"})
    delays = [minutes * minutes * 7 % 1440 + 3 for minutes in range(60)]
    queue.push("orders", *(order(1000 + place, delay=f"{minutes}m") for place, minutes in enumerate(delays)))
    queue.push("orders", order(1070, delay="12d", priority=10, headers={"source": "shop", "trace": "7f3a91"}))
    finished = queue.push("orders", *(order(number, priority=1) for number in range(900, 912)))
    queue.settle(finish=[job["lease"] for job in queue.reserve("orders", len(finished))])
    queue.bury("orders", order(920), order(921), order(922), reason="the payment service answered 503")
    queue.bury("orders", order(923), reason="the card was declined")
    queue.push("orders", *(order(number, priority=2) for number in range(930, 935)))
    queue.reserve("orders", 3, lease="2h")


def fill_mails(queue):
    mails = [{"body": f"Dear {name}, your parcel is on its way.", "headers": {"content-type": "text/plain"}} for name in NAMES]
    queue.push("mails", *mails)
    queue.push("mails", *({"body": f"Dear {name}, did you forget your basket?", "delay": "1d"} for name in NAMES))
    queue.api("POST", "/v1/topics/mails/pause")


def fill_imports(queue):
    queue.api("PATCH", "/v1/topics/imports", {"group_leases_max": 2, "group_rate": 50})
    for place, tenant in enumerate(TENANTS):
        queue.push("imports", *({"body": f"row {row}", "group": tenant} for row in range(4 + 3 * place)))
    queue.reserve("imports", 5, lease="2h")
    queue.api("PATCH", "/v1/topics/imports/groups/acme", {"weight": 5})
    queue.api("PATCH", "/v1/topics/imports/groups/umbrella", {"paused": True})


def fill_calls(queue, receiver):
    """Call-backs that succeed, that are refused, and that are tried again."""
    settings = {"remember": "1d", "call_back": f"{receiver.address}/due/{{id}}/{{body}}", "backoff": "1h", "call_back_timeout": "5s"}
    queue.api("PATCH", "/v1/topics/reminders", settings)
    paid, refused, failed = queue.push("reminders", {"body": "200"}, {"body": "400"}, {"body": "500"})
    queue.push("reminders", {"body": "200", "delay": "3h"})
    states = {paid: "finished", refused: "buried", failed: "delayed"}
    for number, state in states.items():
        until(lambda: (queue.job(number) or {}).get("state") == state, f"job {number} is {state} after its call")
        until(lambda: queue.api("GET", f"/v1/jobs/{number}/attempts")["attempts"], f"the call of job {number} is kept")


def fill_schedules(queue):
    daily = {"when": "0 9 * * 1-5", "zone": "Europe/Berlin", "note": "for the accountants", "job": {"body": "daily report", "ttr": "10m"}}
    queue.api("PUT", "/v1/topics/reports/schedules/weekdays", daily)
    often = {"when": "@every 90s", "overlap": "allow", "job": {"body": {"check": "stock"}}}
    queue.api("PUT", "/v1/topics/reports/schedules/stock", often)
    monthly = {"when": "0 12 * * MON#2", "zone": "America/New_York", "missed": "all", "failures_max": 3, "job": {"body": "invoices"}}
    queue.api("PUT", "/v1/topics/invoices/schedules/monthly", monthly)
    queue.api("PATCH", "/v1/topics/reports", {"remember": "1d"})
    for _ in range(3):
        queue.api("POST", "/v1/topics/reports/schedules/weekdays/run")
    done = queue.reserve("reports", 2)
    queue.settle(finish=[done[0]["lease"]])
    queue.settle(bury=[done[1]["lease"]], reason="no data for this day")
    queue.api("POST", "/v1/topics/invoices/schedules/monthly/pause", {"note": "until the books are closed"})


def consume(queue):
    """Two clients that wait for jobs."""
    waiting = [queue.command("reserve", topic, "--wait", "30m") for topic in ("parcels", "letters")]
    until(lambda: len(queue.api("GET", "/v1/connections")["connections"]) >= 2, "two clients are connected")
    return waiting


def folder_of(work, name):
    """A folder for a server."""
    folder = Path(work) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
