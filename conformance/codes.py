"""The error codes of JSON-RPC 2.0 and of the Model Context Protocol, each by one name.

https://www.jsonrpc.org/specification#error_object, and `schema.ts` of each revision.
"""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
"""Until 2025-11-25."""
URL_REQUIRED = -32042
"""Of 2025-11-25: the user has to visit a URL first."""
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
"""These three since 2026-07-28."""

PREDEFINED = (PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR)
"""Those of JSON-RPC itself."""
