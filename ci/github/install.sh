#!/usr/bin/env bash
# Gets the program for the action.   install.sh find | build
#   find    the program given by binary-path; else the release's, checked against SHA256SUMS and kept in the tool cache;
#           else tells (output build=true) that it is to be built, where to, and under which key that is cached
#   build   builds it there from these sources, unless the cache brought it
# Environment: NIGHTGATE_BINARY_PATH, NIGHTGATE_ACTION_REPOSITORY, NIGHTGATE_DIRECTORY (build), NIGHTGATE_RELEASES (where
# releases are, in the place of the action's own repository). Ends with 3 when there is no program to be had.
set -euo pipefail

action=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
sums=$action/ci/github/SHA256SUMS
cache=${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:-/tmp}}/nightgate

fail() {
  local text=${1//%/%25}
  text=${text//$'\r'/%0D}
  echo "::error title=nightgate could not be installed::${text//$'\n'/%0A}" >&2
  exit 3
}
output() {
  [[ $2 != *$'\n'* ]] || fail "the output $1 holds a line end"
  echo "$1=$2" >>"${GITHUB_OUTPUT:-/dev/stdout}"
}

architecture() {
  case ${RUNNER_ARCH:-$(uname -m)} in
    X64 | x86_64) echo x64 ;;
    ARM64 | aarch64) echo arm64 ;;
    *) fail "nightgate is for x64 and arm64; this runner is ${RUNNER_ARCH:-$(uname -m)}" ;;
  esac
}

works() { "$1" --version >/dev/null 2>&1; }
is_right() { [[ -f $1 ]] && echo "$2  $1" | sha256sum --check --status; }

# Where this action's releases are: told by the runner, else read from the path it was unpacked to.
releases() {
  local repository=${NIGHTGATE_ACTION_REPOSITORY:-}
  if [[ -z $repository && $action =~ /_actions/([^/]+/[^/]+)/ ]]; then repository=${BASH_REMATCH[1]}; fi
  [[ $repository =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] || return 1
  echo "${GITHUB_SERVER_URL:-https://github.com}/$repository/releases/download"
}

# "SHA256 NAME VERSION" of the program for this machine, when the release has one.
listed() {
  local wanted sum name
  wanted="^nightgate-([0-9][0-9A-Za-z.-]*)-linux-$(architecture)\$"
  while read -r sum name; do
    if [[ $sum =~ ^[0-9a-f]{64}$ && $name =~ $wanted ]]; then
      echo "$sum $name ${BASH_REMATCH[1]}"
      return
    fi
  done <"$sums"
  return 1
}

from_release() {
  local sum=$1 name=$2 version=$3 from program
  program=$cache/$version/$(architecture)/nightgate
  if ! is_right "$program" "$sum"; then
    from=${NIGHTGATE_RELEASES:-$(releases)} || fail "it is not known where this action's releases are"
    mkdir -p "$(dirname "$program")"
    curl --fail --silent --show-error --location --retry 4 --retry-connrefused --connect-timeout 20 --max-time 600 \
      --proto '=https,http' --max-filesize 200000000 --output "$program.new" "$from/v$version/$name" ||
      fail "downloading $from/v$version/$name failed; binary-path names a program that is there already"
    if ! is_right "$program.new" "$sum"; then
      rm -f "$program.new"
      fail "$from/v$version/$name is not what ci/github/SHA256SUMS of this tag says; nothing of it was run"
    fi
    chmod 755 "$program.new"
    mv "$program.new" "$program"
  fi
  works "$program" || fail "$program does not start here: $("$program" --version 2>&1 | tail -n 3)"
  output program "$program"
}

# One name for these sources: what is built from them is built once.
source_key() {
  (cd "$action" && find CMakeLists.txt CMakePresets.json cmake gate bisect store ci config -type f \
    ! -name '*.md' ! -path 'ci/github/examples/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) |
    sha256sum | cut -c 1-20
}

# shellcheck disable=SC1091
distribution() { (. /etc/os-release 2>/dev/null && echo "${ID:-linux}${VERSION_ID:-}") || echo linux; }

find_program() {
  local entry directory
  if [[ -n ${NIGHTGATE_BINARY_PATH:-} ]]; then
    [[ -x $NIGHTGATE_BINARY_PATH && -f $NIGHTGATE_BINARY_PATH ]] ||
      fail "binary-path: $NIGHTGATE_BINARY_PATH is no program"
    output program "$(realpath "$NIGHTGATE_BINARY_PATH")"
    return
  fi
  [[ ${RUNNER_OS:-Linux} == Linux ]] || fail "nightgate runs on Linux; this runner is $RUNNER_OS"
  if entry=$(listed); then
    # shellcheck disable=SC2086
    from_release $entry
    return
  fi
  directory=$cache/build-$(source_key)/$(distribution)-$(architecture)
  output program "$directory/nightgate"
  output directory "$directory"
  output key "nightgate-$(basename "$(dirname "$directory")")-$(basename "$directory")"
  if works "$directory/nightgate"; then output build false; else output build true; fi
}

build_program() {
  local directory=${NIGHTGATE_DIRECTORY:?} work
  if works "$directory/nightgate"; then return; fi
  work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/nightgate-build-XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  echo "::group::Building nightgate"
  "$action/ci/setup" --yes || fail "ci/setup could not install what the build needs"
  cmake -S "$action" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release || fail "cmake failed; its output is above"
  cmake --build "$work" --target nightgate || fail "the build failed; its output is above"
  echo "::endgroup::"
  mkdir -p "$directory"
  install -m 755 "$work/nightgate" "$directory/nightgate"
}

case ${1:-} in
  find) find_program ;;
  build) build_program ;;
  *) fail "install.sh takes find or build" ;;
esac
