#!/bin/sh
# Runs every fuzz target under libFuzzer (clang) for FUZZ_SECONDS (60) seconds each, from the committed corpus.
set -eu
seconds=${FUZZ_SECONDS:-60}
clang=$(command -v clang || command -v clang-14 || true)
[ -n "$clang" ] || { echo "fuzz: clang is missing: apt-get install clang libclang-rt-14-dev" >&2; exit 1; }
cmake -S . -B build-fuzz -DCMAKE_C_COMPILER="$clang" -DSAIKAI_FUZZ=ON -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
targets=$(cmake --build build-fuzz --target help | sed -n 's/^\.\.\. \([a-z0-9_]*_fuzz\)$/\1/p')
for t in $targets; do
    cmake --build build-fuzz -j"$(nproc)" --target "$t" -- -s --no-print-directory >/dev/null
    exe=$(find build-fuzz -type f -name "$t" -perm -u+x | head -n 1)
    mkdir -p "build-fuzz/corpus/$t"
    echo "== $t, $seconds s"
    "$exe" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
        "build-fuzz/corpus/$t" "tests/corpus/$t"
done
