#!/bin/sh
# saikai plan and saikai config as a user meets them. usage: plan_test.sh SAIKAI
set -u
saikai=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
: > "$dir/empty.conf"
export SAIKAI_CONFIG="$dir/empty.conf"
failed=0

# expect CODE PATTERN ARG...: exit code, and a pattern somewhere in what is printed
expect()
{
    code=$1 pattern=$2
    shift 2
    "$saikai" "$@" > "$dir/out" 2>&1
    got=$?
    if [ $got -ne "$code" ] || ! grep -q -e "$pattern" "$dir/out"; then
        echo "saikai $*: exit code $got (expected $code), no '$pattern' in:"
        cat "$dir/out"
        failed=1
    fi
}

printf '* 0\n' > "$dir/never"
expect 0 '^Best interval *42.9 min' plan --nodes 4096 --mtbf 5y --cost 90s
expect 0 'shortened to 30 min' plan --nodes 4096 --mtbf 5y --cost 90s
expect 0 'every 900 iterations' plan -n 4096 --mtbf 5y --size 900GB --bandwidth 10GB/s -i 2s
expect 0 '"best_interval_seconds": 2573.60' plan -n 4096 --mtbf 5y -c 90s --json
expect 0 'Confirmed: 13 of 13' plan -n 1000000 --mtbf 20y -c 2s --restart 20s --simulate
expect 0 'Confirmed: 13 of 13' plan -n 1000000 --mtbf 20y -c 2s --latency 8s --simulate --runs 100 --failures per-node
expect 0 '9 of 10 runs between' plan -n 1000 --mtbf 1y -c 60s -w 10d --simulate --runs 50
expect 0 'A checkpoint never pays' plan -n 4 -c 1s --rates "$dir/never" --set schedule.max_interval=0s
expect 0 'NOT confirmed: failures are so frequent' plan -n 1000000 --mtbf 1y -c 10min --simulate
# several levels: the same figures as the model's own test, with whole iterations, and played
expect 0 '^protected .*1 in 1, every' plan -n 4096 --mtbf 5y -c 2s --protect-cost 1s --archive-cost 5s
expect 0 '^archived .*10 min .*1 in 6, every 48.4 min' plan -n 4096 --mtbf 5y -c 2s -i 2s --protect-cost 1s --protect-latency 20s --archive-cost 5s --archive-latency 10min
expect 0 'groups of 9 nodes, each survives the loss of 2' plan -n 4096 --mtbf 5y -c 2s --protect-cost 1s
expect 0 'groups of 5 nodes, each survives the loss of 1' plan -n 20 -c 2s --protect-cost 1s --set redundancy.group=5 --set redundancy.parity=1
expect 0 '^archived .*never .*none is needed' plan -n 64 -c 2s --archive-cost 9s --set failure.local_share=1 --set failure.beyond_share=0
expect 0 'simulated: overhead 1.8' plan -n 4096 --mtbf 5y -c 2s --protect-cost 1s --protect-latency 20s --archive-cost 5s --archive-latency 10min --simulate --runs 10
expect 0 '"name": "archived"' plan -n 4096 -c 2s --archive-cost 5s --json
expect 2 'add --archive-cost' plan -n 4 -c 1s --protect-cost 1s --archive-latency 5s
expect 2 'more than 1 together' plan -n 4 -c 1s --protect-cost 1s --set failure.local_share=0.9 --set failure.beyond_share=0.2
expect 2 'cannot be safe after' plan -n 4 -c 10s --protect-cost 1s --protect-latency 5s
expect 2 'how many nodes? Give --nodes' plan -c 1s
expect 2 'give either --nodes or --hosts' plan -n 4 --hosts a,b -c 1s
expect 2 "'0' is not between 1 and" plan -n 0 -c 1s
expect 2 'cost of a checkpoint is missing' plan -n 4
expect 2 'give either --cost or --size' plan -n 4 -c 1s --size 1GB
expect 2 "'fast' is no speed" plan -n 4 --size 1GB --bandwidth fast
expect 2 "'0s' is no time above 0" plan -n 4 -c 1s --mtbf 0s
expect 2 'cannot count before it is made' plan -n 4 -c 10s --latency 5s
expect 2 'none of the choices: vaidya|young|daly' plan -n 4 -c 1s --model best
expect 2 'nothing to simulate' plan -n 4 -c 1s --rates "$dir/never" --simulate
expect 1 'cannot open.*nowhere\|nowhere.*No such' plan -n 4 -c 1s --svg "$dir/nowhere/a.svg"

printf 'node[1-3] 1/y\n* 0\n' > "$dir/rates"
expect 0 'once in 122 d' plan --hosts 'node[1-4]' --rates "$dir/rates" -c 1s
expect 0 '1 of the hosts are not in' plan --hosts 'node[1-4]' --rates "$dir/rates" -c 1s
printf 'node1\nnode2 often\n' > "$dir/bad"
expect 2 'bad:1: .* has no rate' plan --hosts 'node[1-2]' --rates "$dir/bad" -c 1s
expect 0 'Usage: saikai archive create' help archive create
expect 2 'one argument too many' help run other
expect 0 'time|auto' config --keys store
expect 2 'there is no file nofile' plan --hosts nofile -c 1s
expect 2 "host list 'n\[1'" plan --hosts 'n[1' -c 1s

expect 0 '' plan -n 4096 -c 90s --simulate --svg "$dir/curve.svg"
if ! grep -q '</svg>' "$dir/curve.svg" || ! grep -q 'simulated' "$dir/curve.svg"; then
    echo 'the drawing is not whole'
    failed=1
fi

expect 0 '^mtbf = 5y$' config failure
SAIKAI_SCHEDULE_MODEL=young
export SAIKAI_SCHEDULE_MODEL
expect 0 'model = young  *# environment SAIKAI_SCHEDULE_MODEL' config schedule -o --set failure.mtbf=1y
expect 0 '"origin": "--set"' config failure --json --set failure.mtbf=1y
expect 2 "did you mean 'plan'" plna
expect 2 'unknown key' config --set store.lokal=x
exit $failed
