#!/usr/bin/env bash
# The action's main step: runs the command with --json, then says what came out (nightgate publish), which decides the
# step's exit code. Everything comes by environment (action.yml); nothing is ever evaluated.
set -euo pipefail

fail() {  # wrong usage: 2
  local text=${1//%/%25}
  text=${text//$'\r'/%0D}
  echo "::error title=nightgate::${text//$'\n'/%0A}" >&2
  exit 2
}
random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

program=${NIGHTGATE_PROGRAM:?}
command=${NIGHTGATE_COMMAND:-compare}
config=${NIGHTGATE_CONFIG:-nightgate.json}
config_from=${NIGHTGATE_CONFIG_FROM:-base}
fail_on=${NIGHTGATE_FAIL_ON:-no-verdict}
comment=${NIGHTGATE_COMMENT:-on-change}
[[ $fail_on =~ ^(regression|no-verdict|never)$ ]] || fail "fail-on is regression, no-verdict or never; found: $fail_on"
[[ $config_from =~ ^(base|head)$ ]] || fail "config-from is base or head; found: $config_from"
[[ $comment =~ ^(always|on-change|never)$ ]] || fail "comment is always, on-change or never; found: $comment"

# In a pull request its author does not decide what is run here: the base branch's configuration and files count.
options=("--config=$config" --json)
[[ $config_from == head || -z ${GITHUB_BASE_REF:-} ]] || options+=("--config-from=refs/remotes/origin/$GITHUB_BASE_REF")

case $command in
  compare) arguments=(compare "${options[@]}" -- "${NIGHTGATE_BASE:-merge-base}" "${NIGHTGATE_HEAD:-HEAD}") ;;
  nightly) arguments=(nightly "${options[@]}") ;;
  bisect)
    [[ -n ${NIGHTGATE_METRIC:-} ]] || fail "command bisect needs the input metric (deployment.scenario.metric)"
    arguments=(bisect "${options[@]}" "--good=${NIGHTGATE_BASE:-}" "--bad=${NIGHTGATE_HEAD:-HEAD}"
      "--metric=$NIGHTGATE_METRIC")
    ;;
  *) fail "command is compare, nightly or bisect; found: $command" ;;
esac

directory=$(mktemp -d "${RUNNER_TEMP:-/tmp}/nightgate-XXXXXX")
result=$directory/result.json

# What the broker and its logs print is text from outside: no workflow command in it is obeyed. The token stays here.
mark=$(random)
echo "::stop-commands::$mark"
code=0
env -u NIGHTGATE_TOKEN "$program" "${arguments[@]}" >"$result" || code=$?
echo "::$mark::"

exec "$program" publish "$result" --exit-code "$code" --fail-on "$fail_on" --comment "$comment" \
  --key "${NIGHTGATE_KEY:-gate}"
