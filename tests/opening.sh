#!/bin/sh
# Every C file and header begins with a comment that says what it is for, but for what fuzzers begin with.
# usage: opening.sh SOURCE_DIR
set -eu
cd "$1"
bad=0
for f in $(find src bench tests examples plugins docs include -name '*.[ch]' ! -path 'tests/corpus/*'); do
    [ "$(head -c 2 "$f")" = '/*' ] || { echo "$f does not begin with a comment"; bad=1; }
done
exit $bad
