"""Builds the site out of the pages of the project: what MkDocs calls while it works.

The pages are where GitHub shows them too (README.md, docs/, cases/README.md, …); links between them are followed into
the site. The pages of rules are generated, see `rule_pages.py`.
"""

from __future__ import annotations

import posixpath
import re
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rule_pages import INDEX, LANGUAGE, RulePages

from conformance.reporters.knowledge import Catalogue
from conformance.settings.settings import faults

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
STYLE = "stylesheets/site.css"
HOME = "index.md"
PAGES = {
    HOME: "README.md",
    LANGUAGE: "cases/README.md",
    "published.md": "reports/README.md",
    "project/architecture.md": "ARCHITECTURE.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/security-policy.md": "SECURITY.md",
    "project/changelog.md": "CHANGELOG.md",
}
"""Page of the site → its file in the project. Those of docs/ come as they are."""

_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
_FOLDER_LINK = re.compile(r'(href=")(?!https?:|mailto:|#|/)((?:[^"#?]*/)?|(?:[^"#?]*/)?\.{1,2})(#[^"]*)?"')
_ELSEWHERE = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)="(?:https?:)?//[^>]*>')
_FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
_WITHIN_ITEM = re.compile(r"^ {2,3}(?=\S)", re.M)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside of docs/, the files that pages link to, and the generated pages with their navigation."""
    from mkdocs.structure.files import File

    sources = {path: (ROOT / file).read_text("utf-8") for path, file in PAGES.items()}
    for path, text in sources.items():
        files.append(File.generated(config, path, content=text))
    for name in sorted(_linked_files(sources, config)):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    rules = RulePages(Catalogue(faults()))
    for path, text in rules.pages().items():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, STYLE, abs_src_path=str(ROOT / "website" / "site.css")))
    config.nav = [{"Rules": rules.nav()} if entry == {"Rules": INDEX} else entry for entry in config.nav or []]
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Lead links into the site, and indent what is within items of lists as Python-Markdown wants it."""
    here = page.file.src_uri
    if here == HOME:
        page.meta["hide"] = ["navigation"]
    if here not in PAGES and page.file.generated_by is not None:
        return markdown
    folder = posixpath.dirname(_repository_path(here))

    def into_the_site(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        return f"]({posixpath.relpath(_site_path(target), posixpath.dirname(here))}{found[2] or ''})"

    led = _LINK.sub(into_the_site, markdown)
    fenced = [found[0] for found in _FENCED.finditer(led)]
    plain = [_WITHIN_ITEM.sub("    ", part) for part in _FENCED.split(led)]
    return "".join(text for pair in zip_longest(plain, fenced, fillvalue="") for text in pair)


def on_post_page(output: str, **_: Any) -> str:
    """Name the file that a link to a folder means, so that the pages can be read without a web server as well.

    Raises PluginError if the page loads something from elsewhere.
    """
    from mkdocs.exceptions import PluginError

    if found := _ELSEWHERE.search(output):
        raise PluginError(f"a page loads something from elsewhere: {found[0]}")

    def named(found: re.Match[str]) -> str:
        folder = found[2] if not found[2] or found[2].endswith("/") else f"{found[2]}/"
        return f'{found[1]}{folder}index.html{found[3] or ""}"'

    return _FOLDER_LINK.sub(named, output)


def _linked_files(sources: dict[str, str], config: MkDocsConfig) -> set[str]:
    """The files of the project that its pages link to and that are no pages, such as schemas and sample reports."""
    texts = {PAGES[path]: text for path, text in sources.items()}
    texts |= {f"docs/{path.name}": path.read_text("utf-8") for path in Path(config.docs_dir).glob("*.md")}
    found = set()
    for file, text in texts.items():
        for link in _LINK.finditer(text):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(file), link[1]))
            if not name.endswith(".md") and (ROOT / name).is_file():
                found.add(name)
    return found


def _repository_path(path: str) -> str:
    return PAGES.get(path, f"docs/{path}")


def _site_path(file: str) -> str:
    for path, name in PAGES.items():
        if name == file:
            return path
    return file.removeprefix("docs/")
