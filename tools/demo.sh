#!/bin/sh
# The main job once, on a real program: build the leaky example server, record it, look at it.
set -eu

cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$root/.venv/bin:$PATH
cd "$work"
[ -t 1 ] || export COLUMNS=100

step() {
    echo
    echo "\$ $*"
    "$@"
}

cp "$root/examples/leaky_server.c" .
step cc -g -O2 -pthread leaky_server.c -o leaky_server
step heapglass run --snapshot 0.02 -o server.heapglass -- ./leaky_server
step heapglass summary server.heapglass
echo
echo "Where the leak is: the sites with the most memory never freed, and who called them."
step heapglass table --sort leaked --limit 2 --stacks server.heapglass
echo
echo "And what only came and went: the temporary allocations, by function."
step heapglass table --sort temporary --group function --limit 5 server.heapglass
echo
echo "And all of it as one page for a browser, to look around in and to share."
mkdir -p "$root/build"
step heapglass report -f -o "$root/build/leaky_server.html" server.heapglass
echo
echo "Open it: file://$root/build/leaky_server.html"
