# mcp-conform with Node and uv, so that servers start that are run with npx or uvx:
#   docker build --tag mcp-conform .
#   docker run --rm --init mcp-conform --server "npx -y @scope/some-server"
FROM node:24-bookworm-slim AS node

FROM python:3.13-slim-bookworm AS build
# For the workers of mcp-conform fleet: --build-arg EXTRAS=[fleet]
ARG EXTRAS=""
COPY pyproject.toml README.md LICENSE /source/
COPY conformance /source/conformance
COPY cases /source/cases
COPY schemas /source/schemas
RUN python -m venv /opt/mcp-conform \
 && /opt/mcp-conform/bin/pip install --no-cache-dir --no-compile "/source${EXTRAS}" "uv==0.13.9" \
 && /opt/mcp-conform/bin/pip uninstall --yes pip

FROM python:3.13-slim-bookworm
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="mcp-conform" \
      org.opencontainers.image.description="Conformance test suite for Model Context Protocol (MCP) servers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"

COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
COPY --from=build /opt/mcp-conform /opt/mcp-conform
# Whoever `--user` names can write in the home folder: npx and uvx keep there what they fetch.
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && ln -s /opt/mcp-conform/bin/mcp-conform /opt/mcp-conform/bin/uv /opt/mcp-conform/bin/uvx /usr/local/bin/ \
 && useradd --create-home --uid 1000 --user-group --shell /usr/sbin/nologin mcp \
 && chmod 1777 /home/mcp \
 && install --directory --owner mcp --group mcp /work
ENV HOME=/home/mcp \
    PYTHONUNBUFFERED=1 \
    NPM_CONFIG_UPDATE_NOTIFIER=false
USER 1000:1000
WORKDIR /work
HEALTHCHECK NONE
ENTRYPOINT ["mcp-conform"]
