#!/usr/bin/env bash
# Components of examples/components, compiled with the installed headers alone: they are listed, chosen and used, and what must not be
# loaded is said before anything starts.
# usage: components_test.sh CASE SOURCE_DIR BUILD_DIR SAIKAI [PROGRAM MESSAGES LATE]
set -u
case_name=$1 source=$2 build=$3 saikai=$4 program=${5:-} messages=${6:-} late=${7:-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
export HOME=$work XDG_CONFIG_HOME=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset SAIKAI_CONFIG
cd "$work" || exit 1

fail() {
    echo "FAILED: $*"
    head -n 40 out err 2>/dev/null
    exit 1
}
# (the manifest of a whole installation is another test's)
cmake --install "$build" --component Unspecified --prefix "$work/usr" >log 2>&1 || { cat log; exit 1; }
compile() { # SOURCE OBJECT [OPTION...]
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -O1 -fPIC -shared -I"$work/usr/include" "$1" -o "$2" "${@:3}" -lm >log 2>&1 || { cat log; exit 1; }
    chmod 755 "$2"
}
quiet() { timeout 60 "$@" >out 2>err; }
has() { grep -q -- "$1" "$2" || fail "'$1' is not in $2"; }
lacks() { ! grep -q -- "$1" "$2" || fail "'$1' is in $2"; }
# from SOURCE, with what follows replaced: a component that is not as it should be
variant() { # NAME SED
    sed "$2" "$source/examples/components/interval_model.c" >"$1.c"
    ! cmp -s "$1.c" "$source/examples/components/interval_model.c" || fail "$1: nothing was changed"
    compile "$1.c" "$1.so"
}

refused() { # WHAT IT SAYS, OBJECT…: nothing starts
    local list
    list=$(IFS=,; echo "${*:2}")
    rm -f started
    quiet "$saikai" run --set "components=$list" -- touch "$work/started"
    [ $? = 2 ] || fail "$list: not exit code 2"
    has "$1" err
    has "saikai run: component ${*: -1}: " err
    [ ! -e started ] || fail "$list: the program was started"
    quiet "$saikai" components --set "components=$list"
    [ $? = 2 ] || fail "$list: saikai components takes it"
}

case $case_name in
used)
    for part in interval_model failure_rates codec; do
        compile "$source/examples/components/$part.c" "$part.so"
    done
    # listed, and from where; a file of the user, the short way
    echo "components = $work/interval_model.so, $work/failure_rates.so,$work/codec.so" >saikai.conf
    printf '[schedule]\nmodel = young-calm\n' >>saikai.conf
    quiet "$saikai" components || fail "saikai components"
    has "^model  *young-calm  *$work/interval_model.so  chosen by schedule.model" out
    has "^model  *vaidya  *built in  (" out
    has "^rates  *csv  *$work/failure_rates.so" out
    quiet "$saikai" components --json || fail "saikai components --json"
    python3 - <<END || fail "the JSON is another one"
import json
forms = {(f["kind"], f["name"]): f for f in json.load(open("out"))}
assert forms["model", "young-calm"]["from"] == "$work/interval_model.so"
assert forms["model", "young-calm"]["chosen_by"] == "schedule.model"
assert forms["model", "daly"]["from"] == "built in" and not forms["model", "daly"]["chosen_by"]
assert forms["codec", "runs"]["components_call_it"] == "codec"
END
    quiet "$saikai" help plan
    has 'vaidya|young|daly|weibull|young-calm' out
    quiet "$saikai" config --set schedule.model=young-silent
    [ $? = 2 ] || fail "an unknown model is taken"
    has "'young-silent' is none of the choices: vaidya|young|daly|weibull|young-calm" err
    # used: a minute where Young says less
    quiet "$saikai" plan -n 100000 --mtbf 1y -c 1s --json || fail "saikai plan"
    python3 -c 'import json; p = json.load(open("out")); assert "young-calm" in json.dumps(p), p' || fail "the plan does not name the model"
    quiet "$saikai" plan -n 100000 --mtbf 1y -c 1s -m young-calm || fail "saikai plan -m"
    has 'young-calm' out
    printf 'host,mtbf_hours\nn1,1000\nn2,500\n' >rates.csv
    quiet "$saikai" plan --rates rates.csv --hosts 'n[1-2]' -c 10s --json || fail "rates of the component"
    python3 - <<'END' || fail "other rates"
