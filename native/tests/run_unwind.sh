#!/bin/sh
# Every test of the unwinder: the programs of `make test` again, as other compiler options make
# them and with sanitizers, and those that need shared objects, C++, readelf or whole programs.
#
#   tests/run_unwind.sh [bench]
#
# CC and CXX name the compilers. Exits with 1 when anything failed. `bench` prints what a frame
# costs, and nothing else.
set -u
cd "$(dirname "$0")/.." || exit 2
cc=${CC:-cc}
cxx=${CXX:-c++}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0

sources="src/sys.c src/sandbox.c src/front.c src/cfi.c src/eh_frame.c src/image.c src/modules.c src/rules.c src/walk.c src/walk_slow.c"
flags="-std=gnu11 -g -Wall -Wextra -Iinclude -Isrc"

# compile FLAG...: $objects is the folder of the sources' objects with these flags, made once
compile() {
    objects=$work/objects$(echo "$*" | tr -c 'a-zA-Z0-9\n' _)
    [ ! -d "$objects" ] || return 0
    mkdir "$objects"
    for source in $sources; do
        # shellcheck disable=SC2086
        $cc $flags "$@" -c -o "$objects/$(basename "$source").o" "$source" || { failed=1; return 1; }
    done
}

# build NAME SOURCE FLAG...
build() {
    name=$1 test_source=$2
    shift 2
    # shellcheck disable=SC2086
    compile "$@" && $cc $flags "$@" -o "$work/$name" "$objects"/*.o "$test_source" -pthread -ldl ||
        { failed=1; return 1; }
}

# check COMMAND...: run it, note a failure
check() {
    "$@" && return
    echo "FAILED: $*" >&2
    failed=1
}

has() { command -v "$1" >/dev/null 2>&1; }

if [ "${1:-}" = bench ]; then
    build bench tests/unwind_bench.c -O2 && "$work/bench"
    exit $failed
fi

echo "== frames as other options make them"
avx2=
grep -qw avx2 /proc/cpuinfo && avx2=-mavx2
for options in "-O0" "-O1" "-O2 -fno-omit-frame-pointer" "-O3 $avx2" "-Os" "-O2 -DHG_OLD_LOADER"; do
    echo "-- $options"
    for test in frames signals stacks steps; do
        # shellcheck disable=SC2086
        build "$test" "tests/test_unwind_$test.c" $options && check "$work/$test"
    done
done

echo "== corrupt unwind information, with sanitizers"
build corrupt tests/test_unwind_corrupt.c -O1 -fsanitize=address,undefined \
    -fno-sanitize-recover=all &&
    for seed in 1 2 3; do check "$work/corrupt" 30000 $seed; done

echo "== objects that come and go"
for plugin in 1 2; do
    check $cc -O2 -fPIC -shared -DPLUGIN=$plugin -o "$work/plugin$plugin.so" tests/unwind_plugin.c
done
check $cc -O2 -fPIC -shared -DPLUGIN=1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables \
    -fno-unwind-tables -nostartfiles -Wl,--no-eh-frame-hdr -o "$work/bare.so" tests/unwind_plugin.c
plugins="$work/plugin1.so $work/plugin2.so $work/bare.so"
# shellcheck disable=SC2086
build loading tests/unwind_loading.c -O2 &&
    check "$work/loading" $plugins
# shellcheck disable=SC2086
build old_loading tests/unwind_loading.c -O2 -DHG_OLD_LOADER && check "$work/old_loading" $plugins

echo "== C++"
compile -O2
# shellcheck disable=SC2086
check $cc $flags -O2 -c -o "$work/cxx_main.o" tests/unwind_cxx_main.c
for options in -O0 -O2; do
    check $cxx $options -g -o "$work/cxx" tests/unwind_cxx.cc "$work/cxx_main.o" "$objects"/*.o -ldl &&
        check "$work/cxx"
done

echo "== every row of some libraries, as readelf reads it"
build rows tests/unwind_rows.c -O2
libraries=$(ldd "$work/cxx" | sed -n 's/[^/]*\(\/[^ ]*\) (.*/\1/p')
# shellcheck disable=SC2086
check python3 tests/unwind_rows.py "$work/rows" $libraries

echo "== whole programs, every allocation compared with backtrace()"
# shellcheck disable=SC2086
check $cc $flags -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec -shared -Wl,-z,now \
    -o "$work/preload.so" $sources tests/unwind_preload.c -pthread -ldl

# compare COMMAND...: run it under the comparison; its own output goes nowhere
compare() {
    if ! has "$1"; then
        echo "$1 is not installed: not compared"
        return
    fi
    : > "$work/report"
    check env UNWIND_REPORT="$work/report" LD_PRELOAD="$work/preload.so" "$@" > "$work/output"
    cat "$work/report"
    if ! grep -q . "$work/report" || grep -q 'mismatches [1-9]' "$work/report"; then
        echo "FAILED: $1 under comparison" >&2
        failed=1
    fi
}

# shellcheck disable=SC2086
compare "$work/loading" $plugins
grep -q 'retired [1-9]' "$work/report" || {
    echo "FAILED: no unloaded object was noticed by free()" >&2
    failed=1
}
compare sqlite3 :memory: 'create table t(a, b);
    with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000)
    insert into t select x, hex(randomblob(20)) from c;
    select b, count(*) from t group by b order by b limit 2;'
python=$(python3 -c 'import sys; print(sys.executable)')
compare env PYTHONMALLOC=malloc "$python" -c '
import json, re, threading
threads = [threading.Thread(target=lambda: json.dumps(list(range(500)))) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
print(len(re.findall("a+", "aab" * 500)))'
compare perl -e 'my %h; $h{$_} = [1 .. 5] for 1 .. 3000; print sort { $a <=> $b } keys %h'
compare "$cxx" -O1 -c -o "$work/object.o" tests/unwind_cxx.cc

[ $failed = 0 ] && echo "all passed"
exit $failed
