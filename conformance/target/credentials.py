"""What is a secret, told by its name or by its look."""

from __future__ import annotations

import re
from itertools import pairwise

from conformance.files.variables import PUBLIC

_SETTINGS = re.compile(
    r"true|false|null|none|yes|no|on|off|default|auto|enabled|disabled|production|development|staging|testing|test"
    r"|debug|info|warn|warning|error|trace|localhost|bearer|basic|token|api-?key|oauth2?|digest|stdio|https?|sse|utf-8"
    r"|json",
    re.I,
)
_SECRET_WORD = re.compile(
    r"token|secrets?|passwords?|passwd|passphrase|passcode|pass|pwd|keys?|apikey|credentials?|authorization|auth"
    r"|cookies?|pat|dsn|jwt|bearer|signature|sig|pin|otp|sas|(db|root|admin|user)pass"
    r"|\w+(token|secret|password|passwd|passphrase|key|credentials?|cookie)"
)
_DESCRIBING = re.compile(
    r"ur[li]s?|type|name|user(name)?|method|file|path|dir|folder|ids?|expiry|expires|ttl|timeout|limit|max|min|count"
    r"|length|size|endpoint|host|port|scopes?|provider|mode|enabled|header|alg(orithm)?|version|region|sock(et)?|agent"
    r"|askpass|prompt|issuer|audience|bits|format|prefix|suffix|server|realm|backend"
)
"""A name that ends with one of these says something about a secret, and is none: AUTH_TYPE, TOKEN_URL."""
IDENTIFYING = re.compile(
    r"(SHA\d*|COMMIT|HASH|DIGEST|MD5|CHECKSUM|REVISION|REF|ID|UUID|GUID|ETAG|VERSION|BUILD)\Z", re.I
)
"""What has such a name looks random and is no secret."""
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")

KNOWN = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[opsur]_\w{16,}|github_pat_\w{16,}|gl[a-z]{2,5}-[\w-]{16,}|sk-[\w-]{12,}"
    r"|[srp]k_(?:live|test)_\w{10,}|whsec_\w{16,}|A[KS]IA[0-9A-Z]{12,}|xox[a-z]-[\w-]{8,}|xapp-[\w-]{8,}"
    r"|eyJ[\w-]{6,}(?:\.[\w-]+){1,4}|AIza[\w-]{20,}|ya29\.[\w.-]{16,}|npm_\w{20,}|pypi-[\w-]{16,}|hf_\w{16,}"
    r"|ntn_\w{16,}|secret_\w{20,}|SG\.[\w-]{10,}\.[\w-]{10,}|do[opr]_v1_\w{16,}|shp[a-z]{2}_\w{16,}|lin_\w{16,}"
    r"|tvly-[\w-]{12,}|fc-[0-9a-f]{24,}|key-[0-9a-f]{24,}|AC[0-9a-f]{32}|pat-[\w-]{16,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
"""Keys and tokens whose issuers gave them a form of their own."""
_RUN = re.compile(r"[A-Za-z0-9]+")
_HEX = re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{32,}|(?=.*[A-F])(?=.*\d)[0-9A-F]{32,}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\].*", re.DOTALL)
_PLAIN = re.compile(r"[+-]?\d{1,6}|\d+(\.\d+)+|[a-z]{2,3}_[A-Z]{2}(\.[\w-]+)?")
URL = re.compile(r"[A-Za-z][\w+.-]*://[^\s\"'<>]+")


def is_setting(value: str) -> bool:
    """Whether it is a word of settings, of JSON or of protocols: never taken for a secret, whatever its name."""
    return _SETTINGS.fullmatch(value) is not None


def says_secret(name: str) -> bool:
    """Whether the name of a variable, a member or an option says that its value is secret."""
    if PUBLIC.match(name):
        return False
    parts = [part.lower() for part in _PART.findall(name)]
    if not parts or _DESCRIBING.fullmatch(parts[-1]) or "public" in parts:
        return False
    return any(map(_SECRET_WORD.fullmatch, parts))


def is_plain(value: str) -> bool:
    """Whether a value is a word, a small number, a version, a path or a locale."""
    return is_setting(value) or bool(PATH.fullmatch(value) or _PLAIN.fullmatch(value))


def looks_secret(value: str) -> bool:
    """Whether a value has the form of a key or a token, whatever its name."""
    return bool(KNOWN.search(value)) or is_random(value)


def is_random(word: str) -> bool:
    """Whether a generator made a word: it is long, and capitals, small letters and digits are mixed."""
    if len(word) < 20 or not re.fullmatch(r"[\w+/=.~-]+", word) or word.startswith(("/", "./", "../", "~")):
        return False
    if _UUID.fullmatch(word) or _HEX.fullmatch(word):
        return True
    longest = max(_RUN.findall(word), key=len, default="")
    if len(longest) < 16:
        return False
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 for c in longest]
    changes = sum(a != b for a, b in pairwise(kinds))
    return 0 in kinds and len(set(kinds)) > 1 and changes >= len(longest) // 3
