"""Three nodes: members are added, the lead is handed over, a member is removed; and a queue without a leader."""

import random
import socket

from browser import NARROW, WIDE, Visit
from screens import SECTIONS, check_screen
from server import ApiError, Server, until

# An election may take some seconds.
ELECTION_S = 30


def free_port():
    """A port of this machine on which nothing listens: not one of those that outgoing connections get."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Nodes:
    """The nodes, from 1 on."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.ports = [free_port() for _ in range(3)]
        self.nodes = {}

    def start(self, number):
        """Starts a node: the first one founds the cluster, another one waits to be added."""
        how = ["--found"] if number == 1 else ["--join", self.peer(1)]
        folder = self.folder / f"node-{number}"
        flags = ["--node", str(number), "--data", str(folder / "data"), "--peer-listen", self.peer(number), *how]
        self.nodes[number] = Server(self.binary, folder, *flags, must_be_ready=number == 1)
        return self.nodes[number]

    def peer(self, number):
        return f"127.0.0.1:{self.ports[number - 1]}"

    def members(self):
        """The members by number, as node 1 sees them."""
        return {one["node"]: one for one in self.nodes[1].api("GET", "/v1/cluster")["members"]}

    def leader(self):
        """The number of the leader, as node 1 sees it."""
        try:
            return self.nodes[1].api("GET", "/v1/cluster").get("leader")
        except ApiError:
            return None

    def is_voter(self, number):
        return self.members().get(number, {}).get("role") in ("voter", "leader")

    def stop(self):
        for node in self.nodes.values():
            node.stop()


def check(started, report, binary, folder):
    """A cluster from its first node on."""
    nodes = Nodes(binary, folder / "cluster")
    try:
        with Visit(started, nodes.start(1), report) as visit:
            steps = [grow, hand_over, follow, remove, lose_leader]
            for step in steps:
                with report.step(step.__doc__.rstrip("."), visit.page):
                    step(started, report, visit, nodes)
    finally:
        nodes.stop()


def grow(started, report, visit, nodes):
    """Two members are added."""
    check_screen(visit, "/console/cluster", [NARROW])
    for number in (2, 3):
        node = nodes.start(number)
        if number == 2:
            with Visit(started, node, report) as waiting, report.step("a node that waits to be added", waiting.page):
                for section in ("", "/cluster"):
                    check_screen(waiting, "/console" + section, [NARROW])
        visit.go("/console/cluster")
        visit.page.get_by_label("Its address for other members").fill(nodes.peer(number))
        visit.press("Add it")
        visit.said("added")
        until(lambda: nodes.is_voter(number), f"node {number} votes", ELECTION_S)
    check_screen(visit, "/console/cluster", [NARROW, WIDE])
    rows = visit.page.locator("main tbody tr").count()
    report.equal(rows, 3, "/console/cluster", "the number of its members")


def hand_over(started, report, visit, nodes):
    """The lead is handed over."""
    visit.go("/console/cluster")
    visit.page.get_by_label("New leader").select_option("2")
    visit.press("Hand over the lead")
    visit.said("leads")
    until(lambda: nodes.leader() == 2, "node 2 leads", ELECTION_S)
    visit.page.locator("dd", has_text="Node 2").wait_for()


def follow(started, report, visit, nodes):
    """The console of a node that does not lead has all pages, and acts."""
    for section in SECTIONS:
        visit.go("/console" + section)
        visit.look()
    visit.go("/console/topics")
    visit.page.get_by_label("Name", exact=True).fill("orders")
    visit.press("Make it")
    visit.said("Saved")
    visit.press("Pause delivery")
    visit.said("Paused")
    report.equal(nodes.nodes[2].topic("orders")["paused"], True, "/console/topics/orders", "paused, as the leader has it")
    visit.go("/console/call-backs")
    warned = visit.page.locator("p.warning", has_text="does not lead").count()
    report.equal(warned, 1, "/console/call-backs", "the number of warnings that this node does not lead")


def remove(started, report, visit, nodes):
    """A member that is down is shown, and removed."""
    nodes.nodes[3].stop()
    visit.go("/console/cluster")
    visit.page.get_by_text("Node 3 is not connected.").wait_for()
    visit.page.get_by_role("button", name="Remove node 3", exact=True).click()
    report.check(3 in nodes.members(), "/console/cluster", "node 3 is removed without a tick")
    visit.page.get_by_label("Remove node 3 permanently").check()
    visit.press("Remove node 3")
    visit.said("removed")
    until(lambda: 3 not in nodes.members(), "node 3 is removed", ELECTION_S)


def lose_leader(started, report, visit, nodes):
    """Without a leader the pages say so."""
    nodes.nodes[2].stop()
    until(lambda: nodes.leader() is None, "there is no leader", ELECTION_S)
    with visit.expecting(503):
        visit.go("/console/cluster")
        visit.page.get_by_text("No node leads").wait_for()
        check_screen(visit, "/console/cluster", [NARROW])
        check_screen(visit, "/console", [NARROW])
        visit.page.get_by_text("No node leads").wait_for()
        check_screen(visit, "/console/topics", [NARROW], 503)
        said = visit.page.locator("main p.problem").count()
        report.equal(said, 1, "/console/topics", "the number of problems that it shows")
