#!/bin/sh
# saikai archive: files into an archive and back, what it says about mistakes, and the watcher.
# usage: archive_test.sh SAIKAI MAKE_FIELD
set -eu
saikai=$1
make_field=$2
golden=$(cd "$(dirname "$0")/../golden/ska" && pwd)
flip=$(cd "$(dirname "$0")/.." && pwd)/flip.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "archive_test: $*" >&2; exit 1; }

mkdir -p sets/a/deep sets/b
seq 1 5000 > sets/a/numbers
head -c 100000 /dev/urandom > sets/a/deep/noise
: > sets/a/empty
seq 3 4000 > sets/b/numbers

"$saikai" archive create -q -o x.ska sets
"$saikai" archive extract -q -o out x.ska
diff -r sets out/sets || fail "the files differ"
"$saikai" archive create -q -o y.ska ./sets/../sets//a/./ "$PWD/sets/b"
"$saikai" archive ls y.ska | grep -q ' sets/a/deep/noise$' || fail "names with detours"
"$saikai" archive extract -q -o detour y.ska && diff -r sets/a detour/sets/a || fail "files with detours in their names"
rm -r y.ska detour
"$saikai" archive verify x.ska | grep -q 'are good' || fail "verify"
[ "$("$saikai" archive ls x.ska | wc -l)" = 4 ] || fail "ls"
"$saikai" archive extract -q --only 'sets/b/*' -o one x.ska
[ -f one/sets/b/numbers ] && [ ! -e one/sets/a/numbers ] || fail "--only"

# one variable of all files, with its own name, shape and bytes
mkdir -p fields/a fields/b
"$make_field" fields/a
"$make_field" fields/b
if [ -f fields/a/field.h5 ] && command -v h5diff > /dev/null; then
    "$saikai" archive create -q -o f.ska fields
    "$saikai" archive extract --variable T -o T.h5 f.ska > out.txt || fail "--variable"
    h5diff T.h5 fields/b/field.h5 /fields/b/field.h5/group/T /group/T || fail "--variable gives something else"
    "$saikai" archive extract -q --variable 'gr*/lev*' -o level.h5 f.ska
    h5diff level.h5 fields/a/field.h5 /fields/a/field.h5/group/level /group/level || fail "--variable with a pattern"
    h5ls -r level.h5 | grep -q '/T ' && fail "--variable gives other variables"
    "$saikai" archive extract -q --variable nothing -o no.h5 f.ska 2> err && fail "a variable that is not there"
    grep -q nothing err || fail "the message does not name the variable"
    [ -e no.h5 ] && fail "a file without data is left"
    # chunks become one dataset, filters are undone, nothing is left out
    if command -v h5repack > /dev/null; then
        mkdir chunked
        h5repack -f /group/T:GZIP=4 -l /group/T:CHUNK=5x7x31 -l /group/level:CHUNK=5x7x31 fields/a/field.h5 chunked/field.h5
        "$saikai" archive create -q -o c.ska chunked
        for v in T level; do
            "$saikai" archive extract -q --variable $v -o c.h5 c.ska || fail "--variable of a chunked dataset"
            [ "$(h5ls -r c.h5 | grep -c Dataset)" = 1 ] || fail "chunks stay apart"
            h5diff c.h5 fields/a/field.h5 /chunked/field.h5/group/$v /group/$v || fail "--variable of a chunked dataset gives something else"
        done
    fi
fi
ls | grep -q parts && fail "something is left of --variable"

# what is damaged is listed and left out, the rest comes back, and the exit code says so
"$saikai" archive create -q -s agnostic --unit 256KiB -o p.ska sets "$saikai"
cp p.ska bad.ska
"$flip" bad.ska 2000
code=0
"$saikai" archive extract -q -o partial bad.ska 2> err || code=$?
[ $code = 3 ] || fail "a partial extract ends with $code"
cmp -s "$saikai" "partial/$saikai" || grep -q "^damaged: ${saikai#/}" err || fail "neither restored nor listed"
found=0
for f in sets/a/deep/noise sets/a/numbers sets/a/empty sets/b/numbers; do
    if [ -e partial/$f ]; then cmp $f partial/$f || fail "a damaged file came back"; found=1
    else grep -q "^damaged: $f" err || fail "$f is not there and not listed"; fi
