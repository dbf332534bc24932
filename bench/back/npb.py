#!/usr/bin/env python3
"""What recovery costs the kernels of the NAS Parallel Benchmarks while nothing fails (Table 3 and Figs. 7 and 8 of the Cuckoo paper): each kernel under
`saikai run` as it is, and with the layer of recovery in place alone, under `coordinated` and under `logging`, in turns that are shuffled. For each: the
median over the turns of what it adds, in percent, to the time of the kernel and to the processor time of all ranks, with the interval that holds the
median with 95 %. All of them save as Saikai decides; `plain` and `layer` save nothing, so that the layer alone makes the difference, with the spare that waits by default; `spareless` is the same without it, run only where forms= names it. saves=no: none
of them does, as in the paper's figures, so that each protocol alone makes it. forms=: these alone beside `plain`.
usage: npb.py BUILD_DIR [class=W] [kernels=ep,is,cg,mg] [ranks=2,4] [turns=9] [saves=no] [forms=plain,logging] [json=FILE]"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from measured import interval, median  # noqa: E402

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
size, turns = told.get("class", "W"), int(told.get("turns", 9))
kernels, ranks = told.get("kernels", "ep,is,cg,mg").split(","), [int(n) for n in told.get("ranks", "2,4").split(",")]
work = tempfile.mkdtemp()
nothing = {"SAIKAI_STORE_PREFIX": "none", "SAIKAI_SCHEDULE_EVERY": "1000000"}
saved = {"SAIKAI_STORE_PREFIX": work + "/store"} if told.get("saves") != "no" else nothing
in_place = ["--recovery", "process=in-place", "--protocol"]
FORMS = {
    "plain": ([], nothing),
    "layer": (in_place + ["coordinated"], nothing),
    "spareless": (in_place + ["coordinated", "--warm", "0"], nothing),
    "coordinated": (in_place + ["coordinated"], saved),
    "logging": (in_place + ["logging"], saved),
}
if saved is nothing:  # it is the same
    del FORMS["layer"]
if "forms" not in told:
    del FORMS["spareless"]
else:
    FORMS = {form: FORMS[form] for form in ["plain"] + [f for f in told["forms"].split(",") if f != "plain"]}


def run(kernel, n, form):
    options, places = FORMS[form]
    for name in os.listdir(work):
        shutil.rmtree(os.path.join(work, name), ignore_errors=True)
    environment = dict(os.environ, SAIKAI_STORE_LOCAL=work + "/local", SAIKAI_STORE_FSYNC="no", OMPI_MCA_mpi_yield_when_idle="1", **places)
    if not options:  # mpirun is told this whenever the layer is wanted: it must not make the difference
        environment["SAIKAI_RUN_MPIRUN_ARGS"] = "--oversubscribe"
    command = [build + "/src/cli/saikai", "run", *options, "-n", str(n), "--", "%s/examples/npb_%s_openmpi" % (build, kernel), size]
    r = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=work)
    words = [line.split() for line in r.stderr.splitlines() if line.startswith(kernel + ": wall ")]
    if r.returncode or "verified" not in r.stdout or len(words) != 1:
        sys.exit("%s: %s%s" % (" ".join(command), r.stdout, r.stderr))
    return float(words[0][2]), float(words[0][4])


results = []
try:
    for kernel in kernels:
        for n in ranks:
            got = {form: [] for form in FORMS}
            for turn in range(turns):
                for form in random.sample(sorted(FORMS), len(FORMS)):
                    got[form].append(run(kernel, n, form))
            for form in list(FORMS)[1:]:
                r = {"kernel": kernel, "class": size, "ranks": n, "form": form, "turns": turns, "saves": saved is not nothing}
                for i, what in enumerate(("wall", "cpu")):
                    r["plain_%s_seconds" % what] = round(median([p[i] for p in got["plain"]]), 4)
                    added = [100 * (f[i] / p[i] - 1) for f, p in zip(got[form], got["plain"])]
                    r[what + "_percent"] = round(median(added), 2)
                    r[what + "_95"] = [round(x, 2) for x in interval(added)]
                results.append(r)
                print("%-2s class %s, %d ranks, %-11s adds %6.2f %% of wall time (95 %%: %.2f to %.2f), %6.2f %% of processor time (%.2f to %.2f); plain %.2f s"
                      % (kernel, size, n, form, r["wall_percent"], *r["wall_95"], r["cpu_percent"], *r["cpu_95"], r["plain_wall_seconds"]), flush=True)
finally:
    shutil.rmtree(work)
if "json" in told:
    with open(told["json"], "w") as f:
        json.dump({"bench": "back-npb", "results": results}, f, indent=1)
        f.write("\n")
