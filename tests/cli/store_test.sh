#!/bin/sh
# saikai ls, info, verify, rm and export as a user meets them. usage: store_test.sh SAIKAI MAKE_STORE
set -u
saikai=$1
make_store=$2
. "$(dirname "$(realpath "$0")")/store_helpers.sh"
newest=gen-0002-000000000200-1
older=gen-0002-000000000100-0
oldest=gen-0001-000000000010-0
broken=gen-0003-000000000250-0

fresh()
{
    rm -rf "$dir/saikai-store"
    mkdir "$dir/saikai-store"
    "$make_store" "$dir/saikai-store" || exit 1
}

# ---- nothing there
for command in ls info verify; do
    expect 1 'there is no store saikai-store (store.prefix)' $command
    expect 1 'nowhere: there is no such directory' $command nowhere
    expect 2 "unknown option '--jsn'; did you mean '--json'" $command --jsn
    expect 2 'is one argument too many' $command a b
done
expect 1 'no job with the prefix\|there is no directory of this user\|cannot resolve' ls --local
expect 2 "store.prefix is 'none'" ls --set store.prefix=none
mkdir empty
expect 0 'no generations' ls empty
expect 1 'empty holds no generations' info empty
expect 0 'no generations' verify empty
json 0 "d['generations'] == []" ls empty
mkdir elsewhere
touch elsewhere/notes
for command in ls info verify "rm --all -y" "export --hdf5 x.h5" status events history; do
    expect 1 'elsewhere is no store: nothing in it is Saikai.s; name the directory that the job said it saves in' $command elsewhere
done
touch elsewhere/history # of a job that was given up before it saved anything
expect 0 'no generations' ls elsewhere
for command in status events history; do
    expect 0 'no [a-z]* are known' $command elsewhere
    expect 0 'no [a-z]* are known' $command empty
done
printf 'x' > text
expect 1 'text: only 1 bytes' info text
expect 1 'text: only 1 bytes' verify text

# ---- ls
fresh
expect 0 'started 3 times, not finished' ls
expect 0 "^$broken  *250  *0  *3  *2 of 3 .* incomplete$" ls
expect 0 "^$newest  *200  *1  *2  *3 of 3 .* 1 h  complete$\|60 min  complete$" ls
expect 0 "^$older .* complete, 1 start died$" ls saikai-store
expect 0 "^$older .* complete, passed over (1 start died)$" ls --set restart.tries=1
expect 0 "^$oldest .* complete, of an earlier run$" ls
expect 2 "is no store's directory" ls saikai-store/$newest
cp -r saikai-store whole && rm -r whole/$broken
expect 0 "^$newest .* complete$" ls whole
expect 0 "^Generation  $older" info --gen 100 # what is asked for is whole
json 0 "[g['iteration'] for g in d['generations']] == [250, 200, 100, 10]" ls
json 0 "[g['complete'] for g in d['generations']] == [False, True, True, True] and d['starts'] == 3" ls

# ---- status: of a job whose store this is
rm -rf saikai-store && mkdir saikai-store && "$make_store" saikai-store 0 u || exit 1
expect 0 '^job prog: not running' status # what a job left that died is no harm
json 0 "d[0]['generations'] == 4 and d[0]['incomplete'] == 0 and d[0]['damaged'] == 0" status
mv saikai-store/$older/rank-000001.skc kept.1
expect 1 "^in the prefix    0 of 4 generations damaged, 1 incomplete, the newest of these $older" status
json 1 "d[0]['generations'] == 4 and d[0]['incomplete'] == 1 and d[0]['damaged'] == 0" status
expect 1 "'saikai verify saikai-store' says" status --job prog
expect 1 "^$older .* incomplete" ls
mv kept.1 saikai-store/$older/rank-000001.skc
rm -r saikai-store/$broken
expect 0 '^job prog: not running' status
json 0 "d[0]['generations'] == 3 and d[0]['incomplete'] == 0 and d[0]['damaged'] == 0" status
for rank in 0 1 2; do cp saikai-store/$older/rank-00000$rank.skc kept.$rank; truncate -s 10 saikai-store/$older/rank-00000$rank.skc; done
expect 1 "^in the prefix    1 of 3 generations damaged, 0 incomplete, the newest of these $older" status
expect 1 "^$older .* damaged" ls
for rank in 0 1 2; do cp kept.$rank saikai-store/$older/rank-00000$rank.skc; done
printf 'no fault\n' > saikai-store/history
expect 1 '^faults           1 line of its history damaged' status
json 1 "d[0]['faults_unreadable'] == 1" status
expect 1 '1 line.* of saikai-store/history damaged' history
rm saikai-store/history
expect 0 '^job prog' status
cp saikai-store/state state.kept
printf 'saikai-state 1\n' > saikai-store/state
expect 1 'state: it is truncated; remove it' status
json 1 "'truncated' in d[0]['problem']" status
cp state.kept saikai-store/state
printf 'no event\n' > saikai-store/events
expect 1 '1 line of saikai-store/events damaged' events
rm -r saikai-store/events
expect 0 'no events are known' events
expect 1 'no job other in saikai-store' status --job other
for command in status events history; do # a place that was mistyped is no store without jobs
    expect 1 './nowhere: there is no such directory' $command ./nowhere
    expect 0 'no [a-z]* are known' $command --set store.prefix=nowhere
