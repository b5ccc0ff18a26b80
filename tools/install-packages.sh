#!/bin/sh
# Make sure that Debian packages are installed: those named, or those of debian-packages.txt.
#
#   tools/install-packages.sh [PACKAGE]...
#
# Does nothing, quickly, when all are there. HEAPGLASS_PACKAGES=present says that they are, for
# systems with other package managers.
set -eu

here=$(dirname "$0")
[ $# -gt 0 ] || set -- $(sed 's/#.*//' "$here/debian-packages.txt")
[ "${HEAPGLASS_PACKAGES:-}" != present ] || exit 0

fail() {
    echo "$0: $1: ${missing# }" >&2
    echo "Install them and try again; HEAPGLASS_PACKAGES=present skips this check." >&2
    exit 1
}

missing=$*
command -v dpkg-query >/dev/null || fail "this is no Debian system; these packages are needed"

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p') || true
missing=
for package; do
    echo "$installed" | grep -qxF "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
    as_root="sudo -n"
    sudo -n true 2>/dev/null || fail "neither root nor sudo, cannot install"
fi

install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        install -y --no-install-recommends $missing </dev/null >/dev/null
}

echo "installing Debian packages:$missing"
# The lists of a fresh system are empty or old: fetch them only when needed.
install 2>/dev/null || { $as_root apt-get -qq update && install; } || fail "apt-get cannot install"
