#!/bin/bash
# Every query prints JSON: goes over all commands that `saikai help` names, and the verbs of `saikai archive`, runs each with
# --json on something, and parses what comes. A new command that is in neither list below fails this test.
# usage: queries.sh SAIKAI MAKE_FIELD MAKE_STORE
set -euo pipefail
saikai=$1 make_field=$2 make_store=$3
flip=$(cd "$(dirname "$0")/.." && pwd)/flip.sh
command -v python3 >/dev/null || { echo "skip: python3 was not found"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export SAIKAI_CONFIG=$work/empty.conf
: >empty.conf
unset SAIKAI_STORE_PREFIX SAIKAI_STORE_LOCAL SAIKAI_JOB_NAME
bad=0
mkdir saikai-store local files
"$make_field" . >/dev/null
"$make_store" saikai-store
echo text >files/a
"$saikai" archive create -q -o good.ska files saikai-store
head -c 300000 /dev/urandom >noise # the last of the names: what is damaged in its middle costs nothing else
"$saikai" archive create -q -s agnostic --unit 64KiB -o bad.ska files saikai-store noise
"$flip" bad.ska 2000
f64=(--type f64 --dims 12x20x31)

# parsed CODE EXPRESSION ARGUMENT...: one document on standard output, nothing else there; the expression (of d) holds
parsed() {
    local code=$1 expression=$2 got=0
    shift 2
    timeout 240 "$saikai" "$@" --json >out.json 2>err.txt </dev/null || got=$?
    if [ $got != "$code" ] || ! python3 - "$expression" <<'END'
import json, sys
d = json.load(open("out.json"))
sys.exit(not eval(sys.argv[1]))
END
    then
        echo "saikai $* --json: exit code $got (expected $code), or no JSON of which $expression holds:"
        cat out.json err.txt
        bad=1
    fi
}

query() { # one command by name; 1: no query
    case $1 in
    plan) parsed 0 "d['interval_seconds'] > 0 and len(d['models']) >= 4" plan -n 100 -c 60s ;;
    rates) parsed 0 "isinstance(d['rates'], list)" rates --set "failure.database=$work/failures.db" ;;
    config) parsed 0 "len(d) > 0" config ;;
    components) parsed 0 "any(f['kind'] == 'model' and f['from'] == 'built in' and f['chosen_by'] for f in d)" components ;;
    status) parsed 0 "d == []" status ;; # of jobs: tests/run/status.sh
    events) parsed 0 "d == []" events ;; # of jobs: tests/run/events.sh
    history)
        parsed 0 "d == []" history
        printf 'saikai-fault-1\t1\t0\t2\tn3\tsignal\tprocess\trestart\tit died\t\t./heat\n' >saikai-store/history
        parsed 0 "d[0]['node'] == 'n3' and d[0]['model'] == 'process'" history
        rm saikai-store/history ;;
    ls) parsed 0 "len(d['generations']) == 4" ls ;;
    info) parsed 0 "'variables' in d" info ;;
    verify) parsed 1 "d['good'] is False and d['generations']" verify ;;
    mark) parsed 0 "d['mark'] == 'bad'" mark --bad 100 ;;
    output) # with something there, and the other verbs: tests/run/output.sh
        mkdir place
        parsed 0 "d['generations'] == []" output ls --set "output.to=directory:$work/place" ;;
    clean) parsed 0 "isinstance(d, dict)" clean --dry-run --set "store.local=$work/local" ;;
    rm) parsed 0 "isinstance(d, dict)" rm --yes --keep 3 ;;
    compress) parsed 0 "d['compressed_bytes'] > 0" compress "${f64[@]}" field.f64 field.sks ;;
    compare) parsed 0 "isinstance(d, dict)" compare "${f64[@]}" field.f64 field.f64 ;;
    "archive ls")
        parsed 0 "d['archives'][0]['files']" archive ls good.ska
        parsed 0 "isinstance(d['archives'][0]['classes'], list)" archive ls --classes good.ska ;;
    "archive verify")
        parsed 0 "d['good'] and d['files'] > 1 and not d['damaged_files'] and not d['damaged_blocks'] and d['problem'] is None" \
            archive verify good.ska
        parsed 1 "not d['good'] and d['damaged_files'] and d['damaged_blocks'] and d['problem']" archive verify bad.ska
        parsed 0 "d['files'] == 1 and d['bytes'] == 5" archive verify good.ska --only files/a ;;
    "archive extract")
        parsed 0 "d['good'] and d['files'] > 1" archive extract -o out good.ska
        parsed 3 "not d['good'] and d['damaged_files']" archive extract -o out bad.ska ;;
    protect | rebuild) ;; # under mpirun, below
    *) return 1 ;;
    esac
}

