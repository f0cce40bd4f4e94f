#!/usr/bin/env bash
# Installs mcp-conform for action.yml into a virtual environment of its own, whose folder is the output `venv`.
set -euo pipefail

if [[ $RUNNER_OS == Windows ]]; then
  echo "::error title=mcp-conform::This action runs on Linux and macOS."
  exit 2
fi

what=$GITHUB_ACTION_PATH
if [[ -n $INPUT_VERSION ]]; then
  if [[ ! $INPUT_VERSION =~ ^[0-9][0-9A-Za-z.+!]*$ ]]; then
    echo "::error title=mcp-conform::The input 'version' is not a version, such as 0.1.0."
    exit 2
  fi
  what="mcp-conformance==$INPUT_VERSION"
fi

venv=$(mktemp -d "$RUNNER_TEMP/mcp-conform-venv.XXXXXX")
"$PYTHON" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$what"
"$venv/bin/mcp-conform" --version
echo "venv=$venv" >>"$GITHUB_OUTPUT"
