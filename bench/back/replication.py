#!/usr/bin/env python3
"""What the protocol replication costs. While nothing fails: the loops of CG, heat and EP with two processes of each rank, beside the same program
started twice at the same time on the same cores, in turns; the median over the pairs of what replication adds, in percent, to the time that
passes and to the processor time, with the interval that holds the median with 95 %. In the same way what comparing messages (--compare tell) adds to replication. At a fault (TRANSFER): one process of a program with steps of a millisecond or so is
killed, and the longest time is taken that any of the others had no step; beside it the longest step of the same program when nobody is killed.
usage: replication.py BUILD_DIR [pairs=N] [compares=N] [ranks=N] [seconds=S] [kills=N] [json=FILE]"""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from measured import interval, median  # noqa: E402

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
pairs, ranks, seconds, kills = int(told.get("pairs", 11)), int(told.get("ranks", 2)), float(told.get("seconds", 3)), int(told.get("kills", 11))
compares = int(told.get("compares", pairs))
loops, steps_of = build + "/bench/bench_layer_openmpi", build + "/tests/world/replicated_openmpi"
work = tempfile.mkdtemp()
# More processes than cores: who waits gives its core away, in both.
environment = dict(os.environ, SAIKAI_STORE_PREFIX="none", OMPI_MCA_mpi_yield_when_idle="1")
plain = dict(environment, SAIKAI_RUN_MPIRUN_ARGS="--oversubscribe")  # as it is told where the layer is wanted


def start(program, *options):
    command = [build + "/src/cli/saikai", "run", *options, "-n", str(ranks), "--", *program]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment if options else plain, cwd=work)


def end(job):
    out, err = job.communicate(timeout=900)
    if job.returncode:
        sys.exit("%s: %s%s" % (" ".join(job.args), out, err))
    return out, err


def seconds_of(jobs):
    """The means of the loops that ran at the same time: of the time that passes, and of the processor time of a program's (a copy's) ranks."""
    words = [end(j)[0].split() for j in jobs]
    return [sum(float(w[i]) for w in words) / len(words) for i in (1, 3)]


def in_turns(program, how_many, without, by):
    """What starting the program in the second way adds to the first, in percent: of the time that passes, and of processor time."""
    added = {"wall": [], "cpu": []}
    for pair in range(how_many):
        got = {}
        for second in (0, 1) if pair % 2 else (1, 0):
            got[second] = seconds_of(by(program) if second else without(program))
        for i, what in enumerate(("wall", "cpu")):
            added[what].append(100 * (got[1][i] / got[0][i] - 1))
    r = {}
    for what, v in added.items():
        r[what + "_percent"] = round(median(v), 2)
        r[what + "_95"] = [round(x, 2) for x in interval(v)]
    return r


def twin(program):
    return [start(program, "--protocol", "replication")]


def cost(kernel, n):
    wall, _ = seconds_of([start([loops, kernel, str(n), "20"]) for _ in range(2)])
    program = [loops, kernel, str(n), str(max(20, int(20 * seconds / wall)))]
    r = {"kernel": kernel, "n": n, "ranks": ranks, "pairs": pairs, **in_turns(program, pairs, lambda p: [start(p), start(p)], twin)}
    print("%-4s %3d^3, %d ranks: beside the program started twice replication adds %6.2f %% of wall time (95 %%: %.2f to %.2f), %6.2f %% of processor "
          "time (%.2f to %.2f)" % (kernel, n, ranks, r["wall_percent"], *r["wall_95"], r["cpu_percent"], *r["cpu_95"]), flush=True)
    return r


def comparing(kernel, n):
    wall, _ = seconds_of(twin([loops, kernel, str(n), "20"]))
    program = [loops, kernel, str(n), str(max(20, int(20 * seconds / wall)))]
    r = {"kernel": kernel, "n": n, "ranks": ranks, "pairs": compares, "what": "compare",
         **in_turns(program, compares, twin, lambda p: [start(p, "--protocol", "replication", "--compare", "tell")])}
    print("%-4s %3d^3, %d ranks: comparing messages adds %6.2f %% of wall time to replication (95 %%: %.2f to %.2f), %6.2f %% of processor time (%.2f to %.2f)"
          % (kernel, n, ranks, r["wall_percent"], *r["wall_95"], r["cpu_percent"], *r["cpu_95"]), flush=True)
    return r


def processes():
    """Of the newest start, by the numbers that MPI gave them."""
    found = {}
    for place in glob.glob("/proc/[0-9]*"):
        try:
            words = open(place + "/cmdline", "rb").read().split(b"\0")
            if words[0].decode() == steps_of and (work + "/at").encode() in words:
                env = dict(v.split(b"=", 1) for v in open(place + "/environ", "rb").read().split(b"\0") if b"=" in v)
                found[int(env[b"PMIX_RANK"])] = int(place[6:])
        except (OSError, KeyError):
            pass
    return found


def notes():
    """How far each process was when it last said so, and its longest step until then."""
    return {int(f.rsplit(".", 1)[1]): [float(x) for x in (open(f).read().split() + [0, 0])[:2]] for f in glob.glob(work + "/at.*")}


def longest(kill):
    for f in glob.glob(work + "/at.*"):
        os.unlink(f)
    job = start([steps_of, "-p", work + "/at", "8000"], "--protocol", "replication")
    dead = None
    while kill and dead is None and job.poll() is None:
        at = notes()
        if len(at) == 2 * ranks and min(a[0] for a in at.values()) >= 200:
            dead = processes().get(random.randrange(2 * ranks))
            if dead:
                os.kill(dead, signal.SIGKILL)
        time.sleep(0.02)
    _, err = end(job)
    if kill and "answer: twin" not in err:  # it was at its end already
        return None
    return 1000 * max(a[1] for pid, a in notes().items() if pid != dead)


def transfer():
    calm, killed = [], []
    for _ in range(kills):
        calm.append(longest(0))
        killed += [x for x in [longest(1)] if x is not None]
    if not killed:
        sys.exit("in none of %d runs a twin took over: nothing is measured" % kills)
    low, high = interval(killed)
    print("TRANSFER: %.1f ms without a step (median of %d kills; 95 %%: %.1f to %.1f), %.1f ms when nobody is killed"
          % (median(killed), len(killed), low, high, median(calm)), flush=True)
    return {"kernel": "transfer", "ranks": ranks, "kills": len(killed), "longest_ms": round(median(killed), 1),
            "longest_95": [round(low, 1), round(high, 1)], "calm_ms": round(median(calm), 1)}


try:
    results = [cost(kernel, n) for kernel, n in (("cg", 64), ("cg", 128), ("heat", 64), ("ep", 128))] if pairs else []
    results += [comparing(kernel, n) for kernel, n in (("cg", 64), ("heat", 64))] if compares else []
    results += [transfer()] if kills else []
finally:
    shutil.rmtree(work)
if "json" in told:
    with open(told["json"], "w") as f:
        json.dump({"bench": "back-replication", "results": results}, f, indent=1)
        f.write("\n")