done
for command in status ls; do # told once
    "$saikai" $command --json > /dev/full 2> out && { echo "$command to a full disk: exit code 0"; failed=1; }
    [ "$(grep -c 'No space left' out)" = 1 ] || { echo "$command to a full disk:"; cat out; failed=1; }
done
expect 2 "unknown option '--wach'; did you mean '--watch'" status --wach

# ---- mark
fresh
expect 2 'say --good or --bad' mark $newest
expect 2 'say --good or --bad' mark --good --bad $newest
expect 1 'holds no generation 777' mark --bad 777
expect 1 'has no state file' mark --bad 100 empty
expect 0 "^$newest is marked bad" mark --bad 200
expect 0 "^$newest .* complete, marked bad$" ls
json 0 "[g['marked_bad'] for g in d['generations']] == [False, True, False, False]" ls
json 0 "d['changed'] == False and d['mark'] == 'bad'" mark --bad $newest
expect 0 "^$newest is good again" mark --good $newest saikai-store
expect 0 "nothing is known against $newest" mark --good newest
expect 0 "^$older is good again" mark --good 100
expect 0 "^$older .* complete$" ls
expect 0 'gen-0009-000000000001-0 is marked bad' mark --bad gen-0009-000000000001-0 # in nodes' memory alone, perhaps
json 0 "d['changed']" mark --good 1

# ---- ls --local: the directory is found by where the prefix is
expect 1 "there is no directory of this user in $dir/local" ls --local --set store.local="$dir/local"
mkdir -p "local/saikai-$(id -u)/mine"
expect 1 'no job with the prefix' ls --local --set store.local="$dir/local"
job=$("$make_store" --job "$(realpath saikai-store)")
mkdir "local/saikai-$(id -u)/$job"
"$make_store" "local/saikai-$(id -u)/$job"
rm "local/saikai-$(id -u)/$job/"*/rank-000001.skc
export SAIKAI_STORE_LOCAL="$dir/local"
expect 0 "$job (this node.s part): started 3 times" ls --local
expect 0 "^$newest .* 2 of 3 .* incomplete$" ls -l
expect 0 'all good' verify --local
expect 0 '^Missing     rank 1' info --local --gen 200
expect 1 "$broken is the newest generation: without it" rm --local $broken --yes
expect 0 'removed 2 generations' rm --local --keep 2 --yes
mkdir "local/saikai-$(id -u)/other-${job#prog-}"
expect 2 'several programs use this prefix' ls --local
unset SAIKAI_STORE_LOCAL
expect 0 'this node.s part' ls --local --set store.local="$dir/local" --set job.name=mine

# ---- info
expect 0 "^Generation  $newest in saikai-store" info
expect 0 '^u  *f64  *4x5x6  *3  *2.8 KiB .*shuffle+.* exact' info
expect 0 '^ids  *u64  *varies ' info
expect 0 '^step  *i32  *scalar ' info
expect 0 '^log  *u8  *stream ' info
expect 1 '^Missing     rank 1' info --gen 250
expect 0 '^ids  *u64  *20 ' info --gen $older --rank 1
expect 0 "^Generation  $older" info saikai-store/$older/
expect 0 "^Generation  $older" info $older
expect 0 '^Rank        2 of 3' info saikai-store/$older/rank-000002.skc
expect 1 'has no file of rank 7' info --rank 7
expect 1 'holds no generation 77' info --gen 77
expect 2 "'seven' is no generation" info --gen seven
expect 2 'give one generation' info $older --gen 200
expect 2 'is one rank.s file' info saikai-store/$older/rank-000002.skc --rank 1
json 0 "d['iteration'] == 200 and {v['name']: v['dims'] for v in d['variables']}['u'] == [4, 5, 6]" info
json 0 "d['rank'] == 1 and len(d['variables']) == 8" info saikai-store/$older/rank-000001.skc

