"""HTML documents that load nothing: one style, at most one script, and a policy that allows these alone."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from conformance.reporters.words import lines


def document(package: str, name: str, **values: Any) -> str:
    """The template `name`.html in the folder `templates` of a package, with `name`.css in it, and `name`.js if any."""
    environment = _environment(package)
    style = _ours(environment, f"{name}.css")
    script = _ours(environment, f"{name}.js") if f"{name}.js" in environment.list_templates() else Markup()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            *([f"script-src '{_hash(script)}'"] if script else []),
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return environment.get_template(f"{name}.html").render(policy=policy, style=style, script=script, **values)


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    """What a template prints: whatever it is, no control character is in it."""
    return lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _ours(environment: Environment, name: str) -> Markup:
    """A file of ours that goes into the page as it is."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
