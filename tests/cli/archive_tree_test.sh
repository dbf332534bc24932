#!/bin/sh
# saikai archive create, where the archive lies in the tree that it is made of: it never holds itself, nor what is to become it, and says so.
# usage: archive_tree_test.sh SAIKAI
set -eu
saikai=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "archive_tree_test: $*" >&2; exit 1; }
names() { "$saikai" archive ls "$1" | grep -v '^#' | awk '{print $NF}' | sort | tr '\n' ' '; } # what an archive holds

mkdir -p tree/sub
cd tree
seq 1 3000 > numbers
seq 5 4000 > sub/more
"$saikai" archive create -o all.ska . 2> ../err || fail "the first time"
[ ! -s ../err ] || fail "says that something is left out where nothing is: $(cat ../err)"
held=$(names all.ska)
[ "$held" = "numbers sub/more " ] || fail "the archive holds $held"
size=$(wc -c < all.ska)
for i in 2 3; do # again and again: no larger, and nothing of itself in it
    "$saikai" archive create -o all.ska . 2> ../err || fail "time $i"
    [ "$(names all.ska)" = "$held" ] || fail "time $i the archive holds $(names all.ska)"
    [ "$(wc -c < all.ska)" -le $((size + 64)) ] || fail "time $i it is larger"
    [ "$(wc -l < ../err)" = 1 ] && grep -q '\./all\.ska is left out:' ../err || fail "time $i it says $(cat ../err)"
done
"$saikai" archive create -q -o all.ska . 2> ../err && [ ! -s ../err ] || fail "-q speaks: $(cat ../err)"
# however the output and the files are named, and from a list
"$saikai" archive create -o "$dir/tree/sub/../all.ska" * 2> ../err || fail "by another name"
[ "$(names all.ska)" = "$held" ] && grep -q 'all.ska is left out' ../err || fail "by another name it holds $(names all.ska)"
find . -type f | "$saikai" archive create -q -o all.ska -T - || fail "from a list"
[ "$(names all.ska)" = "$held" ] || fail "from a list it holds $(names all.ska)"
"$saikai" archive create -q -o all.ska all.ska 2> ../err && fail "an archive of nothing but itself"
grep -q 'nothing to archive' ../err || fail "it does not say that there is nothing: $(cat ../err)"
[ "$(names all.ska)" = "$held" ] || fail "an archive was lost that was to hold itself"
# what other runs are writing it to, or left: but for those of other archives
: > all.ska.123456.tmp
: > all.ska.part.tmp
: > sub/all.ska.1.tmp
"$saikai" archive create -o all.ska . 2> ../err || fail "with temporary files"
[ "$(names all.ska)" = "all.ska.part.tmp numbers sub/all.ska.1.tmp sub/more " ] || fail "of temporary files it holds $(names all.ska)"
[ "$(wc -l < ../err)" = 1 ] && grep -q 'left out, and 1 more:' ../err || fail "of temporary files it says: $(cat ../err)"
rm -f all.ska.part.tmp sub/all.ska.1.tmp
# another name of the archive before is a file like others, and so is a link; standard output may be a file of the tree
ln all.ska kept.ska
"$saikai" archive create -q -o all.ska . || fail "with another name of it"
[ "$(names all.ska)" = "kept.ska numbers sub/more " ] || fail "with another name of it, it holds $(names all.ska)"
rm kept.ska all.ska
ln -s elsewhere.ska link.ska
"$saikai" archive create -q -o link.ska . && "$saikai" archive create -q -L -o link.ska . || fail "through a link"
[ "$(names elsewhere.ska)" = "numbers sub/more " ] || fail "through a link it holds $(names elsewhere.ska)"
rm link.ska elsewhere.ska
"$saikai" archive create -q -o - . > out.ska || fail "standard output"
[ "$(names out.ska)" = "$held" ] || fail "on standard output it holds $(names out.ska)"
rm out.ska
# nor does it hold those that it builds on
"$saikai" archive create -q -o one.ska .
echo more >> numbers
"$saikai" archive create --previous one.ska -o two.ska . > ../out 2> ../err || fail "after another"
[ "$(names two.ska)" = "$held" ] || fail "after another it holds $(names two.ska)"
[ "$(wc -l < ../err)" = 1 ] && grep -q '\./one\.ska is left out: .* builds on' ../err || fail "after another it says: $(cat ../err)"
echo more >> numbers
"$saikai" archive create --previous two.ska -o three.ska . > ../out 2> ../err || fail "after two others"
[ "$(names three.ska)" = "$held" ] && grep -q 'left out, and 1 more: .* builds on' ../err || fail "after two others it holds $(names three.ska) and says: $(cat ../err)"
rm one.ska two.ska three.ska
cd ..

# names with newlines, from a list that ends them with zero bytes; and a tree of hard links, as backups are, which took minutes once
mkdir odd
echo 1 > 'odd/two
lines'
echo 2 > odd/-dash
find odd -type f -print0 | "$saikai" archive create -q -0 -T - -o odd.ska || fail "names that end with zero bytes"
"$saikai" archive extract -q -o back odd.ska && diff -r odd back/odd || fail "odd names do not come back"
mkdir links
i=0
while [ $i -lt 20000 ]; do echo links/$i; i=$((i + 1)); done | xargs touch
cp -al links again
timeout 60 "$saikai" archive create -q --no-sync -o links.ska links again || fail "hard links take too long"
rm -r back
timeout 60 "$saikai" archive extract -q --no-sync -o back links.ska || fail "hard links take too long to come back"
[ "$(find back -type f -links 2 | wc -l)" = 40000 ] || fail "hard links do not come back"
rm -r odd back links again odd.ska links.ska

# the watcher, whose archives go into what it watches: beside the sets, or into one of them
for at in w w/archives w/b/archives; do
    mkdir -p w/a w/b
    seq 1 1000 > w/a/file
    seq 2 2000 > w/b/file
    "$saikai" archive create --watch w --settle 100ms --sets 2 -o $at > out 2> err || fail "the watcher in $at"
    [ "$(names $at/a.ska)" = "w/a/file " ] && [ "$(names $at/b.ska)" = "w/b/file " ] || fail "the watcher's archive in $at"
    # nothing changed but what it made: it goes on to the next set, and looks at none twice
    mkdir w/c
    seq 3 3000 > w/c/file
    "$saikai" archive create --watch w --settle 100ms --sets 1 -o $at > out 2> err || fail "the watcher again in $at"
    [ "$(names $at/c.ska)" = "w/c/file " ] || fail "the watcher's next archive in $at: $(cat out)"
    [ ! -e $at/archives.ska ] && [ "$(ls $at | grep -c ska)" = 3 ] || fail "in $at the watcher made $(ls $at)"
    if [ $at != w ]; then
        [ "$(wc -l < err)" = 1 ] && grep -q "$at is left out:" err || fail "the watcher in $at says: $(cat err)"
    fi
    rm -r w
done
exit 0
