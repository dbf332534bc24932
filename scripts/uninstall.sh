#!/bin/sh
# Removes the files that an install manifest of CMake lists, and the directories of Saikai's own that are empty then. DESTDIR is
# that of the installation.
# usage: uninstall.sh MANIFEST
set -eu
manifest=$1
[ -f "$manifest" ] || {
    echo "uninstall: there is no $manifest: what is installed was not installed from this folder" >&2
    exit 1
}
n=0
while IFS= read -r file || [ -n "$file" ]; do
    file=${DESTDIR-}$file
    if [ -e "$file" ] || [ -L "$file" ]; then
        rm -f -- "$file"
        n=$((n + 1))
    fi
    dir=$(dirname "$file")
    while case $dir in */saikai | */saikai/* | */Saikai) : ;; *) false ;; esac && rmdir "$dir" 2>/dev/null; do
        dir=$(dirname "$dir")
    done
done <"$manifest"
rm -f -- "$manifest"
echo "uninstall: $n files removed"