import json, re
text = json.dumps(json.load(open("out")))
rate = 3 / 1000 / 3600
assert any(abs(float(x) / rate - 1) < 1e-3 for x in re.findall(r"[0-9.]+(?:e-[0-9]+)?", text) if float(x)), text
END
    printf 'host,mtbf_hours\nn1,never\n' >rates.csv
    quiet "$saikai" plan --rates rates.csv --hosts n1 -c 10s && fail "damaged rates are taken"
    has "rates.csv: line 2: write host,hours (component 'csv')" err
    # a codec: alone and in a chain, back where it is known, and said where it is not
    head -c 100000 /dev/zero >zeros
    head -c 3000 "$saikai" >>zeros
    for chain in runs shuffle+runs; do
        quiet "$saikai" compress -c $chain -t u8 -d 103000 zeros out.sks || fail "compress -c $chain"
        [ "$(stat -c %s out.sks)" -lt 20000 ] || fail "$chain does not compress"
        quiet "$saikai" decompress out.sks back || fail "decompress $chain"
        cmp zeros back || fail "$chain: other bytes"
        rm -f back
    done
    rm saikai.conf
    quiet "$saikai" decompress out.sks back && fail "decoded without the codec"
    has 'shuffle+runs' err
    has 'components.load' err
    # the environment's way, and a name that no component brings
    SAIKAI_COMPONENTS_LOAD=$work/interval_model.so SAIKAI_SCHEDULE_MODEL=young-calm quiet "$saikai" config schedule || fail "environment"
    has '^model = young-calm' out
    ;;
refused)
    variant abi 's/\.abi = SAIKAI_COMPONENT_ABI/.abi = SAIKAI_COMPONENT_ABI + 1/'
    refused 'compiled for version 2 of saikai/component.h, this is version 1' "$work/abi.so"
    variant symbol 's/saikai_components(/saikai_component(/'
    refused 'does not export the function saikai_components' "$work/symbol.so"
    variant name 's/"young-calm"/"daly"/'
    refused 'of this name already (built in)' "$work/name.so"
    variant odd 's/"young-calm"/"Young Calm"/'
    refused 'is no name of a component' "$work/odd.so"
    variant kind 's/\.kind = SAIKAI_KIND_INTERVAL_MODEL/.kind = "weather"/'
    refused "of the kind 'weather', which cannot be added to: interval-model" "$work/kind.so"
    variant table 's/\.ops_size_bytes = sizeof ops/.ops_size_bytes = 1/'
    refused 'its table of functions has 1 bytes' "$work/table.so"
    variant size 's/\.size_bytes = sizeof young_calm/.size_bytes = 8/'
    refused 'a component has 8 bytes' "$work/size.so"
    variant crash '$ a\
__attribute__((constructor)) static void crash(void) { *(volatile int *)8 = 1; }'
    refused 'crashes while it is loaded (signal 11' "$work/crash.so"
    variant ends '1 i\
#include <stdlib.h>
        $ a\
__attribute__((constructor)) static void end(void) { exit(0); }'
    refused 'ends the process that loads it (code 0)' "$work/ends.so"
    variant lost '$ a\
int nobody_has_this(void); int use_it(void) { return nobody_has_this(); }'
    refused 'nobody_has_this' "$work/lost.so"
    echo 'no object' >text.so
    refused 'cannot be loaded' "$work/text.so"
    refused 'No such file' "$work/none.so"
    refused 'write the whole path' none.so
    refused 'it is no file' "$work/usr"
    compile "$source/examples/components/interval_model.c" good.so
    cp good.so twin.so
    refused "of this name already ($work/good.so)" "$work/good.so" "$work/twin.so" # what is wrong is said of the second one
    ;;
