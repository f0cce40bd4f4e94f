"""The ways in which a server may tell a secret; written without a look at how they are found again."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus


def disguises(secret: str) -> dict[str, str]:
    """Name → text, from which anybody can tell the secret."""
    data = secret.encode()
    percent = quote(secret, safe="")
    whole = base64.b64encode(data).decode()
    return {
        "plain": secret,
        "upper": secret.upper(),
        "lower": secret.lower(),
        "reversed": secret[::-1],
        "base64": whole,
        "base64 without padding": whole.rstrip("="),
        "base64 for URLs": base64.urlsafe_b64encode(data).decode().rstrip("="),
        "hex": data.hex(),
        "HEX": data.hex().upper(),
        "URL": quote(secret),
        "URL, all": percent,
        "URL, small": _small(percent),
        "URL, plus": quote_plus(secret),
        "URL, each": "".join(f"%{byte:02X}" for byte in data),
        "JSON": json.dumps(secret)[1:-1],
        "JSON, solidus": json.dumps(secret, ensure_ascii=False)[1:-1].replace("/", "\\/"),
        "JSON, each": "".join(f"\\u{unit:04x}" for unit in _units(secret)),
        "JSON, twice": json.dumps(json.dumps(secret)),
        "HTML": html.escape(secret),
        "bytes": "".join(f"\\x{byte:02x}" for byte in data),
    }


def within(secret: str) -> dict[str, str]:
    """Name → base64 of a text that holds the secret, with from nought to two bytes before it and two after."""
    return {f"base64 after {n}": base64.b64encode(b"a:"[:n] + secret.encode() + b";b").decode() for n in range(3)}


def certain(secret: str) -> dict[str, str]:
    """Name → what of `within` holds bits of the secret alone."""
    found = {}
    for n in range(3):
        bits, size = 8 * n, 8 * len(secret.encode())
        text = base64.b64encode(b"a:"[:n] + secret.encode() + b";b").decode()
        found[f"base64 after {n}"] = text[-(-bits // 6) : (bits + size) // 6]
    return found


def halves(text: str) -> tuple[str, str]:
    """Both halves; of an odd number of characters the second is the longer one."""
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _small(percent: str) -> str:
    parts = percent.split("%")
    return parts[0] + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts[1:])


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