done
[ $found = 1 ] || fail "damage of one block costs all files"
rm -r partial p.ska

# the user's description of a format goes before the one that comes with Saikai
printf 'INITIAL/RESTART' > run.pe000001
head -c 80000 /dev/zero | tr '\0' 'n' >> run.pe000001
printf 'format mine\nfile *.pe000001\nmagic 0 INITIAL/RESTART\nskip 15\narray mine f64 10000\n' > mine.txt
"$saikai" archive create -q --describe mine.txt -s aware -o d.ska run.pe000001
"$saikai" archive ls -c d.ska | grep -q 'mine_F64\|mine_f64\|mine' || fail "--describe is not followed"
rm run.pe000001 mine.txt d.ska

# level and general compressor count for the default scheme, too
seq 1 300000 > numbers
"$saikai" archive create -q --level 1 -o l1.ska numbers
"$saikai" archive create -q --level 19 -o l19.ska numbers
[ "$(wc -c < l19.ska)" -lt "$(wc -c < l1.ska)" ] || fail "--level does nothing"
rm numbers l1.ska l19.ska

cp x.ska bad.ska
"$flip" bad.ska 2000
"$saikai" archive verify bad.ska 2> err && fail "damage was not found"
grep -q 'bad.ska' err || fail "the message does not name the archive"
"$saikai" archive create -q -o y.ska nothing 2> err && fail "a missing file was not found"
grep -q nothing err || fail "the message does not name the file"
"$saikai" archive create sets 2> /dev/null && fail "-o was not asked for"
"$saikai" archive frobnicate 2> /dev/null && fail "an unknown verb was taken"

"$saikai" archive create -q --watch sets --settle 300ms --sets 2 -o watched
[ -f watched/a.ska ] && [ -f watched/b.ska ] || fail "the watcher"
"$saikai" archive extract -q -o again watched/a.ska
diff -r sets/a again/sets/a || fail "the watcher's archive"
# without a number of sets it goes on: one that comes later is archived as well
mkdir -p endless/in/1
seq 1 100 > endless/in/1/file
"$saikai" archive create -q --watch endless/in --settle 100ms -o endless/out & watcher=$!
await() { # FILE
    i=0
    while [ ! -f "$1" ] && [ $i -lt 2000 ]; do i=$((i + 1)); sleep 0.1; done
}
await endless/out/1.ska
mkdir endless/in/2
seq 1 200 > endless/in/2/file
await endless/out/2.ska
kill "$watcher"
wait "$watcher" || true
[ -f endless/out/1.ska ] || fail "the watcher made nothing"
[ -f endless/out/2.ska ] || fail "the watcher stops after what it finds first"
# under mpirun one process watches
mkdir shared
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 timeout 100 "$saikai" archive create -q --watch sets -o shared || fail "a second watcher does not leave it to the first"
[ -z "$(ls shared)" ] || fail "a second watcher archives what the first one does"
# a set that is still written waits; one that is done is not done again
rm watched/b.ska
mkdir sets/c
( for i in 1 2 3 4 5; do seq 1 1000 >> sets/c/growing; sleep 0.2; done ) &
"$saikai" archive create -q --watch sets --settle 6s --sets 2 -o watched
wait
"$saikai" archive extract -q -o later watched/c.ska
cmp sets/c/growing later/sets/c/growing || fail "a set was archived before it was finished"

# an archive that builds on the one before
mkdir -p run/1 run/2 run/3
head -c 1500000 /dev/urandom > run/1/state
for i in 2 3; do
    cp run/1/state run/$i/state
    printf 'step %s' $i | dd of=run/$i/state bs=1 seek=70000 conv=notrunc 2> /dev/null
done
"$saikai" archive create -q -o 1.ska run/1
"$saikai" archive create -q --previous ./1.ska -o 2.ska run/2
"$saikai" archive create -q --previous 2.ska -o "$PWD/3.ska" run/3
[ "$(wc -c < 3.ska)" -lt 50000 ] || fail "--previous stores what is old"
"$saikai" archive ls 3.ska > out.txt
grep -q '# 3.ska builds on 2.ska' out.txt && grep -q '# 2.ska builds on 1.ska' out.txt || fail "ls does not tell what it builds on"
"$saikai" archive ls --json 3.ska | tr -d ' \n' | grep -q '"builds_on":\[{"archive":"2.ska","there":true},{"archive":"1.ska","there":true}\]' ||
    fail "ls --json does not tell what it builds on"
