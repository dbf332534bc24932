#!/usr/bin/env python3
"""How long a job takes to begin and to end with a service on each node, and without: medians of runs that alternate.
usage: setup.py RUNS SAIKAI VICTIM RANKS [ARGUMENTS OF saikai run...]   (see setup.sh)
Prints one JSON line: until the program's MPI_Init was over on rank 0, and until `saikai run` had ended, in milliseconds."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

runs, saikai, victim, ranks, more = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]


def one(service):
    begun = time.monotonic()
    r = subprocess.run([saikai, "run", "-v", "-n", str(ranks), "--set", "backbone.service=" + service, *more, "--", victim, "seconds=0.1"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, env={**os.environ, "VICTIM_TIMES": "1"})
    ended = time.monotonic()
    found = re.search(r"main ([0-9.]+) init ([0-9.]+)", r.stderr)
    services = re.search(r"through ([0-9]+) services", r.stderr)
    if r.returncode or not found or not services or (service == "on") != (int(services[1]) > 0):
        sys.exit("a run failed: " + r.stderr[-2000:])
    return (float(found[2]) - begun) * 1000, (ended - begun - 0.1) * 1000


taken = {"off": [], "on": []}
for service in taken:
    one(service)  # what is read for the first time
for i in range(runs):
    for service in sorted(taken, reverse=bool(i % 2)):
        taken[service].append(one(service))
begin = {s: statistics.median(t[0] for t in v) for s, v in taken.items()}
whole = {s: statistics.median(t[1] for t in v) for s, v in taken.items()}
print(json.dumps({"ranks": ranks, "runs": runs, "init_off_ms": round(begin["off"], 1), "init_on_ms": round(begin["on"], 1),
                  "added_ms": round(begin["on"] - begin["off"], 1), "run_off_ms": round(whole["off"], 1), "run_on_ms": round(whole["on"], 1),
                  "run_added_ms": round(whole["on"] - whole["off"], 1)}))
