#!/usr/bin/env python3
"""How long a job takes to begin and to end with a service on each node, and without, and what that time is made of: medians of runs that
alternate.
usage: setup.py RUNS SAIKAI VICTIM RANKS [ARGUMENTS OF saikai run...]   (see setup.sh)
Prints one JSON line, all in milliseconds. Parts, one after the other: saikai run until it starts the MPI's launcher (prepare), until the
program begins (launch), until its MPI_Init is over (init), both on rank 0, and until saikai run has heard of all ranks, if that is later (hear);
together they are the set-up. heard: from the program's begin until all ranks were heard, however far MPI is. whole: until saikai run has ended.
added…: the median over the pairs of what one run with services takes longer than the one without beside it.
launcher_cpu, node_cpu: processor time of saikai run, and of the keepers and the service of a node (the mean over the nodes), until the job is set up.
On hosts of their own the nodes' times pass beside each other, so what services add there is the sum of what they add to these two: added_cpu. All processes
of a cluster in one machine share its processors, so there the clock says how busy these are, and this what would be waited for."""
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

runs, saikai, victim, ranks, more = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
LENGTH_S = max(0.4, 0.1 * ranks)  # of the program, which does nothing: so long that all are looked at while it runs
PARTS = ["prepare", "launch", "init", "hear"]
MARKS = {"started": r"saikai: start 1: ", "heard": r"all [0-9]+ ranks have been heard", "services": r"through ([0-9]+) services of nodes",
         "times": r"main ([0-9.]+) init ([0-9.]+)"}


def processor_s(pid):
    """Of all threads of a process so far, as the scheduler counts it; 0 when it is gone."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            total += int(open(path).read().split()[0])
        except (OSError, IndexError):
            pass
    return total / 1e9


def link_of(pid):
    """What the keepers and services of a job have in their environment, and no others."""
    try:
        for word in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"):
            if word.startswith(b"SAIKAI_KEEPER_LINK="):
                return word
    except OSError:
        pass
    return None


def daemons(run):
    """The keepers and services of the job of this saikai run, on all nodes: their processes are below this host's."""
    children = open(f"/proc/{run}/task/{run}/children").read().split()
    link = next((found for found in map(link_of, children) if found), None)
    pids = [path.split("/")[2] for path in glob.glob("/proc/[0-9]*/comm") if comm(path) == "saikaid\n"]
    return [pid for pid in pids if link and link_of(pid) == link]


def comm(path):
    try:
        return open(path).read()
    except OSError:
        return ""


def nodes_of(pids):
    return len({os.readlink(f"/proc/{pid}/ns/uts") for pid in pids})


def read(stream, seen, text):
    for line in stream:
        now = time.monotonic()
        text.append(line)
        for name, pattern in MARKS.items():
            found = re.search(pattern, line)
            if found and name not in seen:
                seen[name] = (now, found)


def used_until_set_up(run, seen):
    """Waits for that, 20 minutes at most."""
    until = time.monotonic() + 1200
    while not {"heard", "times"} <= set(seen) and os.path.exists(f"/proc/{run}/exe") and time.monotonic() < until:
        time.sleep(0.002)
    try:
        launcher, pids = processor_s(run), daemons(run)
        return launcher, sum(map(processor_s, pids)) / nodes_of(pids)
    except (OSError, ZeroDivisionError):
        return 0, 0


def one(service):
    seen, text = {}, []
    begun = time.monotonic()
    r = subprocess.Popen([saikai, "run", "-v", "-n", str(ranks), "--set", "backbone.service=" + service, *more, "--", victim, f"seconds={LENGTH_S}"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                         env={**os.environ, "VICTIM_TIMES": "1"})
    reader = threading.Thread(target=read, args=(r.stderr, seen, text))
    reader.start()
    launcher_cpu, node_cpu = used_until_set_up(r.pid, seen)
    try:
        code = r.wait(timeout=1200)
    except subprocess.TimeoutExpired:
        r.kill()
        code = -1
    ended = time.monotonic()
    reader.join()
    if code or not node_cpu or set(seen) != set(MARKS) or (service == "on" and ranks > 1) != (int(seen["services"][1][1]) > 0):
        sys.exit("a run failed: " + "".join(text)[-2000:])
    main, init = (float(x) for x in seen["times"][1].groups())
    started, heard = seen["started"][0], seen["heard"][0]
    return {"prepare": started - begun, "launch": main - started, "init": init - main, "hear": max(0, heard - init),
            "heard": heard - main, "setup": max(heard, init) - begun, "until_init": init - begun, "whole": ended - begun - LENGTH_S,
            "launcher_cpu": launcher_cpu, "node_cpu": node_cpu}


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
    result[service] = {k: median(t[k] for t in v) for k in [*PARTS, "heard", "setup", "whole", "launcher_cpu", "node_cpu"]}
    for t in v:
        t["cpu"] = t["launcher_cpu"] + t["node_cpu"]
for k in ["setup", "until_init", "whole", "cpu"]:
    result["added_" + k] = median(on[k] - off[k] for on, off in zip(taken["on"], taken["off"]))
print(json.dumps(result))