"$saikai" archive extract -q -o chain 3.ska && cmp run/3/state chain/run/3/state || fail "a chain gives something else"
"$saikai" archive create -q -o 1.ska run/2 2> err && fail "an archive that others build on was replaced"
grep -q 2.ska err || fail "does not tell what builds on it"
mv 1.ska gone.ska
"$saikai" archive verify 3.ska > out.txt 2> err && fail "verify does not miss an earlier archive"
grep -q '1.ska' err || fail "verify does not name the missing archive: $(cat err)"
"$saikai" archive ls 3.ska | grep -q '# .*1.ska.*missing' || fail "ls does not tell that one is missing"
"$saikai" archive create -q -o 1.ska run/1/../2
"$saikai" archive verify 3.ska > out.txt 2> err && fail "verify takes another archive for the earlier one"
grep -q 'another archive' err || fail "verify does not tell that the earlier one is another"
mv gone.ska 1.ska
"$saikai" archive verify -q 3.ska || fail "verify of a chain"
"$saikai" archive create -q --previous nothing.ska -o x.ska run/1 2> err && fail "took a missing earlier archive"
grep -q nothing.ska err || fail "does not name the missing earlier archive"
"$saikai" archive create -q --chain 40 --previous 1.ska -o x.ska run/1 2> /dev/null && fail "took a chain of 40"

# the watcher builds on what it made before, two in a row at most, and goes on where it was
"$saikai" archive create -q --watch run --settle 100ms --sets 3 --previous series --chain 2 -o series
mkdir run/4 && cp run/3/state run/4/state
"$saikai" archive create -q --watch run --settle 100ms --sets 1 --previous series --chain 2 -o series
for i in 1 2 3 4; do
    "$saikai" archive extract -q -o watched$i series/$i.ska
    cmp run/$i/state watched$i/run/$i/state || fail "the watcher's archive $i"
    "$saikai" archive ls series/$i.ska | grep -c '^#' || true
done > depths
[ "$(tr '\n' ' ' < depths)" = "0 1 2 0 " ] || fail "the watcher's chains: $(cat depths)"
# a set that changes gets another name while others build on its archive
printf more >> run/2/state
"$saikai" archive create -q --watch run --settle 100ms --sets 1 -o series
"$saikai" archive extract -q -o watched5 series/2~2.ska && cmp run/2/state watched5/run/2/state || fail "a set that was archived again"
"$saikai" archive verify -q series/3.ska || fail "an archive that others build on was replaced by the watcher"
"$saikai" archive create -q --watch run --previous elsewhere -o series 2> err && fail "took another directory for --previous"
grep -q 'give that one' err || fail "does not tell which directory --previous wants"

# odd names and files
mkdir -p 'odd/new
line' odd/links odd/none
long=$(printf 'x%.0s' $(seq 250))
echo 1 > "odd/new
line/a"
echo 2 > odd/$(printf '\346\227\245\346\234\254')
echo 3 > "odd/$long"
echo 33 > "odd/${long%x}y"
echo 4 > 'odd/ -o back\slash "quote"'
ln -s "../$long" odd/links/to
: > odd/empty
truncate -s 1G odd/sparse
printf end | dd of=odd/sparse bs=1 seek=700000000 conv=notrunc 2> /dev/null
"$saikai" archive create -q -o odd.ska odd || fail "odd files are not archived"
"$saikai" archive extract -q --no-sync -o oddly odd.ska || fail "odd files are not restored"
diff -r --exclude=none --exclude=sparse odd oddly/odd || fail "odd files differ"
cmp odd/sparse oddly/odd/sparse || fail "a sparse file differs"
[ "$(du -k oddly/odd/sparse | cut -f 1)" -lt 10000 ] || fail "a sparse file came back without its holes"
[ "$("$saikai" archive ls odd.ska | wc -l)" = 9 ] || fail "ls: not one line for each name"
rm -rf odd/sparse oddly
ln -s nowhere odd/links/dangling
left_out() { # OPTIONS WORDS: one thing is left out with these words, and all else archived
    rc=0
    "$saikai" archive create -q $1 -o x2.ska odd 2> err || rc=$?
    [ $rc = 3 ] && [ "$(wc -l < err)" = 2 ] && grep -q "left out: .*$2" err && grep -q '1 file was left out of x2.ska' err || fail "$2: $rc, $(cat err)"
    "$saikai" archive verify -q x2.ska && "$saikai" archive ls x2.ska | grep -q ' odd/empty$' || fail "$2: the archive holds $("$saikai" archive ls x2.ska)"
}
left_out -L 'odd/links/dangling: No such file'
rm odd/links/dangling
mkfifo odd/pipe
left_out '' 'pipe is not a regular file'
rm odd/pipe
ln -s .. odd/links/loop
left_out -L 'odd/links/loop leads back'

