"""The URIs that resource templates make of completed values, as RFC 6570 has it."""

from __future__ import annotations

import pytest

from conformance.checks.probes.templates import expanded

VALUES = {"x": "a b/c", "y": "é", "n": "7", "half": "\ud800"}


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("t://{n}", "t://7"),
        ("t://{x}/{y}", "t://a%20b%2Fc/%C3%A9"),
        ("t://{+x}", "t://a%20b/c"),
        ("t://r{/n,x}", "t://r/7/a%20b%2Fc"),
        ("t://r{.n}", "t://r.7"),
        ("t://r{;n}", "t://r;n=7"),
        ("t://r{#x}", "t://r#a%20b/c"),
        ("t://r{?n,y}{&x}", "t://r?n=7&y=%C3%A9&x=a%20b%2Fc"),
        ("t://{n}{?missing}", "t://7"),
        ("t://{half}", "t://%3F"),
        ("t://{n}{?missing,y}", "t://7?y=%C3%A9"),
    ],
)
def test_a_template_makes_a_uri_of_values(template: str, uri: str) -> None:
    assert expanded(template, VALUES) == uri


@pytest.mark.parametrize(
    "template",
    ["t://{missing}", "t://{n}/{missing}", "t://{n}{/missing}", "t://{n}/{x:3}", "t://r", "{n}/x", "t://é/{n}"],
)
def test_without_a_value_for_each_part_there_is_no_uri(template: str) -> None:
    assert expanded(template, VALUES) == ""
