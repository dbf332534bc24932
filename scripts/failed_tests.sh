#!/bin/sh
# What each failed test in a log of ctest (--output-on-failure) said, and the list of them.
# usage: failed_tests.sh LOG
set -eu
echo "== failed, and what each said (all of it: $1)"
# from the line of its result to that of the next test
awk '/^ *[0-9]+\/[0-9]+ Test +#/ { failed = /\*\*\*/ && !/\*\*\*Skipped/ }
     /^ +Start +[0-9]+:/ { failed = 0 }
     /% tests passed/ { end = 1 }
     failed || end { print }' "$1"