# ---- verify
expect 0 "^$newest: good, 3 of 3 ranks" verify --gen newest
expect 0 'all good' verify saikai-store/$older
expect 0 '1 file, .* all good' verify saikai-store/$older/rank-000000.skc
expect 1 'rank 1: the file is missing' verify
expect 1 'files are missing' verify
json 0 "d['good'] and d['files'] == 3" verify --gen 100
json 1 "not d['good'] and d['generations'][0]['missing_ranks'] == '1'" verify
flip saikai-store/$older/rank-000002.skc 200
expect 1 "rank 2, variable 'u': .*rank-000002.skc: chunk 0" verify
expect 1 "variable 'u'" verify saikai-store/$older/rank-000002.skc
json 1 "d['generations'][0]['faults'][0]['variable'] == 'u' and d['generations'][0]['faults'][0]['rank'] == 2" verify --gen 100
flip saikai-store/$newest/rank-000000.skc 140
expect 1 "rank 0, variable 'u'" verify $newest
mv saikai-store/$oldest/rank-000001.skc x.skc
cp saikai-store/$oldest/rank-000000.skc saikai-store/$oldest/rank-000001.skc
expect 1 'rank 1: .* holds rank 0 of iteration 10 instead' verify $oldest
mkdir other
"$make_store" other 77
cp saikai-store/$older/rank-000001.skc other/$older/rank-000001.skc
expect 1 'rank 1: .* written by another run than the files beside it' verify other/$older
expect 0 'all good' verify other/$newest
truncate -s 300 saikai-store/$oldest/rank-000001.skc
expect 1 'rank 1: .*truncated' verify $oldest
expect 1 'truncated' info $oldest
flip saikai-store/$oldest/rank-000000.skc 20
expect 0 "^$oldest .* complete" ls
flip saikai-store/$oldest/rank-000002.skc 20
truncate -s 0 saikai-store/$oldest/rank-000001.skc
expect 1 "^$oldest .* 3 of ? .* damaged" ls
expect 1 'the header is damaged' verify $oldest
printf 'saikai-state 1\n' > saikai-store/state
expect 1 'state: it is truncated; remove it' ls

# ---- rm
fresh
expect 2 'say which generations' rm
expect 2 'say which generations' rm --all --keep 1
expect 2 'keeps none: write --all' rm --keep 0
expect 2 'no terminal to ask on' rm --all
expect 1 "$newest is the newest complete generation" rm $newest --yes
expect 1 'holds no generation' rm --gen 77 --yes
[ -d saikai-store/$newest ] && [ -d saikai-store/$oldest ] || failed=1
json 0 "d['removed'] == ['$oldest'] and d['left'] == 3" rm --keep 2 --yes
expect 0 'removed 1 generation' rm $broken -y
expect 0 'removed 1 generation, .* 1 left' rm --all -y
expect 0 "^$newest" ls
expect 0 'removed 0 generations' rm --all -y
expect 0 '0 left' rm --all -y --force
expect 0 'no generations' ls
fresh
rm -rf saikai-store/$newest/rank-000000.skc # now $older is the newest complete one
expect 0 'removed 2 generations' rm -y --gen $newest --gen 10
expect 0 "^$older" ls
[ -e saikai-store/$older/rank-000002.skc ] || failed=1

# ---- export
fresh
"$saikai" export --hdf5 out.h5 > out 2>&1
if grep -q 'without HDF5' out; then
    echo "skip export: built without HDF5"
    exit $failed
fi
expect 2 'where to? Give --hdf5' export
expect 0 '^out.h5: 3 ranks' export --hdf5 out.h5
expect 1 'is not complete: missing rank 1' export --hdf5 no.h5 --gen 250
expect 0 '2 ranks' export --hdf5 part.h5 --gen 250 --partial
expect 0 '1 rank' export --hdf5 one.h5 saikai-store/$older/rank-000001.skc
expect 1 'cannot create nowhere' export --hdf5 nowhere/out.h5
flip saikai-store/$older/rank-000002.skc 200
expect 1 "chunk 0 (variable 'u'" export --hdf5 no.h5 $older
[ ! -e no.h5 ] && ! ls ./*.tmp.* 2> /dev/null || { echo "an export that failed left a file"; failed=1; }
if ! command -v h5dump > /dev/null; then
    echo "skip h5dump: not found"
    exit $failed
fi

dump '(0): 200 }' -a /iteration out.h5
dump '(0): 3 }' -a /ranks out.h5
dump 'H5T_IEEE_F64LE DATASPACE SIMPLE { ( 4, 5, 6 ) .*(3,4,5): 2059.5 }' -d /rank000002/u -s 3,4,5 -c 1,1,1 out.h5
dump 'H5T_STD_I32LE DATASPACE SCALAR DATA { (0): 200 }' -d /rank000000/step out.h5
dump 'H5T_COMPOUND { H5T_IEEE_F64LE "r"; H5T_IEEE_F64LE "i"; } .*(6): { 6, -6 }' -d /rank000001/z out.h5
dump 'H5T_COMPOUND { H5T_IEEE_F32LE "r"; H5T_IEEE_F32LE "i"; } ' -d /rank000001/c out.h5
dump '( 0 / 0 )\|( 0 )' -H -d /rank000000/ids out.h5
dump '(19): 119 }' -d /rank000001/ids -s 19 -c 1 out.h5
dump '(0): 0.25, 1.25, 2.25 }' -d /rank000000/fluid%2Fp out.h5
dump '"fluid/p"' -a /rank000000/fluid%2Fp/name out.h5
dump 'H5T_STD_U8LE .*0, 20, 40, 60' -d /rank000000/bytes out.h5
dump 'OPAQUE_TAG "saikai stream"; } DATASPACE SIMPLE { ( 30 )' -d /rank000000/log out.h5
dump '(0): 0x77, 0x68' -d /rank000000/log out.h5
dump 'shuffle+' -a /rank000000/u/codec out.h5
dump '59, 59.5 }' -d /rank000000/u part.h5
exit $failed
