"""The `requestState` of input_required results: which request and user it belongs to and until when, signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.call import Call
    from conformance.reference.wire import Message

# Every process of this server accepts the state of every other. A server with something to lose keeps its key secret.
_KEY = b"conformance.reference"
LIFETIME = 600


def _signature(call: Call, expiry: str, answered: str) -> str:
    bound = {name: call.params.get(name) for name in ("name", "arguments", "uri")}
    text = json.dumps([call.method, bound, expiry, answered, call.server.state_user(call)], sort_keys=True)
    return hmac.new(_KEY, text.encode(), hashlib.sha256).hexdigest()


def token(call: Call) -> str:
    """The state to hand out for `call`, with the answers it has, good for LIFETIME seconds."""
    expiry = str(int(time.time()) + LIFETIME)
    answered = base64.urlsafe_b64encode(json.dumps(call.answers).encode()).decode()
    return f"{expiry}.{answered}.{_signature(call, expiry, answered)}"


def verified(given: str, call: Call) -> bool:
    """Whether `given` was handed out for a request like `call` and has not expired."""
    expiry, _, rest = given.partition(".")
    answered, _, signature = rest.partition(".")
    if not (signature.isascii() and hmac.compare_digest(signature, _signature(call, expiry, answered))):
        return False
    return time.time() < int(expiry)


def answers(given: str) -> Message:
    """The answers that a verified state carries, by key."""
    found: Message = json.loads(base64.urlsafe_b64decode(given.split(".")[1]))
    return found
