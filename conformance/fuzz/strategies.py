"""What the campaigns generate."""

from __future__ import annotations

import json

from hypothesis import strategies as st

_SCALARS = st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(max_size=8)
JSON_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)

_REQUEST = json.dumps({"jsonrpc": "2.0", "id": 900001, "method": "mcp-conform/none", "params": {"a": ["x", 1]}})


def _truncated() -> st.SearchStrategy[bytes]:
    return st.integers(1, len(_REQUEST) - 1).map(lambda length: _REQUEST[:length].encode())


def _with_bytes(bad: list[bytes]) -> st.SearchStrategy[bytes]:
    """A request into one of whose strings something was put that JSON does not allow there."""
    return st.sampled_from(bad).map(lambda part: _REQUEST.encode().replace(b"none", b"no" + part + b"ne"))


MALFORMED = st.one_of(
    _truncated(),
    _with_bytes([b"\\x", b"\\u12", b"\\", b"\t", b"\x00", b"\x1f"]),
    _with_bytes([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"]),
    st.sampled_from([b",}", b"}}", b",", b"]", b" trailing"]).map(lambda tail: _REQUEST[:-1].encode() + tail),
    st.sampled_from([b"NaN", b"Infinity", b"-", b"01", b"1.", b"'x'", b"undefined", b"//", b"{'a':1}"]),
    st.binary(min_size=1, max_size=40).filter(lambda data: b"\n" not in data and b"\r" not in data),
)
"""Lines that are not JSON, most of the time: what is JSON after all is told by the property."""