writable)
    compile "$source/examples/components/interval_model.c" good.so
    quiet "$saikai" components --set "components=$work/good.so" || fail "the good one"
    for mode in 775 757; do
        chmod $mode good.so
        refused "may be written by others (mode $mode)" "$work/good.so"
    done
    chmod 755 good.so
    mkdir inner
    cp good.so inner/x.so
    chmod 755 inner/x.so
    for mode in 775 777; do
        chmod $mode inner
        refused "may be written by others (mode $mode)" "$work/inner/x.so"
    done
    chmod 1777 inner # others cannot replace what is not theirs
    quiet "$saikai" components --set "components=$work/inner/x.so" || fail "a sticky directory"
    chmod 755 inner
    if [ "$(id -u)" = 0 ]; then
        chown 12345 inner/x.so
        refused 'belongs to another user (12345)' "$work/inner/x.so"
        chown 0 inner/x.so
        chown 12345 inner
        refused 'belongs to another user (12345)' "$work/inner/x.so"
    fi
    ;;
faults) # a fault model and a monitor, in the order that the job's recovery says
    for part in fault_model monitor event_source; do
        compile "$source/examples/components/$part.c" "$part.so"
    done
    echo "components = $work/fault_model.so, $work/monitor.so, $work/event_source.so" >saikai.conf
    quiet "$saikai" components --set run.recovery=bad-memory,process=restart || fail "saikai components"
    has "^fault-model  *bad-memory  *$work/fault_model.so  chosen by run.recovery" out
    has "^fault-model  *process  *built in  chosen by run.recovery" out
    has "^monitor  *health-check  *$work/monitor.so" out
    has "^event-source  *site-list  *$work/event_source.so" out
    # the second crash of the node's process is the component's; one node alone is tried again
    mkdir store
    printf '#!/bin/sh\n[ $SAIKAI_START -gt 3 ] || kill -SEGV $$\n' >crash
    chmod +x crash
    run=("$saikai" run --set store.prefix="$work/store" --set run.no_progress=0 --set run.backoff=0.1s)
    quiet "${run[@]}" --recovery 'bad-memory, process' -- "$work/crash" || fail "the job did not come through"
    has 'was killed by signal 11 .*; fault model: process; answer: restart' err
    has 'fault model: bad-memory; answer: restart' err
    quiet "$saikai" history store || fail "saikai history"
    [ "$(grep -c 'fault model: process' out) $(grep -c 'fault model: bad-memory' out)" = '1 2' ] || fail "another history"
    has "\[start 3 of .*crash" out
    # what the monitor says counts before the process
    hostname >broken
    SITE_NODES_DOWN=$work/broken quiet "${run[@]}" --hosts broken -- "$work/crash" || fail "the job did not come through with the monitor"
    has 'fault model: physical; answer: restart' err
    # what the source of events says
    echo "$(hostname) a smell of smoke" >ill
    printf '#!/bin/sh\nuntil grep -q "is well again" %s/err; do grep -q "is not well" %s/err && : >%s/ill; sleep 0.1; done\n' "$work" "$work" "$work" >wait
    chmod +x wait
    SITE_NODES_ILL=$work/ill quiet "${run[@]}" --set events.every=100ms -- "$work/wait" || fail "the job did not come through with the source"
    has "node $(hostname) is not well: a smell of smoke (source of events site-list)" err
    quiet "${run[@]}" --set events.every=100ms -- sleep 1 || fail "the job did not come through with a source that fails"
    [ "$(grep -c 'SITE_NODES_ILL: the variable is not set' err)" = 1 ] || fail "not said once"
    # a recovery protocol: the words it gives are kept; on one node there is nowhere to go
    compile "$source/examples/components/recovery_protocol.c" step.so
    mkdir steps
    step=("$saikai" run --set store.prefix="$work/steps" --set run.no_progress=0 --set run.backoff=0.1s)
    quiet "${step[@]}" --set "components=$work/step.so" --recovery 'process=step-aside' -- "$work/crash" || fail "the job did not come through with the recovery protocol"
    [ "$(grep -c 'fault model: process; answer: restart, as recovery protocol step-aside says: it died for the first time, or there is nowhere to go' err)" = 3 ] ||
        fail "the recovery protocol is not told of"
    "$saikai" history steps --json >out 2>err || fail "saikai history --json"
    has 'as recovery protocol step-aside says' out
    quiet "$saikai" components --set "components=$work/step.so" --set run.recovery=network,process=step-aside --json || fail "saikai components"
    python3 - <<END || fail "the JSON is another one"
