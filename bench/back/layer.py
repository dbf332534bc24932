#!/usr/bin/env python3
"""What the layer of recovery in place costs while nothing fails: the loops of CG and heat under `saikai run` with it and without it in
turns. For each: the median over the pairs of what the layer adds, in percent, to the time that passes and to the processor time of all ranks,
with the interval that holds the median with 95 %. Processor time says more on a machine that others use, too. protocol=logging: what the
layer costs with this protocol, for CG and a program like EP with candidates for checkpoints in each step.
usage: layer.py BUILD_DIR [pairs=N] [ranks=N] [seconds=S] [protocol=NAME] [json=FILE]"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from measured import interval, median  # noqa: E402

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
pairs, ranks, seconds = int(told.get("pairs", 15)), int(told.get("ranks", 2)), float(told.get("seconds", 2))
protocol = told.get("protocol")
program = build + "/bench/bench_layer_openmpi"
work = tempfile.mkdtemp()
# mpirun is told this whenever the layer is wanted: it must not make the difference
places = {"SAIKAI_STORE_PREFIX": work + "/store", "SAIKAI_STORE_LOCAL": work + "/local", "SAIKAI_STORE_FSYNC": "no"} if protocol else {"SAIKAI_STORE_PREFIX": "none"}
plain = dict(os.environ, SAIKAI_RUN_MPIRUN_ARGS="--oversubscribe", **places)


def run(with_layer, kernel, n, steps):
    wanted = ["--recovery", "process=in-place"] + (["--protocol", protocol] if protocol else [])
    command = [build + "/src/cli/saikai", "run"] + (wanted if with_layer else []) + ["-n", str(ranks), "--"]
    environment = dict(os.environ, **places) if with_layer else plain
    for name in os.listdir(work):
        shutil.rmtree(os.path.join(work, name), ignore_errors=True)
    r = subprocess.run(command + [program, kernel, str(n), str(steps)] + (["saved"] if protocol else []), capture_output=True, text=True, timeout=600, env=environment, cwd=work)
    words = r.stdout.split()
    if r.returncode or words[:1] != ["wall"]:
        sys.exit("%s: %s%s" % (" ".join(command), r.stdout, r.stderr))
    return float(words[1]), float(words[3])


results = []
try:
    for kernel, n in (("cg", 64), ("cg", 128), ("ep", 128)) if protocol else (("cg", 64), ("cg", 128), ("heat", 64), ("heat", 128)):
        steps = 20
        wall, _ = run(0, kernel, n, steps)
        steps = max(20, int(steps * seconds / wall))
        added = {"wall": [], "cpu": []}
        for pair in range(pairs):
            got = {}
            for with_layer in (0, 1) if pair % 2 else (1, 0):
                got[with_layer] = run(with_layer, kernel, n, steps)
            for i, what in enumerate(("wall", "cpu")):
                added[what].append(100 * (got[1][i] / got[0][i] - 1))
        r = {"kernel": kernel, "protocol": protocol or "none", "n": n, "ranks": ranks, "steps": steps, "pairs": pairs}
        for what, v in added.items():
            r[what + "_percent"] = round(median(v), 2)
            r[what + "_95"] = [round(x, 2) for x in interval(v)]
        results.append(r)
        print("%-4s %3d^3, %d ranks: the layer adds %6.2f %% of wall time (95 %%: %.2f to %.2f), %6.2f %% of processor time (%.2f to %.2f)"
              % (kernel, n, ranks, r["wall_percent"], *r["wall_95"], r["cpu_percent"], *r["cpu_95"]), flush=True)
finally:
    shutil.rmtree(work)
if "json" in told:
    with open(told["json"], "w") as f:
        json.dump({"bench": "back-layer", "results": results}, f, indent=1)
        f.write("\n")
