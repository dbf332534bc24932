#!/usr/bin/env python3
"""Takes apart what one checkpoint costs NPB's CG, as Table 4 of the Cuckoo paper does: one exchange of the ranks, with what they wait for each other (`sync`: they exchange
something at each candidate here, so that a short run gets to the cut), the copy of the state into memory and what belongs to it (`dump`), and, with messages
logged, the cut of the log when the generation is complete (`gc`). Each as of the rank where it is longest (bench/back/parts.c), the median over the turns.
usage: parts.py BUILD_DIR [class=A] [ranks=2,4,8,16,32] [turns=5] [every=8] [json=FILE]"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from measured import median  # noqa: E402

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
size, turns, every = told.get("class", "A"), int(told.get("turns", 5)), told.get("every", "8")
ranks = [int(n) for n in told.get("ranks", "2,4,8,16,32").split(",")]
work = tempfile.mkdtemp()


def run(protocol, n):
    for name in os.listdir(work):
        shutil.rmtree(os.path.join(work, name), ignore_errors=True)
    environment = dict(os.environ, SAIKAI_STORE_PREFIX=work + "/store", SAIKAI_STORE_LOCAL=work + "/local", SAIKAI_STORE_FSYNC="no",
                       SAIKAI_SCHEDULE_EVERY=every, SAIKAI_SCHEDULE_FIRST="no", SAIKAI_SCHEDULE_POLL="1ms", OMPI_MCA_mpi_yield_when_idle="1")
    command = [build + "/src/cli/saikai", "run", "--recovery", "process=in-place", "--protocol", protocol, "-n", str(n), "--",
               build + "/bench/bench_parts_openmpi", size]
    r = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=work)
    words = [line.split() for line in r.stderr.splitlines() if line.startswith("parts: ")]
    if r.returncode or "verified" not in r.stdout or len(words) != 1:
        sys.exit("%s: %s%s" % (" ".join(command), r.stdout, r.stderr))
    got = dict(zip(words[0][1::2], (float(w) for w in words[0][2::2])))
    if protocol == "logging" and not got["cuts"]:
        sys.exit("%s: the log was not cut" % " ".join(command))
    return {"sync": got["sync"] / max(got["exchanges"], 1), "dump": got["dump"] / max(got["saved"], 1), "gc": got["gc"] / max(got["cuts"], 1), "saved": got["saved"]}


results = []
try:
    for protocol in ("coordinated", "logging"):
        for n in ranks:
            got = [run(protocol, n) for _ in range(turns)]
            r = {"protocol": protocol, "class": size, "ranks": n, "turns": turns, **{what: median([g[what] for g in got]) for what in got[0]}}
            results.append(r)
            print("%-11s %2d ranks, CG class %s: sync %.1e s, dump %.1e s, gc %.1e s; %d saved" % (protocol, n, size, r["sync"], r["dump"], r["gc"], r["saved"]), flush=True)
finally:
    shutil.rmtree(work)
if "json" in told:
    with open(told["json"], "w") as f:
        json.dump({"bench": "back-parts", "results": results}, f, indent=1)
        f.write("\n")
