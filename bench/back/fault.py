#!/usr/bin/env python3
"""What one fault costs: conjugate gradients (examples/cg.c) under `saikai run`, one rank killed at a random moment of the middle third, under each
recovery model, all models in each turn, in an order that is shuffled; each beside the same run without a kill. For each model: the median over the turns
of the time that passes and of the processor time of all processes that the fault adds, in seconds and in percent of the run beside it, and how many
processes it was that were started anew. part=P: a generation is made every P of the run's steps in place of each `every`, and the rank killed late in the
second of these intervals, so that what is computed again is what a fault costs.
usage: fault.py BUILD_DIR [ranks=4] [turns=7] [size=96] [seconds=6] [every=20] [part=P] [models=NAME;NAME…] [json=FILE]"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from measured import median, numbers  # noqa: E402

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
ranks, turns, size, seconds, every = int(told.get("ranks", 4)), int(told.get("turns", 7)), told.get("size", "96"), float(told.get("seconds", 6)), told.get("every", "20")
part = float(told.get("part", 0))
program, work = build + "/examples/cg_openmpi", tempfile.mkdtemp()
in_place = ["--recovery", "process=in-place", "--set", "run.restart_slower=no", "--protocol"]
spawn = ["--warm", "0"]
MODELS = {
    "restart": [],
    "coordinated": in_place + ["coordinated"],  # a spare waits, where the MPI is Open MPI 4
    "coordinated, spawn": in_place + ["coordinated"] + spawn,
    "logging": in_place + ["logging"],
    "logging, spawn": in_place + ["logging"] + spawn,
    "replication": ["--protocol", "replication"],
}


def run(options, steps, kill_after=None):
    """Seconds that passed, seconds of the processor, and what happened. kill_after: seconds behind the program's begin."""
    for name in os.listdir(work):
        path = os.path.join(work, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    environment = dict(os.environ, SAIKAI_STORE_PREFIX=work + "/store", SAIKAI_STORE_LOCAL=work + "/local", SAIKAI_STORE_FSYNC="no",
                       SAIKAI_SCHEDULE_EVERY=every, SAIKAI_RUN_BACKOFF="0.1s", OMPI_MCA_mpi_yield_when_idle="1")
    if part:
        environment["SAIKAI_RUN_LOG_MEMORY"] = "4GiB"  # `logging` would ask for generations of its own
    command = [build + "/src/cli/saikai", "run", *options, "-n", str(ranks), "--", program, "-p", work + "/pid", size, str(steps)]
    used, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=work)
    before = {}
    while job.poll() is None and len(before) < ranks:
        time.sleep(0.005)
        before = numbers(work)
    lead = time.monotonic() - begun
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(before[random.randrange(ranks)], signal.SIGKILL)
    out, err = job.communicate(timeout=600)
    wall, now = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if job.returncode or "verified" not in out:
        sys.exit("%s: %s%s" % (" ".join(command), out, err))
    after = numbers(work)
    if kill_after is not None and options and "answer: restart" in err:
        print("\n".join(line for line in err.splitlines() if line.startswith("saikai: ")), file=sys.stderr)
    what = "twin" if "answer: twin" in err else "in place" if "repaired in place" in err and "answer: restart" not in err else "restart" if "answer: restart" in err else "none"
    return {"wall": wall, "lead": lead, "cpu": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, "what": what,
            "anew": sum(before[r] != after.get(r) for r in before)}


chosen, runs = told.get("models", ";".join(MODELS)).split(";"), {}
try:
    steps = max(40, int(100 * seconds / run([], 100)["wall"]))
    if part:
        every = str(int(part * steps))
    for turn in range(turns):  # one after the other in each turn: a machine that is slower for minutes is so for all of them
        for model in random.sample(chosen, len(chosen)):
            calm = run(MODELS[model], steps)
            moment = random.uniform(1.6, 1.8) * part if part else random.uniform(1, 2) / 3
            runs.setdefault(model, []).append((calm, run(MODELS[model], steps, moment * (calm["wall"] - calm["lead"]))))  # behind the second generation nothing would be computed again
            if sys.stderr.isatty():
                print("turn %d of %d: %s" % (turn + 1, turns, model), file=sys.stderr)
finally:
    shutil.rmtree(work)

results = []
for model in chosen:
    pairs = runs[model]
    r = {"model": model, "ranks": ranks, "steps": steps, "turns": turns, "calm_seconds": round(median([c["wall"] for c, _ in pairs]), 3),
         "answers": {w: [s["what"] for _, s in pairs].count(w) for w in sorted({s["what"] for _, s in pairs})},
         "anew": median([s["anew"] for _, s in pairs])}
    for what in ("wall", "cpu"):
        r["lost_%s_seconds" % what] = round(median([s[what] - c[what] for c, s in pairs]), 3)
        r["lost_%s_percent" % what] = round(median([100 * (s[what] / c[what] - 1) for c, s in pairs]), 2)
    results.append(r)
    print("%-24s %2d ranks: a fault costs %6.2f s (%.1f %%), and %6.2f s of processors (%.1f %%); %d processes anew; calm %.2f s; answers %s"
          % (model, ranks, r["lost_wall_seconds"], r["lost_wall_percent"], r["lost_cpu_seconds"], r["lost_cpu_percent"], r["anew"], r["calm_seconds"], r["answers"]))
if "json" in told:
    with open(told["json"], "w") as f:
        json.dump({"bench": "back-fault", "part": part, "results": results}, f, indent=1)
        f.write("\n")