names() { # of commands, from a help
    sed -n '/^Commands:/,$s/^  \([a-z]*\) .*/\1/p'
}
for command in $("$saikai" help | names); do
    if [ "$command" = archive ]; then
        verbs=$("$saikai" help archive | sed -n 's/^Usage: saikai archive \[OPTION...\] \([a-z|]*\) .*/\1/p' | tr '|' ' ')
        [ "$verbs" ] || { echo "the help of archive names no verbs"; bad=1; }
        for verb in $verbs; do
            query "archive $verb" || case $verb in create) ;; *) echo "archive $verb: is it a query?"; bad=1 ;; esac
        done
        continue
    fi
    query "$command" || case $command in
    run | publish | export | decompress) ;; # they do something, and print what they do for people
    *) echo "$command: is it a query?"; bad=1 ;;
    esac
done

# what runs under mpirun: rank 0 alone prints
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
mkdir nodes sets
for i in 0 1 2; do
    mkdir nodes/$i
    head -c 20000 /dev/urandom >nodes/$i/restart.$i
done
cat >on_node <<'END'
#!/bin/sh
cd nodes/${OMPI_COMM_WORLD_RANK:-$PMI_RANK} && exec "$@"
END
chmod +x on_node
for mpi in openmpi mpich; do
    [ -e "$(dirname "$saikai")/saikai_group_$mpi.so" ] && launcher=$(command -v mpirun.$mpi) || continue
    under() { # EXPRESSION ARGUMENT...
        local expression=$1 got=0
        shift
        timeout 240 "$launcher" -n 3 "$@" >out.json 2>err.txt </dev/null || got=$?
        if [ $got != 0 ] || ! python3 -c "import json; d = json.load(open('out.json')); assert $expression"; then
            echo "$mpi: $*: exit code $got, or no JSON of which $expression holds:"
            cat out.json err.txt
            bad=1
        fi
    }
    under "d['nodes'] == 3 and d['parity'] == 1" ./on_node "$saikai" protect --domains process --json 'restart.*'
    cp nodes/1/restart.1 lost
    rm -r nodes/1/restart.1 nodes/1/.saikai
    under "d['lost_data'] == 1" ./on_node "$saikai" rebuild --json
    cmp lost nodes/1/restart.1 || bad=1
    timeout 240 "$launcher" -n 3 "$saikai" archive create -q -o sets 'nodes/%r/restart.*' </dev/null || bad=1
    under "d['good'] and d['files'] == 3 and d['bytes'] == 60000" "$saikai" archive verify --json sets
    rm -r nodes/*/.saikai
done

# errors are sentences on standard error, with nothing on standard output that could be taken for an answer
for failing in "ls nowhere" "info nowhere" "verify nowhere" "archive ls nowhere" "archive verify nowhere" "compare nowhere no"; do
    got=0
    # shellcheck disable=SC2086
    timeout 240 "$saikai" $failing --json >out.json 2>err.txt </dev/null || got=$?
    if [ $got != 1 ] || [ -s out.json ] || ! grep -q nowhere err.txt; then
        echo "saikai $failing --json: exit code $got, and:"
        cat out.json err.txt
        bad=1
    fi
done
exit $bad
