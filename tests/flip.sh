#!/bin/sh
# Damages a file: turns one bit of the byte at OFFSET over, which so is another one whatever was there.
# usage: flip.sh FILE OFFSET
set -eu
old=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
[ "$old" ] || { echo "flip.sh: $1 has no byte $2" >&2; exit 1; }
printf "\\$(printf %03o $((old ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
