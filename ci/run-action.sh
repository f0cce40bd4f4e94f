#!/usr/bin/env bash
# Runs mcp-conform once for action.yml and hands its reports on. It ends with 0 whatever mcp-conform found: the
# output `exit-status` fails the job later, when the reports are uploaded.
# It is also run by the bash of macOS, 3.2.
set -euo pipefail

reports=$(mktemp -d "$RUNNER_TEMP/mcp-conform.XXXXXX")
arguments=(
  --format=github
  "--html=$reports/report.html"
  "--json=$reports/report.json"
  "--junit=$reports/junit.xml"
  "--markdown=$reports/report.md"
  "--sarif=$reports/report.sarif"
)
echo "reports=$reports" >>"$GITHUB_OUTPUT"

# split PREFIX TEXT: adds the words of TEXT, split as in a shell but with nothing expanded, each with PREFIX.
split() {
  local word words
  words=$(mktemp "$RUNNER_TEMP/mcp-conform-words.XXXXXX")
  "$INPUT_VENV/bin/python" -I -c '
import shlex, sys
sys.stdout.write("".join(f"{word}\0" for word in shlex.split(sys.argv[1])))
' "$2" >"$words" 2>/dev/null || return
  while IFS= read -r -d '' word; do
    arguments+=("$1$word")
  done <"$words"
  rm -f "$words"
}

# An input with `=`, so that none is taken for an option of its own.
[[ -z $INPUT_SERVER ]] || arguments+=("--server=$INPUT_SERVER")
[[ -z $INPUT_URL ]] || arguments+=("--url=$INPUT_URL")
[[ -z $INPUT_CONFIG ]] || arguments+=("--config=$INPUT_CONFIG")
[[ -z $INPUT_BASELINE ]] || arguments+=("--baseline=$INPUT_BASELINE")
[[ -z $INPUT_FAIL_ON ]] || arguments+=("--fail-on=$INPUT_FAIL_ON")
if ! split --revision= "$INPUT_REVISION" || ! split "" "$INPUT_ARGS"; then
  echo "::error title=mcp-conform::A quotation mark in the input 'revision' or 'args' is not closed."
  echo "exit-status=2" >>"$GITHUB_OUTPUT"
  exit
fi

# The server inherits the environment: it gets none of the files through which a step speaks to the runner.
env -u GITHUB_ENV -u GITHUB_OUTPUT -u GITHUB_PATH -u GITHUB_STATE -u GITHUB_STEP_SUMMARY \
  -u INPUT_SERVER -u INPUT_URL -u INPUT_CONFIG -u INPUT_REVISION -u INPUT_BASELINE -u INPUT_FAIL_ON -u INPUT_ARGS \
  -u INPUT_VENV "$INPUT_VENV/bin/mcp-conform" "${arguments[@]}" </dev/null &
running=$!

# A job that is cancelled gets its reports too. `wait` also ends when a signal came.
trap 'kill -TERM "$running" 2>/dev/null || true' INT TERM
while true; do
  status=0
  wait "$running" || status=$?
  kill -0 "$running" 2>/dev/null || break
done
echo "exit-status=$status" >>"$GITHUB_OUTPUT"

for report in html:report.html json:report.json junit:junit.xml markdown:report.md sarif:report.sarif; do
  if [[ -s $reports/${report#*:} ]]; then
    echo "${report%%:*}=$reports/${report#*:}" >>"$GITHUB_OUTPUT"
  fi
done

if [[ -s $reports/report.md ]]; then
  cat "$reports/report.md" >>"$GITHUB_STEP_SUMMARY"
else
  echo "mcp-conform ended with exit status $status and wrote no report. The log says why." >>"$GITHUB_STEP_SUMMARY"
fi