import json
forms = {f["name"]: f for f in json.load(open("out")) if f["kind"] == "recovery-protocol"}
assert sorted(forms) == ["ignore", "in-place", "migration", "restart", "step-aside", "twin"], forms
assert forms["step-aside"]["from"] == "$work/step.so" and forms["step-aside"]["components_call_it"] == "recovery-protocol"
assert [n for n in sorted(forms) if forms[n]["chosen_by"] == "run.recovery"] == ["ignore", "step-aside"], forms
END
    # what it answers is held against what there is: nothing of this can be, and the job is started again all the same
    changed() { # WHAT IT SAYS, SED
        sed "$2" "$source/examples/components/recovery_protocol.c" >other.c
        ! cmp -s other.c "$source/examples/components/recovery_protocol.c" || fail "$1: nothing was changed"
        compile other.c other.so
        quiet "${step[@]}" --set "components=$work/other.so" --recovery process=step-aside -- "$work/crash" || fail "$1: the job did not come through"
        has "answer: restart, as recovery protocol step-aside cannot decide: $1" err
    }
    changed 'rank 0 was to go to node 99, and the job has 1 nodes' 's/int32_t other = .*/& other = 99;/'
    changed "rank 0 was to go to $(hostname)" 's/int32_t other = .*/& other = p->node;/'
    changed 'not by its twin: ' 's/} else if (p->twin) {/} else if (1) {/'
    changed 'not in place: ' 's/} else if (p->in_place .*/} else if (1) {/'
    changed "'ignore', for rank 0, is not among the answers" 's/each\[i\].answer = SAIKAI_ANSWER_TRANSFER/each[i].answer = SAIKAI_ANSWER_IGNORE/; s/(p->twin)/(1)/'
    changed 'the weather' 's/it died for the first time, or there is nowhere to go/the weather/; /the weather/{n; s/return 0;/return -1;/}'
    sed 's/ops_size_bytes = sizeof ops/ops_size_bytes = 8/' "$source/examples/components/recovery_protocol.c" >other.c
    compile other.c other.so
    refused 'its table of functions has 8 bytes, that of the kind recovery-protocol has 16' "$work/other.so"
    # without a store nothing is kept, and nothing made
    quiet "${run[@]}" --set store.prefix="$work/none" -- "$work/crash" || fail "the job did not come through without a store"
    [ ! -e none ] || fail "a directory was made"
    mkdir empty
    quiet "$saikai" history empty || fail "no history is an error"
    has 'no faults are known' out
    # wrong words: nothing starts
    for words in 'process, weather' process=pray; do
        quiet "$saikai" run --recovery "$words" -- touch "$work/started"
        [ $? = 2 ] || fail "--recovery $words: not exit code 2"
        has 'run.recovery: unknown' err
        [ ! -e started ] || fail "the program was started"
    done
    has 'ignore, restart, migration, in-place or twin' err
    echo 'no line of a history' >>store/history
    quiet "$saikai" history store && fail "a damaged history is taken for whole"
    has '1 line of store/history damaged' err
    [ "$(wc -l <out)" = 6 ] || fail "the lines that are whole are not shown"
    ;;