# trees come back with their links, empty directories and times
mkdir -p tree/a tree/nothing tree/d
echo one > tree/a/one
ln tree/a/one tree/d/same
ln -s ../a/one tree/d/to
ln -s gone tree/d/dangling
chmod 750 tree/a
touch -d '2001-02-03 04:05:06' tree/nothing tree/a tree/d
touch -h -d '2002-02-03 04:05:06' tree/d/to
"$saikai" archive create -q -o tree.ska tree || fail "a tree with links"
"$saikai" archive extract -q -o treeout tree.ska
"$saikai" archive extract -q -o treeout tree.ska || fail "a tree a second time"
diff -r --no-dereference tree treeout/tree || fail "a tree differs"
(cd tree && find . -printf '%p %y %m %l %TY%Tm%Td%TH%TM%TS\n' | grep -v '^\. ' | sort) > want
(cd treeout/tree && find . -printf '%p %y %m %l %TY%Tm%Td%TH%TM%TS\n' | grep -v '^\. ' | sort) > got
diff want got || fail "modes, times or links of a tree"
[ tree/a/one -ef tree/d/same ] && [ treeout/tree/a/one -ef treeout/tree/d/same ] || fail "a hard link"
"$saikai" archive ls tree.ska | grep -q ' tree/d/to -> ../a/one$' || fail "ls does not show a link"
"$saikai" archive ls tree.ska | grep -q ' tree/nothing/$' || fail "ls does not show an empty directory"
# what has to be known is said without -v, and not with -q: too little memory for the archive before
head -c 20000000 /dev/urandom > much
"$saikai" archive create -q --no-sync -o much1.ska much
echo more >> much
"$saikai" archive create --no-sync -m 16M --previous much1.ska -o much2.ska much > out.txt 2> err || fail "little memory"
grep -q 'too little memory to build on much1.ska' err || fail "little memory is not told: $(cat err)"
"$saikai" archive create -q --no-sync -m 16M --previous much1.ska -o much2.ska much 2> err && [ ! -s err ] || fail "little memory with -q: $(cat err)"
rm much much1.ska much2.ska

# members, patterns, lists and what is left out
"$saikai" archive extract -q -o some tree.ska tree/d || fail "a member"
[ "$(cat some/tree/d/same)" = one ] && [ ! -e some/tree/nothing ] || fail "a directory of the archive alone"
"$saikai" archive extract -q -o some2 tree.ska tree/nowhere 2> err && fail "a member that is not there"
grep -q tree/nowhere err || fail "does not name the member"
"$saikai" archive extract -q --exclude same -o some3 tree.ska
[ ! -e some3/tree/d/same ] && [ -e some3/tree/a/one ] || fail "extract --exclude"
"$saikai" archive create -q --exclude d --exclude '*/nothing' -o less.ska tree
"$saikai" archive ls less.ska | grep -q 'tree/d\|nothing' && fail "create --exclude"
printf 'tree/a\ntree/nothing\n' | "$saikai" archive create -q -T - -o listed.ska || fail "a list of files"
"$saikai" archive ls listed.ska | grep -q ' tree/a/one$' || fail "a list of files: not all of them"
"$saikai" archive create -q -L -o deref.ska tree/d/to tree/a && "$saikai" archive extract -q -o deref deref.ska
[ ! -L deref/tree/d/to ] && [ "$(cat deref/tree/d/to)" = one ] || fail "what a link leads to"

