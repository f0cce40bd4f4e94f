"""The server of fastmcp_server.py behind a real authorization server, which it starts: npm oidc-provider.

usage: guarded_fastmcp_server.py PORT NODE_MODULES; the client is that of MCP_CONFORM_CLIENT_ID and _SECRET.
"""

import os
import subprocess
import sys
from pathlib import Path

from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp_server import server
from pydantic import AnyHttpUrl


def main() -> None:
    port, modules = int(sys.argv[1]), sys.argv[2]
    client = [os.environ[f"MCP_CONFORM_CLIENT_{name}"] for name in ("ID", "SECRET")]
    script = Path(__file__).parent / "authorization_server.mjs"
    provider = subprocess.Popen(
        ["node", str(script), modules, *client], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert provider.stdout
    issuer = provider.stdout.readline().strip()
    origin = f"http://127.0.0.1:{port}"
    verifier = JWTVerifier(
        jwks_uri=f"{issuer}/jwks", issuer=issuer, audience=f"{origin}/mcp", required_scopes=["parts:read"]
    )
    server.auth = RemoteAuthProvider(verifier, authorization_servers=[AnyHttpUrl(issuer)], base_url=origin)
    server.run("http", host="127.0.0.1", port=port, show_banner=False)


if __name__ == "__main__":
    main()
