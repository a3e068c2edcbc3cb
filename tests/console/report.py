"""What failed: one line for each failure, and the next check goes on all the same."""

import re
import traceback
from contextlib import contextmanager

LINE_CHARS_MAX = 600
# Of a longer address only the beginning is shown.
WHERE_CHARS_MAX = 160


class Report:
    """The failures of an area."""

    def __init__(self, area):
        self.area = area
        self.failures = []
        self.step_name = ""

    def fail(self, where, message):
        """Adds a failure. `where` is the address of a page, or what was done."""
        message = re.sub(r"\s+", " ", str(message)).strip()
        where = where if len(where) <= WHERE_CHARS_MAX else where[:WHERE_CHARS_MAX] + "…"
        step = f"{self.step_name}: " if self.step_name else ""
        line = f"{self.area}: {step}{where}: {message}"
        if len(line) > LINE_CHARS_MAX:
            line = line[:LINE_CHARS_MAX] + "…"
        if line not in self.failures:
            self.failures.append(line)

    def check(self, holds, where, message):
        """Adds a failure unless something holds. Returns whether it does."""
        if not holds:
            self.fail(where, message)
        return bool(holds)

    def equal(self, found, expected, where, what):
        """Adds a failure unless two values are equal."""
        return self.check(found == expected, where, f"{what} is {found!r}, expected {expected!r}")

    @contextmanager
    def step(self, name, page=None):
        """Goes on behind this block if it fails, and says where the page was."""
        before, self.step_name = self.step_name, name
        try:
            yield
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)
            own = [one for one in frame if "/tests/console/" in one.filename]
            place = f"{own[-1].filename.rsplit('/', 1)[1]}:{own[-1].lineno}" if own else "?"
            try:
                where = re.sub(r"^http://[^/]*", "", page.url) if page else place
            except Exception:
                where = place
            self.fail(where, f"{first_lines(error)} ({place})")
        finally:
            self.step_name = before


def first_lines(error):
    """The first lines of an error: Playwright adds a long log of its calls."""
    text = str(error) or type(error).__name__
    return " ".join(text.split("Call log:")[0].splitlines()[:6])