program) # a program with the library takes model and codec, and refuses what must not be loaded
    compile "$source/examples/components/interval_model.c" good.so
    compile "$source/examples/components/codec.c" codec.so
    variant abi 's/\.abi = SAIKAI_COMPONENT_ABI/.abi = SAIKAI_COMPONENT_ABI + 1/'
    export SAIKAI_STORE_PREFIX=$work/store SAIKAI_STORE_LOCAL=$work/local SAIKAI_JOB_NAME=components SAIKAI_SCHEDULE_MODEL=young-calm
    export SAIKAI_COMPONENTS_LOAD=$work/good.so,$work/codec.so
    SAIKAI_CODEC_CHAINS='*=shuffle+runs' timeout 120 "$saikai" run -n 2 -- "$program" 40 40 40 30 >out 2>err || fail "the program with components"
    has verified out
    quiet "$saikai" verify store || fail "saikai verify"
    quiet "$saikai" info --json store || fail "saikai info"
    has 'shuffle+runs' out
    # without the component the bytes are those that were written, but nobody can say more
    unset SAIKAI_COMPONENTS_LOAD
    quiet env -u SAIKAI_SCHEDULE_MODEL "$saikai" verify store
    [ $? = 3 ] || fail "saikai verify without the codec: not exit code 3"
    has 'NOT VERIFIABLE' out
    has "needs the codecs 'shuffle+runs'" out
    has 'components.load' out
    lacks 'all good' out
    lacks DAMAGED out
    quiet env -u SAIKAI_SCHEDULE_MODEL "$saikai" verify --json store
    [ $? = 3 ] || fail "saikai verify --json without the codec: not exit code 3"
    python3 - <<'END' || fail "the JSON does not say it"
import json
j = json.load(open("out"))
assert not j["good"] and any(not g["verifiable"] and not g["good"] for g in j["generations"]), j
assert all(not f["damaged"] for g in j["generations"] for f in g["faults"])
END
    damaged=$(find store -name '*.skc' | sort | head -n 1) # damage is told first
    cp "$damaged" kept
    printf 'xxxxxxxxxxxxxxxx' | dd of="$damaged" bs=1 seek=4200 conv=notrunc status=none
    quiet env -u SAIKAI_SCHEDULE_MODEL "$saikai" verify store
    [ $? = 1 ] || fail "damage is not told"
    cp kept "$damaged"
    rm -rf store local
    SAIKAI_COMPONENTS_LOAD=$work/abi.so timeout 120 "$program" 40 40 40 30 >out 2>err && fail "a program takes a component of another version"
    has 'compiled for version 2' err
    unset SAIKAI_COMPONENTS_LOAD
    timeout 120 "$program" 40 40 40 30 >out 2>err && fail "a program takes a model that nobody has"
    has "'young-calm' is none of the choices" err
    ;;
protocol) # a parallel FT protocol, whose hooks see the program's messages
    source_file=$source/examples/components/parallel_protocol.c
    compile "$source_file" both.so
    other() { # NAME SED: another one
        sed "$2" "$source_file" >"$1.c"
        ! cmp -s "$1.c" "$source_file" || fail "$1: nothing was changed"
        compile "$1.c" "$1.so"
    }
    quiet "$saikai" components --set "components=$work/both.so" --set run.protocol=both-ends --json || fail "saikai components"
    python3 - <<END || fail "the JSON is another one"
