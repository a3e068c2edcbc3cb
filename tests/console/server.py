"""A server of the binary under test, its HTTP API, and its command line."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

# A server must answer, and a condition must hold, within this time.
PATIENCE_S = 20
# Proxies of the environment are for other hosts.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ApiError(Exception):
    """The API refused a request."""

    def __init__(self, method, path, status, detail):
        super().__init__(f"{method} {path}: {status} {detail}")
        self.status = status


class Queue:
    """A server that runs: its addresses, and a token for its API. Other processes may have a copy."""

    def __init__(self, binary, http, client, token=None):
        self.binary, self.http, self.client, self.token = binary, http, client, token

    def api(self, method, path, body=None):
        """Sends a request to the API; returns the answer's JSON, if it has any."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.http + path, data, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with DIRECT.open(request, timeout=PATIENCE_S) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise ApiError(method, path, error.code, error.read().decode(errors="replace")) from None
        return json.loads(text) if text else None

    def push(self, topic, *jobs):
        """Pushes jobs; returns their numbers."""
        results = self.api("POST", f"/v1/topics/{topic}/jobs", list(jobs))["results"]
        refused = [result for result in results if "code" in result]
        if refused:
            raise ApiError("POST", f"/v1/topics/{topic}/jobs", 0, refused[0])
        return [result["id"] for result in results]

    def reserve(self, topic, most, lease="1h"):
        """Reserves jobs; returns them."""
        found = []
        while len(found) < most:
            asked = {"topics": [topic], "max": min(most - len(found), 1024), "lease": lease}
            jobs = self.api("POST", "/v1/reserve", asked)["jobs"]
            if not jobs:
                raise ApiError("POST", "/v1/reserve", 0, f"{topic} has only {len(found)} of {most} ready jobs")
            found += jobs
        return found

    def settle(self, **leases):
        """Settles leases: `bury=[...]`, `finish=[...]` or `release=[...]`."""
        failed = self.api("POST", "/v1/leases", leases).get("failed")
        if failed:
            raise ApiError("POST", "/v1/leases", 0, failed[0])

    def bury(self, topic, *jobs, reason=None):
        """Pushes jobs and buries them; returns their numbers."""
        ids = self.push(topic, *jobs)
        leases = [job["lease"] for job in self.reserve(topic, len(jobs))]
        for start in range(0, len(leases), 1000):
            self.settle(bury=leases[start : start + 1000], **({"reason": reason} if reason else {}))
        return ids

    def job(self, number):
        """A job, or None if there is none."""
        try:
            return self.api("GET", f"/v1/jobs/{number}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def topic(self, name):
        """The counts of a topic, or None if there is none."""
        topics = self.api("GET", "/v1/topics?limit=10000")["topics"]
        return next((topic for topic in topics if topic["topic"] == name), None)

    def count(self, **conditions):
        """How many jobs meet these conditions."""
        return self.api("GET", "/v1/jobs/count?" + urllib.parse.urlencode(conditions))["count"]

    def command(self, *arguments):
        """Starts a command of the binary as a client of this server."""
        environment = {**os.environ, "ADJOURN_SERVER": self.client, "ADJOURN_TOKEN": self.token or ""}
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        if not self.token:
            del environment["ADJOURN_TOKEN"]
        return subprocess.Popen([self.binary, *arguments], env=environment, text=True, **quiet)


class Server(Queue):
    """A server process with the console. `folder` gets its log and its data."""

    def __init__(self, binary, folder, *flags, token=None, must_be_ready=True):
        super().__init__(binary, None, None, token)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.log = folder, folder / "server.log"
        # Its end is that of its standard input, however this program ends.
        command = [binary, "serve", "--end-with-stdin", "--log-format", "json", "--console"]
        command += ["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", *flags]
        if "--data" not in flags:
            command.append("--memory")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ADJOURN_")}
        with self.log.open("w") as log:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": log}
            self.process = subprocess.Popen(command, env=environment, cwd=folder, **pipes)
        self.client = until(lambda: self.listens_at("listening"), f"{binary} listens: see {self.log}")
        self.http = "http://" + until(lambda: self.listens_at("listening for HTTP"), f"{binary} serves HTTP")
        if must_be_ready:
            until(self.is_ready, f"{binary} is ready")

    def listens_at(self, message):
        """The address in a line of the log, if it is there."""
        if self.process.poll() is not None:
            raise AssertionError(f"a server ended: {self.log.read_text()[-300:]}")
        # The last line may be incomplete.
        for line in self.log.read_text().split("\n")[:-1]:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("message") == message:
                return told["address"]
        return None

    def is_ready(self):
        """True if it can serve clients."""
        try:
            with DIRECT.open(self.http + "/readyz", timeout=PATIENCE_S):
                return True
        except urllib.error.URLError:
            return False

    def share(self):
        """What other processes may have of it."""
        return Queue(self.binary, self.http, self.client, self.token)

    def stop(self):
        """Ends the process, if it has not ended."""
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Tokens:
    """A file of tokens."""

    def __init__(self, binary, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.binary, self.file = binary, folder / "tokens.toml"

    def create(self, name, *allowed):
        """Adds a token; returns its secret."""
        rights = [argument for right in allowed for argument in ("--allow", right)]
        return self.run("create", name, *rights)

    def revoke(self, name):
        """Takes a token away."""
        self.run("revoke", name)

    def run(self, *arguments):
        command = [self.binary, "token", *arguments, "--file", str(self.file)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def until(condition, what, patience_s=PATIENCE_S):
    """Waits until a condition returns something true, and returns that."""
    end = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {patience_s} s: {what}")
        time.sleep(0.02)
