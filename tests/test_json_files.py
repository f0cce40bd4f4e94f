"""JSON as editors keep it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.files.json_files import load
from conformance.files.yaml_files import FileError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def written(folder: Path, text: str | bytes) -> Path:
    """A file with `text` in it."""
    path = folder / "some.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_plain_json_is_read_as_everybody_reads_it(
    tmp_path: Path, value: object, indent: int | str | None, escaped: bool
) -> None:
    assert load(written(tmp_path, json.dumps(value, indent=indent, ensure_ascii=escaped)))[0] == value


def test_comments_and_trailing_commas_are_passed_over_and_strings_are_left_alone(tmp_path: Path) -> None:
    text = """\ufeff// first
    {
      "url": "http://x/y", // a comment
      /* one
         over lines */ "glob": "/* no comment */ // nor this",
      "list": [1, 2, /* , */ 3,],
      "quote": "a \\" // b",
      "empty": {}, "none": [],
    } // last"""
    data, lines = load(written(tmp_path, text))
    assert data == {
        "url": "http://x/y",
        "glob": "/* no comment */ // nor this",
        "list": [1, 2, 3],
        "quote": 'a " // b',
        "empty": {},
        "none": [],
    }
    assert (lines["url",], lines["glob",], lines["list", 2], lines["none",]) == (3, 5, 6, 8)


def test_of_a_key_that_stands_twice_the_last_value_counts(tmp_path: Path) -> None:
    assert load(written(tmp_path, '{"a": 1, "a": 2}'))[0] == {"a": 2}


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("", 1, "column 1: the file is empty"),
        ("// nothing\n", 2, "the file is empty"),
        ('{"a": 1', 1, "column 8: } is missing at the end"),
        ('{"a": [1, 2\n}', 2, "column 1: a comma or ] was expected"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, "column 3: a comma or } was expected"),
        ('{\n  "a" 1}', 2, "column 7: a colon was expected after the key 'a'"),
        ("{\n  a: 1}", 2, "column 3: a key in double quotes or } was expected"),
        ("{'a': 1}", 1, "column 2: a key in double quotes"),
        ('{"a": yes}', 1, "a value was expected, not 'yes'"),
        ('{"a": NaN}', 1, "a value was expected, not 'NaN'"),
        ('{"a": 01}', 1, "a value was expected, not '01'"),
        ('{"a": ,}', 1, "a value was expected, not ','"),
        ('{"a":', 1, "a value is missing at the end"),
        ('{,"a": 1}', 1, "column 2: a key in double quotes"),
        ("[1,,2]", 1, "a value was expected, not ','"),
        ('{"a": "x\ny"}', 1, "column 9: invalid control character"),
        ('{\n"a": "x}', 2, "column 6: unterminated string"),
        (r'{"a": "C:\path"}', 1, "column 10: invalid \\escape"),
        ('{"a": 1} {}', 1, "column 10: something follows"),
        ('{"a": 1 /* }', 1, "column 9: a comment is not closed"),
        ("[" * 100, 1, "nested more than 50 deep"),
        (b'{"a": "\xff"}', 1, "it is not UTF-8"),
    ],
)
def test_what_is_no_json_is_told_with_its_line_and_column(
    tmp_path: Path, text: str | bytes, where: int, words: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileError) as caught:
        load(path)
    assert caught.value.line == where
    assert words in str(caught.value)
