#!/usr/bin/env python3
"""How long a job takes to begin and to end with a service on each node, and without, and what that time is made of: medians of runs that
alternate.
usage: setup.py RUNS SAIKAI VICTIM RANKS [ARGUMENTS OF saikai run...]   (see setup.sh)
Prints one JSON line, all in milliseconds. Parts, one after the other: saikai run until it starts the MPI's launcher (prepare), until the
program begins (launch), until its MPI_Init is over (init), both on rank 0, and until saikai run has heard of all ranks, if that is later (hear);
together they are the set-up. heard: from the program's begin until all ranks were heard, however far MPI is. whole: until saikai run has ended.
added…: the median over the pairs of what one run with services takes longer than the one without beside it."""
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

runs, saikai, victim, ranks, more = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
PARTS = ["prepare", "launch", "init", "hear"]
MARKS = {"started": r"saikai: start 1: ", "heard": r"all [0-9]+ ranks have been heard", "services": r"through ([0-9]+) services of nodes",
         "times": r"main ([0-9.]+) init ([0-9.]+)"}


def read(stream, seen, text):
    for line in stream:
        now = time.monotonic()
        text.append(line)
        for name, pattern in MARKS.items():
            found = re.search(pattern, line)
            if found and name not in seen:
                seen[name] = (now, found)


def one(service):
    seen, text = {}, []
    begun = time.monotonic()
    r = subprocess.Popen([saikai, "run", "-v", "-n", str(ranks), "--set", "backbone.service=" + service, *more, "--", victim, "seconds=0.1"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                         env={**os.environ, "VICTIM_TIMES": "1"})
    reader = threading.Thread(target=read, args=(r.stderr, seen, text))
    reader.start()
    try:
        code = r.wait(timeout=1200)
    except subprocess.TimeoutExpired:
        r.kill()
        code = -1
    ended = time.monotonic()
    reader.join()
    if code or set(seen) != set(MARKS) or (service == "on" and ranks > 1) != (int(seen["services"][1][1]) > 0):
        sys.exit("a run failed: " + "".join(text)[-2000:])
    main, init = (float(x) for x in seen["times"][1].groups())
    started, heard = seen["started"][0], seen["heard"][0]
    return {"prepare": started - begun, "launch": main - started, "init": init - main, "hear": max(0, heard - init),
            "heard": heard - main, "setup": max(heard, init) - begun, "until_init": init - begun, "whole": ended - begun - 0.1}


def median(values):
    return round(1000 * statistics.median(values), 1)


taken = {"off": [], "on": []}
for service in taken:
    one(service)  # what is read for the first time
load = os.getloadavg()[0]
for i in range(runs):
    for service in sorted(taken, reverse=bool(i % 2)):
        taken[service].append(one(service))
result = {"ranks": ranks, "runs": runs, "load": round((load + os.getloadavg()[0]) / 2, 1)}
for service, v in taken.items():
    result[service] = {k: median(t[k] for t in v) for k in [*PARTS, "heard", "setup", "whole"]}
for k in ["setup", "until_init", "whole"]:
    result["added_" + k] = median(on[k] - off[k] for on, off in zip(taken["on"], taken["off"]))
print(json.dumps(result))
