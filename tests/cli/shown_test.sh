#!/bin/sh
# Names that would move a terminal's cursor, change its colours or forge a line are shown by what they are, whatever tool prints them and
# wherever it prints to; JSON has them as they are. usage: shown_test.sh SAIKAI MAKE_STORE
set -u
saikai=$1
make_store=$2
. "$(dirname "$(realpath "$0")")/store_helpers.sh"
evil=$(printf 'x\033[31m\nforged\177y') # what the shell can hold and a file can be called
seen='x\x1b[31m\nforged\x7fy'
csi=$(printf 'c\302\2332J\233m')        # the same escapes in one character, of UTF-8 and of bytes
csi_seen='c\xc2\x9b2J\x9bm'

# plain CODE TEXT ARG...: what is printed, on both ways out, has this text and nothing but printable ASCII and ends of lines
plain()
{
    code=$1 text=$2
    shift 2
    "$saikai" "$@" > "$dir/out" 2>&1 < /dev/null
    got=$?
    if [ $got -ne "$code" ] || ! grep -q -F -e "$text" "$dir/out" || grep -q '^forged' "$dir/out" ||
        [ -n "$(tr -d '\n -~' < "$dir/out")" ]; then
        echo "saikai $(printf '%s ' "$@" | od -c): exit code $got (expected $code), no '$text', or what a terminal obeys, in:"
        od -c "$dir/out"
        failed=1
    fi
}

mkdir "$evil" || exit 1
"$make_store" "$evil" 0 "v$evil" || exit 1
newest=gen-0002-000000000200-1

# ---- stores: the directory's name and a variable's
plain 0 "$seen: started 3 times" ls "$evil"
plain 0 "v$seen" info "$evil"
plain 0 "$newest in $seen" info "$evil"
plain 0 "v$seen" info "$evil/$newest/rank-000001.skc"
plain 0 "marked bad: restarts from $seen" mark --bad 200 "$evil"
plain 2 "$seen" ls "--$evil"
plain 2 "$seen" "$evil"
plain 1 "no-$seen" ls "no-$evil"
cp -r "$evil" whole
flip "$evil/$newest/rank-000001.skc" 200
plain 1 "v$seen" verify "$evil/$newest"
plain 1 "saikai rm $seen" verify "$evil"
plain 0 "left in $seen" rm -y --gen 10 "$evil"
mkdir "$csi" && "$make_store" "$csi" 0 "v$csi" || exit 1
plain 0 "v$csi_seen" info "$csi"
json 0 "d['variables'][0]['name'] == 'v$(printf 'x\\u001b[31m\\nforged\\u007fy')'" info whole
"$saikai" info whole --json > out
[ -z "$(tr -d '\n -~' < out)" ] || { echo "JSON has control characters as they are:"; od -c out; failed=1; }
"$saikai" info "$csi" --json > out
! grep -q "$(printf '\302\233')" out || { echo "JSON has a C1 character as it is:"; od -c out; failed=1; }

# ---- what happened to jobs: fields of events, sentences, hosts and commands of faults
tab=$(printf '\t')
printf '%s\n' "saikai-fault-1${tab}1700000000000${tab}0${tab}1${tab}node$csi${tab}crash${tab}model$csi${tab}restart${tab}what$csi${tab}then$csi${tab}command$csi" > "$evil/history"
plain 0 "what$csi_seen; fault model: model$csi_seen; answer: restart, then$csi_seen  [start 1 of command$csi_seen]" history "$evil"
plain 0 "no faults are known of $csi_seen" history "$csi"
plain 0 "no events are known of $seen" events "$evil"
plain 0 "$seen" status "$evil"
rm -r "$csi/gen-0003-000000000250-0"
plain 0 "$csi_seen" status "$csi"
plain 1 "./no-$csi_seen: there is no such directory" status "./no-$csi"
plain 1 "no job other in $csi_seen" status "$csi" --job other
plain 1 "no job other in $csi_seen" events "$csi" --job other

# ---- archives and arrays: names of files, of links and where they lead
mkdir in && head -c 50000 "$saikai" > "in/$evil" && ln -s "$evil" "in/link$csi"
plain 0 "a$seen.ska: " archive create -o "a$evil.ska" in
plain 0 "in/$seen" archive ls "a$evil.ska"
plain 0 "in/link$csi_seen -> $seen" archive ls "a$evil.ska"
plain 0 "a$seen.ska: " archive extract "a$evil.ska" -o there
flip "a$evil.ska" 3000
plain 1 "damaged: in/$seen" archive extract "a$evil.ska" -o there
plain 1 "no-$seen" archive ls "no-$evil"
plain 1 "no-$seen" archive create -o gone.ska "in/$evil" "no-$evil"
head -c 800 /dev/zero > "z$evil"
plain 0 "z$seen -> z$seen.skz" compress --type f64 --dims 100 "z$evil" "z$evil.skz"
plain 0 "B: z$seen" compare --type f64 --dims 100 "z$evil" "z$evil"

# ---- settings and where they came from
plain 0 "prefix = $seen" config --set "store.prefix=$evil"
exit $failed
