#!/bin/sh
# Make .venv: a virtual environment with heapglass, editable, and what developing it needs.
#
# Does nothing, quickly, when nothing has changed since. PYTHON names another interpreter.
set -eu

cd "$(dirname "$0")/.."
venv=.venv
python=${PYTHON:-python3}

fail() {
    echo "$0: $*" >&2
    exit 1
}

command -v "$python" >/dev/null || fail "$python not found"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is too old: heapglass needs Python 3.11 or later (PYTHON=... names another)"

# A moved checkout, another interpreter and other dependencies all call for a new environment.
wanted=$(
    pwd -P
    "$python" -c 'import sys; print(sys.version, sys.base_prefix)'
    cksum pyproject.toml hatch_build.py tools/setup.sh
)
if [ -f $venv/setup ] && [ "$(cat $venv/setup)" = "$wanted" ]; then
    exit 0
fi

echo "making $venv"
# Debian parts the venv module from Python.
"$python" -c 'import venv, ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
rm -rf $venv
"$python" -m venv $venv
log=$venv/setup.log

# What pip has to say is for those whose installation failed.
install() {
    $venv/bin/python -m pip install --disable-pip-version-check --no-input "$@" >>$log 2>&1 || {
        tail -n 30 $log >&2
        fail "pip install $* failed; all it said is in $log"
    }
}

# Dependency groups came with pip 25.1.
install --upgrade 'pip>=25.1'
install --editable . --group dev
printf '%s\n' "$wanted" >$venv/setup
