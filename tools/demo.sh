#!/bin/sh
# The whole way once: build the examples, record each, look at the recording.
set -eu

cd "$(dirname "$0")/.."
heapglass=$PWD/.venv/bin/heapglass
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() {
    echo
    echo "\$ $*"
    "$@"
}

for source in examples/*.c; do
    [ -e "$source" ] || { echo "there are no examples yet" >&2; exit 1; }
    name=$(basename "$source" .c)
    step cc -g -O1 -pthread -o "$work/$name" "$source"
    step "$heapglass" run -o "$work/$name.heapglass" -- "$work/$name"
    step "$heapglass" summary "$work/$name.heapglass"
    step "$heapglass" table "$work/$name.heapglass"
done
