#!/usr/bin/env python3
"""Archives beside gzip, zstd and xz, which get all files of a set as one stream (tar), on sets that are made anew: the ratio of each, what
our archive leaves against `zstd -19 --long=27` (gain; the default and `--level best`), processor time against `zstd -3` and `zstd -19`,
files that alone come out larger than through gzip -6 or `zstd -3 --long=27`, and archives that build on another one against
`zstd --patch-from`. Everything is restored and compared. Ends with 1 when something came back otherwise than it was.
usage: score.py BUILD_DIR [part=seen|scored] [set=NAME,…] [runs=N] [best=0] [files=0] [previous=0] [slow=0] [json=FILE]
runs: of what is quick, the least counts; best, files, previous, slow=0: without `--level best`, single files, pairs of sets, and the slow
peers (zstd -19, xz -9)."""
import filecmp
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
told = dict(a.split("=", 1) for a in sys.argv[2:])
wanted, runs = told.get("set", "").split(",") if told.get("set") else None, int(told.get("runs", 3))
with_best, with_files, with_previous, with_slow = (told.get(k, "1") != "0" for k in ("best", "files", "previous", "slow"))
saikai, maker = build + "/src/cli/saikai", build + "/bench/archive_sets"
SMALL = 64 << 10


def run(command, cwd=None):
    """Its processor seconds, those of its children with them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if r.returncode:
        sys.exit("%s: %s" % (" ".join(command), r.stderr))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(times, command, cwd=None):
    return min(run(command, cwd) for _ in range(times))


def size(path):
    return os.path.getsize(path)


def peers(tar, out):
    """Of each: bytes and processor seconds."""
    how = {"gzip -6": ["gzip", "-6", "-k", "-f", tar],
           "zstd -3": ["zstd", "-q", "-f", "-3", "--single-thread", tar, "-o", out],
           "zstd -3 --long": ["zstd", "-q", "-f", "-3", "--long=27", "--single-thread", tar, "-o", out]}
    if with_slow:
        how["zstd -19 --long"] = ["zstd", "-q", "-f", "-19", "--long=27", "--single-thread", tar, "-o", out]
        how["xz -9"] = ["xz", "-9", "-k", "-f", "-T1", tar]
    got = {}
    for name, command in how.items():
        seconds = least(runs if name.startswith("zstd -3") else 1, command)
        made = {"g": tar + ".gz", "x": tar + ".xz"}.get(name[0], out)
        got[name] = (size(made), seconds)
        os.remove(made)
    return got


def create(folder, out, options=()):
    if os.path.exists(out):
        os.remove(out)
    seconds = run([saikai, "archive", "create", "-q", "--no-sync", *options, "-o", out, "."], folder)
    return size(out), seconds


def create_least(folder, out, options=(), times=runs):
    got = [create(folder, out, options) for _ in range(times)]
    return got[0][0], min(seconds for _, seconds in got)


def comes_back(archive, folder, work):
    back = work + "/back"
    shutil.rmtree(back, ignore_errors=True)
    seconds = run([saikai, "archive", "extract", "-q", "--no-sync", "-o", back, archive])
    names = sorted(os.listdir(folder))
    same = names == sorted(os.listdir(back)) and not any(filecmp.cmpfiles(folder, back, names, shallow=False)[1:])
    shutil.rmtree(back)
    return same, seconds


def single_files(folder, work):
    """How many there are, how many are larger than by a peer, and the least gain over the better one."""
    count = larger = 0
    worst = math.inf
    for name in sorted(os.listdir(folder)):
        path, out, plain = folder + "/" + name, work + "/one.ska", work + "/one"
        if size(path) <= SMALL:
            continue
        run([saikai, "archive", "create", "-q", "--no-sync", "-o", out, name], folder)
        run(["sh", "-c", 'gzip -6 <"$0" >"$1"', path, plain])
        best = size(plain)
        run(["zstd", "-q", "-f", "-3", "--long=27", "--single-thread", path, "-o", plain])
        gain = min(best, size(plain)) / size(out)
        os.remove(out)
        count += 1
        larger += gain < 1
        worst = min(worst, gain)
    return {"files": count, "larger": larger, "worst": round(worst, 3)}


def pairs(folder, later, tar, tar_later, alone, work):
    sets = work + "/sets"
    os.makedirs(sets)
    create(folder, sets + "/a.ska")
    first = ["--previous", sets + "/a.ska"]
    same, seconds_same = create_least(folder, sets + "/b.ska", first)
    ours, seconds = create_least(later, sets + "/c.ska", first)
    _, seconds_alone = create_least(later, work + "/alone.ska")
    good = comes_back(sets + "/b.ska", folder, work)[0] and comes_back(sets + "/c.ska", later, work)[0]
    r = {"unchanged_percent": round(100 * same / size(tar), 3), "unchanged_time": round(seconds_same / alone, 2),
         "time_over_alone": round(seconds / seconds_alone, 2), "restored": good}
    if with_slow:
        run(["zstd", "-q", "-f", "-19", "--long=27", "--single-thread", "--patch-from=" + tar, tar_later, "-o", work + "/patch"])
        r["gain_over_patch"] = round(size(work + "/patch") / ours, 3)
    shutil.rmtree(sets)
    return r


def make(name, step, folder):
    os.makedirs(folder)
    run([maker, name, str(step)], folder)
    tar = folder + ".tar"
    run(["tar", "--sort=name", "--mtime=@0", "-cf", tar, "-C", folder, "."])
    return tar


def score(name, kind, part, work):
    folder = work + "/now"
    tar = make(name, 0, folder)
    raw, found = size(tar), peers(tar, work + "/out")
    bytes_ours, seconds = create_least(folder, work + "/ours.ska")
    good, back = comes_back(work + "/ours.ska", folder, work)
    r = {"set": name, "kind": kind, "part": part, "bytes": raw, "ratio": round(raw / bytes_ours, 4), "restored": good,
         "time_over_zstd3": round(seconds / found["zstd -3"][1], 2), "seconds": round(seconds, 3), "seconds_back": round(back, 3),
         "peers": {p: {"ratio": round(raw / n, 4), "seconds": round(t, 3)} for p, (n, t) in found.items()}}
    r["gain_over_quick"] = round(min(found["gzip -6"][0], found["zstd -3 --long"][0]) / bytes_ours, 4)
    if with_slow:
        r["gain"] = round(found["zstd -19 --long"][0] / bytes_ours, 4)
    if with_best:
        n, t = create(folder, work + "/best.ska", ("--level", "best"))
        r["best"] = {"ratio": round(raw / n, 4), "seconds": round(t, 3)}
        good = comes_back(work + "/best.ska", folder, work)[0]
        r["restored"] = r["restored"] and good
        if with_slow:
            r["best"]["gain"] = round(min(found["zstd -19 --long"][0], found["xz -9"][0]) / n, 4)
            r["best"]["time_over_zstd19"] = round(t / found["zstd -19 --long"][1], 2)
    if with_files:
        r["single"] = single_files(folder, work)
    if with_previous:
        later = work + "/later"
        r["previous"] = pairs(folder, later, tar, make(name, 1, later), seconds, work)
        r["restored"] = r["restored"] and r["previous"]["restored"]
    return r


columns = ("set", "part", "MiB", "gzip -6", "zstd -3", "zstd -19", "xz -9", "ours", "gain", "time", "best", "gain", "time", "larger", "same%", "patch", "time")
widths = (10, 6, 5, 7, 7, 8, 7, 7, 6, 5, 7, 6, 5, 6, 6, 6, 5)


def line(values):
    print(" ".join(str(v).rjust(w) if i > 1 else str(v).ljust(w) for i, (v, w) in enumerate(zip(values, widths))), flush=True)


def show(r):
    def of(peer):
        return "%.2f" % r["peers"][peer]["ratio"] if peer in r["peers"] else "-"
    best, one, before = r.get("best", {}), r.get("single"), r.get("previous", {})
    line((r["set"], r["part"], "%.1f" % (r["bytes"] / 2**20), of("gzip -6"), of("zstd -3 --long"), of("zstd -19 --long"), of("xz -9"),
          "%.3f" % r["ratio"], r.get("gain", "-"), r["time_over_zstd3"], best.get("ratio", "-"), best.get("gain", "-"),
          best.get("time_over_zstd19", "-"), "%d/%d" % (one["larger"], one["files"]) if one else "-", before.get("unchanged_percent", "-"),
          before.get("gain_over_patch", "-"), before.get("time_over_alone", "-")))


def mean(values):
    values = [v for v in values if v]
    return round(math.exp(sum(map(math.log, values)) / len(values)), 3) if values else None


def summary(title, of):
    s = {"part": title, "sets": len(of), "gain": mean(r.get("gain") for r in of), "gain_over_quick": mean(r["gain_over_quick"] for r in of),
         "least_over_quick": min(r["gain_over_quick"] for r in of), "time_over_zstd3": mean(r["time_over_zstd3"] for r in of),
         "most_time": max(r["time_over_zstd3"] for r in of), "best_gain": mean(r.get("best", {}).get("gain") for r in of),
         "gain_over_patch": mean(r.get("previous", {}).get("gain_over_patch") for r in of)}
    print("%s, %d sets, geometric mean: gain over zstd -19 --long=27 %s; over the better of gzip -6 and zstd -3 --long=27 %s (least %s); time %s × zstd -3's (most %s); "
          "--level best over the better of zstd -19 --long=27 and xz -9 %s; --previous over zstd -19 --patch-from %s"
          % (title, s["sets"], s["gain"], s["gain_over_quick"], s["least_over_quick"], s["time_over_zstd3"], s["most_time"], s["best_gain"], s["gain_over_patch"]))
    return s


results = []
print("ratios; gain: over zstd -19 --long=27, of `best` over the better one of it and xz -9; time: processor time over that of zstd -3, of `best` over\n"
      "that of zstd -19 --long=27; larger: single files above 64 KiB that are larger than through gzip -6 or zstd -3 --long=27; with --previous: what an\n"
      "unchanged set takes in percent, the next one's gain over zstd -19 --patch-from, and its time over that without. zstd -3 has --long=27 here.")
line(columns)
for text in subprocess.run([maker, "list"], capture_output=True, text=True, check=True).stdout.splitlines():
    name, kind, part = text.split()
    if (wanted and name not in wanted) or told.get("part", part) != part:
        continue
    work = tempfile.mkdtemp(prefix="saikai-score-")
    try:
        results.append(score(name, kind, part, work))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    show(results[-1])
print()
means = [summary(part, of) for part in ("seen", "scored") if (of := [r for r in results if r["part"] == part])]
if told.get("json"):
    with open(told["json"], "w") as f:
        json.dump({"sets": results, "means": means}, f, indent=1)
wrong = [r["set"] for r in results if not r["restored"]]
if wrong:
    sys.exit("not restored as they were: " + ", ".join(wrong))