import json
forms = {f["name"]: f for f in json.load(open("out")) if f["kind"] == "protocol"}
assert sorted(forms) == ["both-ends", "coordinated", "logging", "none", "replication"], forms
assert forms["both-ends"]["from"] == "$work/both.so" and forms["both-ends"]["components_call_it"] == "parallel-protocol"
assert [n for n in forms if forms[n]["chosen_by"]] == ["both-ends"] and forms["both-ends"]["chosen_by"] == "run.protocol", forms
END
    quiet "$saikai" components --json || fail "saikai components"
    python3 -c 'import json; assert [f["name"] for f in json.load(open("out")) if f["kind"] == "protocol" and f["chosen_by"] == "run.protocol"] == ["coordinated"]' ||
        fail "the default protocol is not told of"
    # what contradicts itself, and what is none: nothing starts
    other lost 's/SAIKAI_BACK_ALL/SAIKAI_BACK_LOST/'
    other bare 's/SAIKAI_NEEDS_LAYER | //'
    for bad in "lost the lost with _LOG" "bare needs SAIKAI_NEEDS_LAYER"; do
        quiet "$saikai" run --set "components=$work/${bad%% *}.so" --protocol both-ends -- touch "$work/started"
        [ $? = 2 ] || fail "${bad%% *}: not exit code 2"
        has "run.protocol: the protocol 'both-ends' contradicts itself: .*${bad#* }" err
        [ ! -e started ] || fail "the program was started"
    done
    quiet "$saikai" run --protocol both-ends -- touch "$work/started"
    [ $? = 2 ] || fail "an unknown protocol: not exit code 2"
    has "unknown parallel FT protocol 'both-ends': coordinated, logging, replication or none" err
    sed 's/\.abi = SAIKAI_COMPONENT_ABI/.abi = SAIKAI_COMPONENT_ABI + 1/' "$source_file" >abi.c
    compile abi.c abi.so
    refused 'compiled for version 2 of saikai/component.h' "$work/abi.so"
    sed 's/ops_size_bytes = sizeof ops/ops_size_bytes = 8/' "$source_file" >small.c
    compile small.c small.so
    refused 'its table of functions has 8 bytes, that of the kind parallel-protocol has' "$work/small.so"
    if ! ldd "$program" | grep -q libmpi.so.40; then # the layer is for Open MPI
        echo "skip: not Open MPI"
        exit 0
    fi
    export SAIKAI_STORE_LOCAL=$work/local SAIKAI_JOB_NAME=components SAIKAI_STORE_FSYNC=no BOTH_ENDS=tell
    messages() { # NAME OBJECT PROTOCOL HOW
        SAIKAI_SCHEDULE_EVERY=1 SAIKAI_STORE_PREFIX=$work/store-$1 timeout 300 "$saikai" run --set "components=$work/$2.so" --protocol "$3" "${@:5}" -n 4 -- \
            "$messages" "$4" 15 >out 2>err || fail "$1: the job did not come through"
        has '4 ranks, 15 steps: done' out
        rm -rf local
    }
    # every way to send and to receive is seen, once, at both ends; ranks 0 and 1 get one more in a communicator of half of them
    messages plain both both-ends plain
    for r in 0 1 2 3; do
        [ "$(grep -c "rank $r: $((r < 2 ? 7 : 6)) messages compared" err)" -ge 12 ] || fail "rank $r does not see all messages"
    done
    lacks 'have come' err
    lacks 'is not what has come' err
    # one that is under way at a checkpoint: by number at the first, by what is in it at the others
    messages cross both both-ends cross
    for r in 0 1 2 3; do
        has "rank $(((r + 1) % 4)): rank $r has sent . messages since the generation before, and . of them have come" err
        has "rank $(((r + 1) % 4)): what rank $r has sent since the generation before is not what has come" err
    done
    # one that is damaged on its way
    other damaged 's/^    count(m, 0);/    count(m, 0), mine[m->peer].sum += !w->rank \&\& m->tag == 6;/; s/^    (void)w;$//'
    messages damaged damaged both-ends plain
    has 'rank 1: what rank 0 has sent since the generation before is not what has come' err
    [ "$(grep 'is not what has come' err | grep -vc 'rank 1: what rank 0')" = 0 ] || fail "others are told of, too"
    # beside messages that are kept, for all its hooks
    other kept 's/SAIKAI_BACK_ALL/SAIKAI_BACK_LOST/; s/SAIKAI_NEEDS_CHECKPOINTS/& | SAIKAI_NEEDS_LOG/'
    messages kept kept both-ends plain --recovery process=in-place
    has 'rank 3: 6 messages compared' err
    lacks 'is not what has come' err
    # without hooks nothing is loaded before the layer; without a layer nothing at all
    other bald 's/^    \.\(begin\|sends\|received\|generation\|lost\|back\) = .*//; s/^static void \(begin\|sends\|received\|generation\|lost\|back\)(/__attribute__((unused)) &/'
    for p in "bald both-ends saikai-world" "both both-ends saikai-hooks-.*:.*saikai-world" "both coordinated saikai-world" "both none"; do
        set -- $p
        SAIKAI_STORE_PREFIX=$work/store quiet "$saikai" run --launcher openmpi --set "components=$work/$1.so" --protocol "$2" --recovery process=in-place -- \
            sh -c 'echo "preload=$LD_PRELOAD"' || fail "$p: the job did not come through"
        has "^preload=.*${3:-}" out
        [ "$1" = both ] && [ "$2" = both-ends ] || lacks saikai-hooks out
        [ "$2" != none ] || lacks saikai-world out
    done
    has 'run.protocol=none: no process is made again in place' err
    # a loss in place: the others are told of it, and nothing differs after it
    export SAIKAI_SCHEDULE_EVERY=20 SAIKAI_RUN_REPAIR_LIMIT=100s SAIKAI_STORE_PREFIX=$work/store-lost
    timeout 500 "$saikai" run --set "components=$work/both.so" --protocol both-ends --recovery process=in-place -n 4 -- "$program" -p "$work/pid" 40 40 40 3000 >out 2>err &
    job=$!
    for _ in $(seq 3000); do # until a generation was compared, of a loop that has long to go
        grep -q 'rank 2: [1-9][0-9]* messages compared' err && break
        sleep 0.02
    done
    kill -9 "$(cat pid.2)" || fail "rank 2 has gone"
    wait $job || fail "the job did not come through a loss"
    has 'verified' out
    lacks 'have come' err
    lacks 'is not what has come' err
    if grep -q 'repaired in place' err; then
        for r in 0 1 3; do
            has "rank $r: rank 2 is lost" err
            has "rank $r: rank 2 is back, after 1 repairs" err
        done
    else
        has 'answer: restart, not in place: ' err
    fi
    ;;
late) # the hooks see the messages of a program that loads MPI while it runs, as Python does, and name what MPI names by addresses
    compile "$source/examples/components/parallel_protocol.c" both.so
    if ! ldd "$program" | grep -q libmpi.so.40; then
        echo "skip: not Open MPI"
        exit 0
    fi
    ! ldd "$late" | grep -q libmpi || fail "the program is linked with MPI"
    export SAIKAI_STORE_LOCAL=$work/local SAIKAI_JOB_NAME=components SAIKAI_STORE_FSYNC=no SAIKAI_SCHEDULE_EVERY=1 SAIKAI_STORE_PREFIX=$work/store BOTH_ENDS=tell
    timeout 300 "$saikai" run --launcher openmpi --set "components=$work/both.so" --protocol both-ends -n 4 -- "$late" plain 15 >out 2>err || fail "the job did not come through"
    has '4 ranks, 15 steps: done' out
    for r in 0 1 2 3; do
        [ "$(grep -c "rank $r: $((r < 2 ? 7 : 6)) messages compared" err)" -ge 12 ] || fail "rank $r does not see all messages"
    done
    lacks 'have come' err
    lacks 'is not what has come' err
    lacks 'hooks .*not called' err
    ;;
esac
