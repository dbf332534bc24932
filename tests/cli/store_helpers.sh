# What the tests of the tools for stores have in common. Expects $saikai and to be read by $0; makes $dir, goes there, and counts in $failed.
helpers=$(dirname "$(realpath "$0")")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
: > "$dir/empty.conf"
export SAIKAI_CONFIG="$dir/empty.conf"
unset SAIKAI_STORE_PREFIX SAIKAI_STORE_LOCAL SAIKAI_JOB_NAME
cd "$dir" || exit 1
failed=0

# expect CODE PATTERN ARG...: exit code, and a pattern somewhere in what is printed
expect()
{
    code=$1 pattern=$2
    shift 2
    "$saikai" "$@" > "$dir/out" 2>&1 < /dev/null
    got=$?
    if [ $got -ne "$code" ] || ! grep -q -e "$pattern" "$dir/out"; then
        echo "saikai $*: exit code $got (expected $code), no '$pattern' in:"
        cat "$dir/out"
        failed=1
    fi
}

# Damage one byte: flip FILE OFFSET
flip()
{
    "$helpers/../flip.sh" "$1" "$2"
}

# json CODE EXPRESSION ARG...: stdout is JSON of which a Python expression (of d) is true
json()
{
    code=$1 expression=$2
    shift 2
    "$saikai" "$@" --json > "$dir/json" 2> "$dir/err" < /dev/null
    got=$?
    if [ $got -ne "$code" ]; then
        echo "saikai $* --json: exit code $got (expected $code)"
        cat "$dir/json" "$dir/err"
        failed=1
    fi
    command -v python3 > /dev/null || return
    if ! python3 -c "import json, sys; d = json.load(open('$dir/json')); sys.exit(not ($expression))"; then
        echo "saikai $* --json: not $expression:"
        cat "$dir/json"
        failed=1
    fi
}

# dump PATTERN ARG...: h5dump prints it
dump()
{
    pattern=$1
    shift
    if ! h5dump "$@" > out 2>&1 || ! tr -s ' \n' '  ' < out | grep -q -e "$pattern"; then
        echo "h5dump $*: no '$pattern' in:"
        cat out
        failed=1
    fi
}

# Put the ranks' files of a generation into two archives, as a program does with store.archive=aggregate: pack DIR/gen-…
pack()
{
    (
        cd "$1" || exit 1
        half=$(($(ls rank-*.skc | wc -l) / 2))
        "$saikai" archive create -q -o set-000001.1-of-2.ska $(ls rank-*.skc | head -n $half) &&
            "$saikai" archive create -q -o set-000001.2-of-2.ska $(ls rank-*.skc | tail -n +$((half + 1))) && rm rank-*.skc
    ) || { echo "cannot pack $1"; exit 1; }
}
