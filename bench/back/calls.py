#!/usr/bin/env python3
"""What the layer of recovery in place adds to NPB's kernels while nothing fails, where runs differ by more than it adds (Table 3 of the Cuckoo paper): the calls of MPI
of each kernel are counted (of the rank that makes most), and what the layer adds to one call of each kind is the difference of two least times among many, of one process that speaks to
itself with the layer and without, so that nobody is waited for. Their product, in percent of the kernel's own time, is the layer's work; what differs by chance (who
waits for whom) is not in it.
usage: calls.py BUILD_DIR [class=A] [kernels=ep,is,cg,mg] [ranks=2,4] [turns=7] [json=FILE]"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
size, turns = told.get("class", "A"), int(told.get("turns", 7))
kernels, ranks = told.get("kernels", "ep,is,cg,mg").split(","), [int(n) for n in told.get("ranks", "2,4").split(",")]
work = tempfile.mkdtemp()
LAYER = ["--recovery", "process=in-place", "--protocol", "coordinated"]


def run(options, n, program, **more):
    environment = dict(os.environ, SAIKAI_STORE_PREFIX="none", SAIKAI_STORE_LOCAL=work + "/local", SAIKAI_SCHEDULE_EVERY="1000000", OMPI_MCA_mpi_yield_when_idle="1", **more)
    if not options:  # mpirun is told this whenever the layer is wanted: it must not make the difference
        environment["SAIKAI_RUN_MPIRUN_ARGS"] = "--oversubscribe"
    command = [build + "/src/cli/saikai", "run", *options, "-n", str(n), "--", *program]
    r = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=work)
    if r.returncode:
        sys.exit("%s: %s%s" % (" ".join(command), r.stdout, r.stderr))
    return r


def pairs(words):
    return dict(zip(words[::2], map(float, words[1::2])))


def one_call():
    """Of each kind, nanoseconds: without the layer, and what it adds."""
    least = {}
    for turn in range(turns):
        for form in (0, 1) if turn % 2 else (1, 0):
            for kind, ns in pairs(run(LAYER if form else [], 1, [build + "/bench/bench_calls_openmpi", "20"]).stdout.split()).items():
                best = least.setdefault(kind, [float("inf"), float("inf")])
                best[form] = min(best[form], ns)
    return least


def counted(kernel, n):
    """The most calls of each kind that a rank makes, and the least of the kernel's own times, seconds."""
    most, seconds = {}, []
    for turn in range(3):
        r = run([], n, ["%s/examples/npb_%s_openmpi" % (build, kernel), size], LD_PRELOAD=build + "/bench/libbench_count_openmpi.so")
        lines = r.stderr.splitlines()
        ranks_said = [pairs(line.split()[1:]) for line in lines if line.startswith("count: ")]
        walls = [float(line.split()[2]) for line in lines if line.startswith(kernel + ": wall ")]
        if len(ranks_said) != n or len(walls) != 1:
            sys.exit("%s with %d ranks: %d ranks counted their calls" % (kernel, n, len(ranks_said)))
        seconds += walls
        for said in ranks_said:
            for kind, count in said.items():
                most[kind] = max(most.get(kind, 0), count)
    return most, min(seconds)


results = []
try:
    calls = one_call()
    for kind, (plain, layer) in calls.items():
        print("%-9s %7.1f ns without the layer, %+6.1f with it" % (kind, plain, layer - plain), flush=True)
    for kernel in kernels:
        for n in ranks:
            most, seconds = counted(kernel, n)
            added = sum(count * max(0, calls[kind][1] - calls[kind][0]) for kind, count in most.items()) * 1e-9
            r = {"kernel": kernel, "class": size, "ranks": n, "calls": {k: int(c) for k, c in most.items() if c}, "plain_wall_seconds": round(seconds, 4), "percent": round(100 * added / seconds, 4)}
            results.append(r)
            print("%-2s class %s, %d ranks: %6d calls, the layer's work in them %.4f %% of %.2f s" % (kernel, size, n, sum(most.values()), r["percent"], seconds), flush=True)
finally:
    shutil.rmtree(work)
if "json" in told:
    with open(told["json"], "w") as f:
        json.dump({"bench": "back-calls", "call_ns": calls, "results": results}, f, indent=1)
        f.write("\n")
