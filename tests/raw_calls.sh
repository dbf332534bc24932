#!/bin/sh
# What changes files goes through base/file/io.c: there the crash sweeps let it fail or die, and errors name the file. A call beside it
# would be one that no sweep knows of.
# usage: raw_calls.sh SOURCE_DIR
set -eu
cd "$1"
calls='rename|renameat|link|linkat|symlink|unlink|unlinkat|rmdir|mkdir|mkdirat|ftruncate|truncate|fallocate|posix_fallocate|pwrite|pwritev|writev|copy_file_range|sendfile|fsync|fdatasync|syncfs|remove|creat|mkstemp|mkdtemp'
rooms='src/format src/codec src/capture src/store src/redundancy src/reader src/archive src/lib src/cli'
found=$(find $rooms -name '*.c' ! -name '*_test.c' ! -name '*_fuzz.c' ! -name '*_corpus.c' ! -name '*testing*' ! -name 'powercut_*' ! -name '*_seeds.c' -print0 |
    xargs -0 grep -nE "(^|[^A-Za-z0-9_>.])($calls)\(" | grep -vE '^[^:]*:[0-9]*: *(/?\*|//)' || true)
[ -z "$found" ] && exit 0
echo "these calls belong into base/file/io.c (sk_io_…):"
echo "$found"
exit 1
