"""The `requestState` of input_required results: which request it belongs to and until when, signed."""

from __future__ import annotations

import hashlib
import hmac
import json
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.call import Call

# Every process of this server accepts the state of every other. A server with something to lose keeps its key secret.
_KEY = b"conformance.reference"
LIFETIME = 600


def _signature(call: Call, expiry: int) -> str:
    bound = {name: call.params.get(name) for name in ("name", "arguments", "uri")}
    text = json.dumps([call.method, bound, expiry], sort_keys=True)
    return hmac.new(_KEY, text.encode(), hashlib.sha256).hexdigest()


def token(call: Call) -> str:
    """The state to hand out for `call`, good for LIFETIME seconds."""
    expiry = int(time.time()) + LIFETIME
    return f"{expiry}.{_signature(call, expiry)}"


def verified(given: str, call: Call) -> bool:
    """Whether `given` was handed out for a request like `call` and has not expired."""
    expiry, _, signature = given.partition(".")
    if not (expiry.isascii() and expiry.isdigit() and len(expiry) < 12 and signature.isascii()):
        return False
    return time.time() < int(expiry) and hmac.compare_digest(signature, _signature(call, int(expiry)))