# archives of all versions are read: golden/state of each version as it was written by each
golden_state() { i=0; while [ $i -lt 3000 ]; do echo "$i $((i * i % 977)) $1"; i=$((i + 1)); done; }
# from version 5 on, of numbers as text
golden_numbers() {
    i=0
    while [ $i -lt 4000 ]; do echo "$i ($((i * i % 977)).$((i % 90 + 10)) -0.000$((i * 7 % 1000)) $((i % 9 + 1)).5e-$((i % 3 + 10)))   $1"; i=$((i + 1)); done
}
# from version 6 on, rows of whole numbers and single-precision ones
golden_rows() {
    python3 -c 'import struct, sys
for i in range(6000):
    sys.stdout.buffer.write(struct.pack("<ifBBBB", i, 100 + i * i % 977 / 4096 + i / 64, i * i % 97, i % 3, int(sys.argv[1]), 0))' $1
}
# from version 7 on, lines of several kinds
golden_log() {
    i=0
    while [ $i -lt 1500 ]; do
        printf 'Time = %d\n  pressure  residual %d.%d after %d\nvelocity (%d %d) of %s\n' $i $((i * i % 977)) $((i % 90 + 10)) $((i % 7)) $((i * 7 % 1000)) $((i * i % 89)) $1
        i=$((i + 1))
    done
}
# from version 8 on, rows and a table whose numbers are those of the set before and what has changed
golden_changed() {
    python3 -c 'import struct, sys
h, k = 1, int(sys.argv[1])
for i in range(1500):
    h = (h * 1103515245 + 12345) % 2147483648
    sys.stdout.buffer.write(struct.pack("<diI", h / 65536 + k * (i % 50) / 64, h % 9973, 7 * k + h // 32))' $1
}
golden_table() {
    python3 -c 'import sys
h, k = 1, int(sys.argv[1])
for i in range(700):
    h = (h * 1103515245 + 12345) % 2147483648
    print("%d (%d.%03d %d) %s" % (i, h % 977, (h // 1000 + k) % 1000, h // 4096 + 3 * k, "step"))' $1
}
# many small files, of which three change: the index of the second one comes after that of the first
golden_files() {
    python3 -c 'import sys
h, k = 7, int(sys.argv[1])
for i in range(150):
    h = (h * 1103515245 + 12345) % 2147483648
    print("%03d %08x %d" % (i, h, k if i < 3 else 0))' $1
}
# from version 10 on, beside those files the steps of a trajectory
golden_steps() {
    python3 -c 'import struct, sys
k, h, x = int(sys.argv[1]), 12345, [(i * 7919 % 1000) * 0.03 for i in range(1500)]
for step in range(14):
    sys.stdout.buffer.write(b"step %07d" % (step * k))
    for i in range(1500):
        h = (h * 1103515245 + 12345) % 2147483648
        x[i] += ((h >> 8) % 1000 - 500) * 2e-6 * k
        sys.stdout.buffer.write(struct.pack("<f", x[i]))' $1
}
# from version 11 on, records that stand in another order than in the set before, behind new ones
golden_moved() {
    python3 -c 'import struct, sys
h, k, rows = 1, int(sys.argv[1]), []
for i in range(1500):
    row = b""
    for j in range(5):
        h = (h * 1103515245 + 12345) % 2147483648
        row += struct.pack("<I", h >> 3)
    rows.append(row)
if k == 2:
    rows = [b"new %06d" % i for i in range(40)] + [rows[i * 7 % 1500] for i in range(1500)]
sys.stdout.buffer.write(b"".join(rows))' $1
}
for set in 1 2; do
    "$saikai" archive verify -q "$golden/v11-$set.ska" || fail "a golden archive of version 11"
    "$saikai" archive extract -q -o gold "$golden/v11-$set.ska"
    golden_moved $set | cmp - gold/golden/moved || fail "a golden archive of version 11 gives something else"
done
rm -rf gold
for set in 1 2; do
    "$saikai" archive verify -q "$golden/v10-$set.ska" || fail "a golden archive of version 10"
    "$saikai" archive extract -q -o gold "$golden/v10-$set.ska"
    golden_steps $set | cmp - gold/golden/t.trj || fail "the steps of a golden archive of version 10 are others"
    rm gold/golden/t.trj
    cat gold/golden/* > gold/all
    golden_files $set | cmp - gold/all || fail "a golden archive of version 10 gives something else"
    rm -r gold
done
for set in 1 2; do
    "$saikai" archive verify -q "$golden/v9-$set.ska" || fail "a golden archive of version 9"
    "$saikai" archive extract -q -o gold "$golden/v9-$set.ska"
    cat gold/golden/* > gold/all
    golden_files $set | cmp - gold/all || fail "a golden archive of version 9 gives something else"
    rm -r gold
done
for version in 1 2 3 4 5 6 7 8; do
    for set in 1 2; do
        "$saikai" archive verify -q "$golden/v$version-$set.ska" || fail "a golden archive of version $version"
        "$saikai" archive extract -q -o gold "$golden/v$version-$set.ska"
        if [ $version -lt 5 ]; then golden_state $set; elif [ $version -lt 6 ]; then golden_numbers $set; elif [ $version -lt 7 ]; then golden_rows $set; elif [ $version -lt 8 ]; then golden_log $set; else golden_changed $set; fi > gold/expected
        cmp gold/expected gold/golden/state || fail "a golden archive of version $version gives something else"
        if [ $version -ge 8 ]; then golden_table $set | cmp - gold/golden/table || fail "the table of a golden archive of version $version is another one"; fi
        rm -r gold
    done
done

# header, and index with trailer, are there twice: each byte of them may be wrong
n=$(wc -c < tree.ska)
for at in 3 9 $((n - 1)) $((n - 30)) $((n - 60)); do
    cp tree.ska flipped.ska
    "$flip" flipped.ska $at
    rm -rf flipped
    "$saikai" archive extract -q -o flipped flipped.ska || fail "a wrong byte at $at of $n costs the archive"
    diff -r --no-dereference tree flipped/tree || fail "a wrong byte at $at gives other files"
    "$saikai" archive verify flipped.ska > /dev/null 2> err && fail "verify does not tell of a wrong byte at $at"
    grep -q 'nothing is lost' err || fail "verify does not tell that nothing is lost: $(cat err)"
done
rm -rf tree treeout some some3 deref flipped

# the same name from two directories, and a file where another has a directory
mkdir -p dup/p w/dup/p v/dup
echo 1 > dup/p/q
echo 2 > w/dup/p/q
echo 3 > v/dup/p
(cd w && "$saikai" archive create -q -o ../x3.ska dup ../dup) 2> err && fail "took two files of one name"
grep -q 'the same name' err || fail "does not tell that two files have one name"
# one of several names of a file, given twice: it would be a link to itself
mkdir -p twice/sub
echo one >twice/one
ln twice/one twice/other
rc=0
"$saikai" archive create -o twice.ska twice/one twice/sub/../one 2>err || rc=$?
[ "$rc" -ne 0 ] || fail "a file with two names that is given twice is taken"
grep -q 'twice/one would be in the archive twice' err || fail "does not tell which file was given twice: $(cat err)"
"$saikai" archive create -o twice.ska twice/one twice/other 2>err || fail "two names of one file are not taken: $(cat err)"
(cd v && "$saikai" archive create -q -o ../x3.ska dup ../dup) 2> err && fail "took a file and a directory of one name"
grep -q 'both a file' err || fail "does not tell that a file and a directory have one name"
[ ! -e x3.ska ] || fail "names that cannot be restored left an archive"

# many small files
mkdir many
i=0
while [ $i -lt 100 ]; do
    mkdir many/$i
    (cd many/$i && seq 1 100 | split -l 1 - f)
    i=$((i + 1))
done
"$saikai" archive create -q -o many.ska many || fail "many files"
[ "$("$saikai" archive ls many.ska | wc -l)" = 10000 ] || fail "many files: not all are listed"
"$saikai" archive extract -q --no-sync -o manyout many.ska && diff -r many manyout/many || fail "many files differ"

# where nothing can be written, and two at once
"$saikai" archive create -q -o /proc/x.ska run/1 2> err && fail "wrote below /proc"
grep -q '/proc/x.ska' err || fail "does not name what it cannot write"
"$saikai" archive create -q -o both.ska run/1 & first=$!
"$saikai" archive create -q -o both.ska run/3 || fail "two at once"
wait $first || fail "two at once"
"$saikai" archive extract -q -o bothout both.ska
cmp -s run/1/state bothout/run/1/state || cmp run/3/state bothout/run/3/state || fail "two at once gave something mixed"
ls | grep -q '\.tmp$' && fail "something unfinished is left"
exit 0
