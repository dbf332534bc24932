#!/bin/sh
# A tag names one struct: none is defined twice. struct sk_request is opaque, and each group has its own.
# usage: tags.sh SOURCE_DIR
set -eu
cd "$1"
twice=$(grep -rhoE '^struct sk_[a-z0-9_]+ \{' src --include='*.[ch]' | sort | uniq -d | grep -v '^struct sk_request {$' || true)
[ -z "$twice" ] || { echo "defined twice: $twice"; exit 1; }
