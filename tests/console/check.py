"""Checks the console in a browser: `check.py BINARY FOLDER`. Prints a line for each failure, and nothing if all is well.

With `--only AREA` it checks only that area, with `--verbose` it says how long each takes. With `--images DIR` it takes pictures of
the screens instead.
"""

import argparse
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import actions
import cluster
import forged
import hostile
import images
import lists
import logins
import schedules
import screens
import walk
from browser import browser, browser_of_process, is_installed
from example import Example
from report import Report

# Areas of the example's server: they only look at it.
LOOKING = {
    "screens": screens.of_others,
    "screens of jobs": screens.of_jobs,
    "chinese": screens.chinese,
    "charts": screens.charts,
}
# Areas with servers of their own.
OWN = {
    "actions": actions.with_script,
    "actions without script": actions.without_script,
    "schedules": schedules.with_script,
    "schedules without script": schedules.without_script,
    "empty": screens.empty,
    "lists": lists.check,
    "logins": logins.check,
    "forged": forged.check,
    "hostile": hostile.check,
    "cluster": cluster.check,
    "walk": walk.check,
}
# The longest ones first; the charts need some time to appear.
ORDER = ["screens", "screens of jobs", "hostile", "logins", "actions", "cluster", "lists", "chinese", "forged"]
ORDER += ["actions without script", "schedules", "schedules without script", "walk", "empty", "charts"]
# Much of the time a browser waits for the server, and a server for the clock.
AT_ONCE = 2


def run(area, queue, binary, folder):
    """Checks an area in one of some processes; returns its failures and how long it took."""
    report, begin = Report(area), time.monotonic()
    with report.step(""):
        started = browser_of_process()
        if area in LOOKING:
            LOOKING[area](started, report, queue)
        else:
            OWN[area](started, report, binary, folder)
    return report.failures, time.monotonic() - begin


def check(binary, folder, areas, is_verbose):
    """Checks areas, some at a time; returns the number of failures."""
    example = Example(binary, folder / "example")
    try:
        with ProcessPoolExecutor(AT_ONCE, get_context("spawn")) as pool:
            queue = example.server.share()
            running = {area: pool.submit(run, area, queue, binary, folder) for area in areas}
            count = 0
            for area, future in running.items():
                failures, took_s = future.result()
                count += len(failures)
                for failure in failures:
                    print(failure, flush=True)
                if is_verbose:
                    print(f"{area}: {took_s:.0f} s, {len(failures)} failures", flush=True)
    finally:
        example.stop()
    return count


def take_images(binary, folder, images_folder):
    """Takes the pictures; returns the number of failures."""
    example, report = Example(binary, folder / "example"), Report("images")
    try:
        with report.step(""), browser() as started:
            images.take(started, report, example.server, images_folder)
            walk.check(started, report, binary, folder, images_folder)
    finally:
        example.stop()
    for failure in report.failures:
        print(failure)
    return len(report.failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=Path, metavar="DIR")
    parser.add_argument("--only", action="append", choices=ORDER)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("binary", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if not is_installed():
        sys.exit("chromium is not installed")
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # Another build must not change the program under a run.
    binary = str(folder / "adjourn")
    shutil.copy(arguments.binary, binary)
    if arguments.images:
        sys.exit(1 if take_images(binary, folder, arguments.images.resolve()) else 0)
    sys.exit(1 if check(binary, folder, arguments.only or ORDER, arguments.verbose) else 0)


if __name__ == "__main__":
    main()
