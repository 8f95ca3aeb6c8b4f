#!/usr/bin/env bash
# Keeps the nights of a hosted runner, which forgets everything, as history.csv on a branch.
#   history.sh restore   before the night: reads the branch and imports it
#   history.sh keep      after the night: exports and pushes; a push that came in between is imported and joined
# A branch that could not be read is never written. Nothing is ever pushed by force. Environment: NIGHTGATE (program),
# NIGHTGATE_CONFIG, NIGHTGATE_HISTORY (branch), NIGHTGATE_REMOTE (origin). Ends with 3 when the history is out of reach.
set -euo pipefail

program=${NIGHTGATE:-nightgate}
config=${NIGHTGATE_CONFIG:-nightgate.json}
ref=refs/heads/${NIGHTGATE_HISTORY:-nightgate-history}
remote=${NIGHTGATE_REMOTE:-origin}
directory=${RUNNER_TEMP:-/tmp}/nightgate-history
read_mark=$directory/read  # holds the commit that was read, or "none": the proof that reading worked
csv=$directory/history.csv
tries=5

fail() {
  local text=${1//%/%25}
  echo "::error title=nightgate history::${text//$'\n'/%0A}" >&2
  exit 3
}

# The branch's commit, "none" where there is no such branch yet; fails when that can't be known.
remote_commit() {
  local listed
  listed=$(git ls-remote --quiet "$remote" "$ref") || return 1
  if [[ -z $listed ]]; then echo none; else echo "${listed%%[[:space:]]*}"; fi
}

# Imports what the branch holds and remembers that it was read.
import_branch() {
  local commit
  commit=$(remote_commit) || fail "the branch ${ref#refs/heads/} of $remote can't be read; nothing is written"
  if [[ $commit != none ]]; then
    git fetch --quiet --no-tags --depth 1 "$remote" "$commit" || fail "commit $commit of the history can't be fetched"
    git cat-file blob "$commit:history.csv" >"$csv" || fail "the history branch holds no history.csv"
    "$program" import --config "$config" "$csv" || fail "the history could not be imported; nothing is written"
  fi
  echo "$commit" >"$read_mark"
}

# Pushes the store's history as a child of the commit that was read. 1: somebody pushed in between.
push_once() {
  local parent blob tree commit
  parent=$(cat "$read_mark")
  "$program" export --config "$config" "$csv" || fail "the history could not be exported; nothing is written"
  [[ -s $csv ]] || fail "the export is empty; nothing is written"
  blob=$(git hash-object -w "$csv")
  tree=$(printf '100644 blob %s\thistory.csv\n' "$blob" | git mktree)
  if [[ $parent != none && $(git rev-parse "$parent^{tree}") == "$tree" ]]; then return 0; fi
  local parents=()
  [[ $parent == none ]] || parents=(-p "$parent")
  commit=$(GIT_AUTHOR_NAME=nightgate GIT_AUTHOR_EMAIL=nightgate GIT_COMMITTER_NAME=nightgate GIT_COMMITTER_EMAIL=nightgate \
    git commit-tree "$tree" "${parents[@]}" -m "nights until $(date -u +%FT%TZ)")
  git push --quiet "$remote" "$commit:$ref"
}

keep() {
  local attempt now
  [[ -s $read_mark ]] || fail "the history was not read in this job (history.sh restore), so it is not written"
  for ((attempt = 1; attempt <= tries; ++attempt)); do
    if push_once; then return; fi
    now=$(remote_commit) || fail "the branch can't be read any more"
    echo "push $attempt was not taken (the branch is at $now now); joining what came in between" >&2
    import_branch
    sleep "$((attempt * ${NIGHTGATE_PAUSE:-2}))"
  done
  fail "the history could not be pushed in $tries tries; it is in $csv"
}

mkdir -p "$directory"
case ${1:-} in
  restore)
    rm -f "$read_mark"
    import_branch
    ;;
  keep) keep ;;
  *) fail "history.sh takes restore or keep" ;;
esac
