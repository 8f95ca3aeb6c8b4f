#!/bin/sh
# build.sh OUT [COMMIT]: builds the broker of this checkout into the directory OUT, as one static binary.
# BROKER_CORE may name a directory with the objects of the parts that seldom change (client, entity, http, main, store).
set -eu
here=$(dirname "$0")
out=$1
commit=${2:-$(git -C "$here" rev-parse HEAD)}
flags="-std=c++20 -O2 -DNDEBUG -Wall -Wextra"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
for part in client entity http main store handlers; do
  if [ -n "${BROKER_CORE:-}" ] && [ -f "$BROKER_CORE/$part.o" ]; then
    cp "$BROKER_CORE/$part.o" "$objects/"
  else
    # shellcheck disable=SC2086
    ${CXX:-g++} $flags -c "$here/$part.cpp" -o "$objects/$part.o"
  fi
done
# shellcheck disable=SC2086
${CXX:-g++} $flags -DCOMMIT="\"$commit\"" -c "$here/version.cpp" -o "$objects/version.o"
mkdir -p "$out"
${CXX:-g++} -static -s "$objects"/*.o -o "$out/broker"
