"""The routes of the console, as its sources declare them: a new page must not be forgotten by these tests."""

import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "crates/console/src/pages"
ROUTE = re.compile(r'\.route\(\s*"(/console[^"]*)",\s*((?:get|post)\([^;]*?\)\s*)\)\s*(?=\.|$|\})', re.M)


def declared():
    """The paths of all pages and those of all actions, as the router has them."""
    pages, actions = [], []
    for source in sorted(SOURCES.rglob("*.rs")):
        for path, methods in ROUTE.findall(source.read_text()):
            if "get(" in methods:
                pages.append(path)
            if "post(" in methods:
                actions.append(path)
    assert len(pages) > 15 and len(actions) > 10, f"the routes were not found in {SOURCES}"
    return pages, actions


def missed(paths, patterns):
    """The patterns that none of these paths meets."""
    found = {pattern_of(path, patterns) for path in paths}
    return [pattern for pattern in patterns if pattern not in found]


def pattern_of(path, patterns):
    """The pattern of a path, with its query or without. The most exact one counts: /console/jobs/change is no job."""
    matching = [pattern for pattern in patterns if meets(path, pattern)]
    return min(matching, key=lambda pattern: pattern.count("{"), default=None)


def meets(path, pattern):
    """True if a path has the form of a pattern."""
    exact = "[^/]+".join(re.escape(part) for part in re.split(r"\{[^}]*\}", pattern))
    return re.fullmatch(exact, path.split("?")[0].split("#")[0]) is not None
