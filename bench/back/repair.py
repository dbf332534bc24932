#!/usr/bin/env python3
"""From the moment that one of four ranks on one node is killed until all ranks have met in the repaired world: `saikai run --recovery
process=in-place` with a process that is spawned (`spawn`), and with a warm spare (`warm`), beside a repair by hand with nothing but MPI's calls in it (`raw`,
raw_repair.c), in turns that are shuffled. For each the median with the interval that holds it with 95 %, and the median over the turns of what it is of the raw one
of the same turn. `back`: until all have the newest generation as well, which raw has nothing for.
usage: repair.py BUILD_DIR [ranks=4] [turns=15] [json=FILE]"""
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
from measured import interval, median, numbers  # noqa: E402

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
ranks, turns = int(told.get("ranks", 4)), int(told.get("turns", 15))
work = tempfile.mkdtemp()
ours = [build + "/src/cli/saikai", "run", "--recovery", "process=in-place", "--set", "run.restart_slower=no"]
repaired = ["-n", str(ranks), "--", build + "/bench/bench_repaired_openmpi", work]
FORMS = {
    "raw": ["mpirun.openmpi", "--enable-recovery", "--oversubscribe", "-n", str(ranks), build + "/bench/bench_raw_repair_openmpi", work],
    "spawn": ours + ["--warm", "0"] + repaired,
    "warm": ours + ["--warm", "1"] + repaired,
}
if os.geteuid() == 0:
    FORMS["raw"].insert(1, "--allow-run-as-root")


def run(form):
    """Seconds from the kill to each thing that was told."""
    for name in os.listdir(work):
        path = os.path.join(work, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    with open(work + "/page", "wb") as f:
        f.write(bytes(4096))
    environment = dict(os.environ, SAIKAI_STORE_PREFIX=work + "/store", SAIKAI_STORE_LOCAL=work + "/local", SAIKAI_STORE_FSYNC="no",
                       SAIKAI_SCHEDULE_EVERY="2000", OMPI_MCA_mpi_yield_when_idle="1")
    job = subprocess.Popen(FORMS[form], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=work)
    while job.poll() is None and len(numbers(work)) < ranks:
        time.sleep(0.01)
    time.sleep(random.uniform(0.7, 1.2))
    dead = numbers(work).get(random.randrange(ranks))
    if dead is None:
        job.kill()
    else:
        killed = time.monotonic()
        os.kill(dead, signal.SIGKILL)
    try:
        out, err = job.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        job.kill()
        out, err = job.communicate()
    words = [line.split() for line in out.splitlines() if line.startswith(("repaired ", "back "))]
    if dead is None or [w[0] for w in words] != (["repaired"] if form == "raw" else ["repaired", "back"]):
        sys.exit("%s: %s%s" % (" ".join(FORMS[form]), out, err))
    return {w[0]: float(w[1]) - killed for w in words}


got = {form: [] for form in FORMS}
try:
    for turn in range(turns):
        for form in random.sample(sorted(FORMS), len(FORMS)):
            got[form].append(run(form))
finally:
    shutil.rmtree(work)
results = []
for form, runs in got.items():
    seconds = [r["repaired"] for r in runs]
    r = {"form": form, "ranks": ranks, "turns": turns, "seconds": round(median(seconds), 4), "seconds_95": [round(s, 4) for s in interval(seconds)]}
    line = "%-5s %d ranks: %.3f s from the kill to the repaired world (95 %%: %.3f to %.3f)" % (form, ranks, r["seconds"], *r["seconds_95"])
    if form != "raw":
        ratio = [a["repaired"] / b["repaired"] for a, b in zip(runs, got["raw"])]
        r["of_raw"], r["of_raw_95"] = round(median(ratio), 3), [round(x, 3) for x in interval(ratio)]
        r["back_seconds"] = round(median([x["back"] for x in runs]), 4)
        line += ", %.2f of the raw one (%.2f to %.2f); all data back after %.3f s" % (r["of_raw"], *r["of_raw_95"], r["back_seconds"])
    results.append(r)
    print(line, flush=True)
if "json" in told:
    with open(told["json"], "w") as f:
        json.dump({"bench": "back-repair", "results": results}, f, indent=1)
        f.write("\n")
