"""Chromium, where there is one: a real browser that reads HTML reports, without any network of its own."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
MISSING = "needs Chromium and its driver: apt-get install chromium chromium-driver"
QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class Chromium(webdriver.Chrome):
    """A browser with a new profile; `messages` and `requests` are emptied by reading them."""

    def show(self, page: Path, fragment: str = "") -> None:
        """Load a page anew."""
        self.get("about:blank")
        self.get(page.as_uri() + fragment)

    def resize(self, width: int, height: int = 900) -> None:
        """Set the size of the page, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str, media: str = "screen") -> None:
        """Emulate a user who likes `light` or `dark`, and a medium."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def scripts(self, allowed: bool) -> None:
        """Whether the scripts of pages run."""
        self.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def messages(self) -> list[Any]:
        """What the console was told, such as errors and breaches of the page's policy."""
        return list(self.get_log("browser"))  # type: ignore[no-untyped-call]

    def requests(self) -> list[str]:
        """The addresses that were asked for, but for those of pages of the browser's own, such as that of a new tab."""
        told = (json.loads(row["message"])["message"] for row in self.get_log("performance"))  # type: ignore[no-untyped-call]
        asked = [row["params"] for row in told if row["method"] == "Network.requestWillBeSent"]
        return [row["request"]["url"] for row in asked if not row["documentURL"].startswith("chrome")]


@contextmanager
def chromium() -> Iterator[Chromium]:
    """A browser, which ends with the block."""
    assert BROWSER and DRIVER
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for word in (*QUIET, f"--user-data-dir={profile}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        browser = Chromium(options=options, service=Service(DRIVER))
        try:
            yield browser
        finally:
            browser.quit()
