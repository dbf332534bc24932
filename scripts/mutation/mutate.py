"""Breaks a room's C files in one small place at a time and looks whether the unit tests notice.

A mutant that no test notices (survived) is a line that nobody would miss: a test is missing, or the line does nothing, or both say
the same. CONTRIBUTING.md tells what to do with it. Needs python3, gcov, and what the build needs.
"""
import argparse
import collections
import concurrent.futures
import difflib
import fnmatch
import json
import os
import queue
import random
import sys
import threading
import time

sys.dont_write_bytecode = True
import lines  # noqa: E402
import mutants  # noqa: E402
import tree  # noqa: E402

NOT_CODE = ("_test.c", "_corpus.c", "_fuzz.c", "_bench.c", "_testing.c")
TRIES = 12  # mutants that do not compile or change nothing, before another line is taken


def say(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
    else:
        sys.stderr.write(text + "\n")
    sys.stderr.flush()


def clear():
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


class File:
    def __init__(self, root, name):
        self.name, self.path = name, os.path.join(root, name)
        with open(self.path, encoding="utf-8") as f:
            self.text = f.read()
        self.at = mutants.mutants(self.text)
        self.base, self.lock = None, threading.Lock()  # {object: bytes}

    def diff(self, m):
        lines = difflib.unified_diff(self.text.splitlines(), m.apply(self.text).splitlines(), self.name, self.name, "", "", 0, "")
        return "\n".join(list(lines)[3:])


def contents(path):
    with open(path, "rb") as f:
        return f.read()


class Verdict:
    """killed by whom (None: by nobody), of how many tests that come to the line, and of how many others nobody knows."""

    def __init__(self):
        self.by, self.asked, self.unasked = None, 0, 0


class Trials:
    """What all that are on trial at the same time share."""

    def __init__(self, t, known, longest):
        self.tree, self.lines, self.longest = t, known, longest
        self.kills = collections.Counter()  # {(test, file)}

    def near(self, t, name):
        """How likely it is that this test is the one: it is beside the file, or of the same name, or has found others in it."""
        stem = os.path.splitext(os.path.basename(name))[0]
        own, where = os.path.basename(t.source), os.path.dirname(name)
        weight = 40 if own in (stem + "_test", stem + "_fuzz") else 12 if stem in own.split("_") else 1
        same = os.path.dirname(t.source) == where
        weight *= 6 if same else 2 if t.source.split("/")[:2] == name.split("/")[:2] else 1
        return weight * (1 + 3 * self.kills[t, name])

    def order(self, name):
        """The tests, so that the one that fails comes early, and what takes long comes late."""
        def key(t):
            seconds = t.seconds if t.seconds is not None else 60 if t.is_long else 4
            return (max(seconds, 0.2) + 0.5) / self.near(t, name)
        return sorted((t for t in self.tree.tests if os.path.basename(name) in t.files), key=key)


class Trial:
    """One at a time."""

    def __init__(self, all_of_them):
        self.all, self.tree = all_of_them, all_of_them.tree
        self.place = tree.Place(self.tree)
        self.out = os.path.join(self.place.folder, "mutant")

    def compile(self, f, text):
        source = self.out + ".c"
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        return self.tree.compile(f.name, source, self.out)

    def fails(self, t, program):
        """Its name if the test fails with this program, and does not with its own, which is asked at once: the machine may be busy."""
        limit = 10 + 3 * t.seconds
        for _ in range(3):
            code, _ = self.place.execute(t, program, limit)
            if code in (0, 77):
                return None
            own, took = self.place.execute(t, t.command[0], 4 * limit)
            if own not in (0, 77):
                continue
            if code is not None or took < limit / 3:
                return t.name + (" (hangs)" if code is None else "")
            limit = 10 + 6 * took
        return None

    def judge(self, f, m):
        """'broken', 'same', or a verdict."""
        with f.lock:
            if f.base is None:
                made = self.compile(f, f.text)
                if made is None:
                    raise SystemExit("%s does not compile" % f.name)
                f.base = {old: contents(new) for old, new in made.items()}
        made = self.compile(f, m.apply(f.text))
        if made is None:
            return "broken"
        if made and {old: contents(new) for old, new in made.items()} == f.base:
            return "same"
        v, began, waiting = Verdict(), time.monotonic(), collections.deque(self.all.order(f.name))
        while waiting:
            t = waiting.popleft()
            if self.all.longest and time.monotonic() - began > self.all.longest:
                v.unasked += 1
                continue
            if self.all.lines.is_busy(t): # another one finds out where it comes to: its turn is later
                waiting.append(t)
                time.sleep(0.05)
                continue
            if not self.all.lines.comes(t, f.name, m.line, self.place):
                continue
            if self.tree.link(t, made, self.place.program, ["-Wl,--strip-debug"]).returncode:
                return "broken"
            v.asked += 1
            v.by = self.fails(t, self.place.program)
            if v.by:
                self.all.kills[t, f.name] += 1
                break
        return v


def read_equals(path):
    """{(file, the lines taken out, the lines put in)} that were looked at and cannot be told apart: 'file | old | new | why' in each line."""
    found = set()
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = [x.strip() for x in line.split(" | ")]
            if len(parts) != 4 or not all(parts):
                raise SystemExit("%s:%d: 'file | old | new | why' is expected" % (path, number))
            found.add(tuple(parts[:3]))
    return found


def as_equal(f, m):
    lines = f.diff(m).split("\n")
    return (f.name, " ".join(x[1:].strip() for x in lines if x[:1] == "-"), " ".join(x[1:].strip() for x in lines if x[:1] == "+"))


def chosen(files, count, rng):
    """One place each on `count` lines, equally far apart in all that can be changed: so each file has its share."""
    lines = [(f, n) for f in files for n in sorted(f.at)]
    if not lines:
        raise SystemExit("nothing to change in these files")
    start = rng.random()
    for i in range(count):
        yield lines[int((start + i) * len(lines) / count) % len(lines)]


def places_of(args, files, rng):
    """The chosen lines: of all rooms together, or as many of each."""
    if not args.each:
        yield from chosen(files, args.count, rng)
        return
    rooms = args.room.split(",")
    for i, room in enumerate(rooms):
        yield from chosen([f for f in files if f.name.startswith("src/%s/" % room)], (args.count + i) // len(rooms), rng)


def again(files, path):
    """The survivors of an earlier report, wherever their lines are now."""
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    by_name = {f.name: f for f in files}
    for r in report["mutants"]:
        f = by_name.get(r["file"])
        if r["outcome"] != "survived" or not f:
            continue
        near = [m for ms in f.at.values() for m in ms if f.diff(m).split("\n")[1:] == r["diff"].split("\n")[1:]]
        if near:
            yield f, min(near, key=lambda m: abs(m.line - r["line"]))


def candidates(args, files, rng):
    """Lists of (file, mutant): the first of a list that compiles and changes something is the one."""
    if args.again:
        yield from ([x] for x in again(files, args.again))
        return
    for f, line in places_of(args, files, rng):
        places = [m for m in f.at[line]]
        rng.shuffle(places)
        rest = [m for n, ms in f.at.items() for m in ms if n != line]
        rng.shuffle(rest)
        yield [(f, m) for m in (places + rest)[:TRIES]]


def as_before(path, args, seed):
    """The report of a run that was ended early, or a new one."""
    new = {"room": args.room, "seed": seed, "count": args.count, "each": args.each, "mutants": []}
    if not path or args.again or not os.path.exists(path):
        return new
    with open(path, encoding="utf-8") as f:
        old = json.load(f)
    return old if all(old.get(k) == new[k] for k in ("room", "seed", "count", "each")) else new


def verdicts(lists, trials, jobs):
    """(file, mutant, verdict), as they come in."""
    idle = queue.SimpleQueue()
    for _ in range(jobs):
        idle.put(Trial(trials))

    def one(tries):
        trial = idle.get()
        try:
            for f, m in tries:
                verdict = trial.judge(f, m)
                if isinstance(verdict, Verdict):
                    return f, m, verdict
            return None
        finally:
            idle.put(trial)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, x) for x in lists]):
            if done.result():
                yield done.result()


def told(f, m, v, outcome):
    if outcome == "killed":
        return "killed   %s:%d (%s) by %s" % (f.name, m.line, m.kind, v.by)
    tests = "%d tests" % v.asked if v.asked else "nothing: no unit test comes there"
    others = ", %d more were not asked for want of time" % v.unasked if v.unasked else ""
    return "%-8s %s:%d (%s) after %s%s\n%s" % (outcome, f.name, m.line, m.kind, tests, others, f.diff(m))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--room", required=True, help="a folder of src/, or several: lib,store")
    p.add_argument("--count", type=int, default=25, help="mutants that count (25)")
    p.add_argument("--each", action="store_true", help="as many of each room; else each has its share by its lines")
    p.add_argument("--seed", type=int, help="the same seed, the same mutants; by default another one each time")
    p.add_argument("--files", default="*", help="only files whose name matches, such as 'retention.c' or 'levels*'")
    p.add_argument("--without", default="^$", metavar="REGEX", help="leave tests of such names out: what is then killed would be anyway")
    p.add_argument("--again", metavar="JSON", help="try the survivors of this report once more")
    p.add_argument("--json", metavar="FILE", help="write a report; one of the same seed that was ended early is gone on with")
    p.add_argument("--jobs", type=int, default=1, help="how much is built, and how many mutants are tried, at the same time")
    p.add_argument("--longest", type=float, metavar="SECONDS",
                   help="who has outlived so many seconds of tests has survived: the rate is then the least that it can be")
    p.add_argument("--build", metavar="DIR", help="a finished build of these sources, only read, in place of one of our own")
    p.add_argument("--work", default="build-mutate", help="where the tree of its own is (build-mutate)")
    args = p.parse_args()
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1, 1000000)
    began, work = time.time(), os.path.join(source, args.work)
    t = tree.Tree(source, work, args.build and os.path.abspath(args.build), args.room.split(","), args.without, args.jobs, say)
    t.make()
    known = lines.Lines(t, say)
    names = sorted(n for n in t.entries if not n.endswith(NOT_CODE) and "testing" not in n and "powercut" not in n)
    files = [File(t.tree, n) for n in names if any(fnmatch.fnmatch(x, args.files) for x in (os.path.basename(n), n, n.split("/", 2)[-1]))]
    clear()
    print("room %s, seed %d: %d lines of %d files, %d unit tests" % (args.room, seed, sum(len(f.at) for f in files), len(files),
                                                                     len(t.tests)), flush=True)
    report = as_before(args.json, args, seed)
    killed, equal, in_haste = report.get("killed", 0), report.get("equal", 0), 0
    equals = read_equals(os.path.join(os.path.dirname(os.path.abspath(__file__)), "equal.txt"))
    known_ones = {(r["file"], r["diff"]) for r in report["mutants"]}
    lists = [x for x in candidates(args, files, random.Random(seed)) if not any((f.name, f.diff(m)) in known_ones for f, m in x)]
    random.Random(seed).shuffle(lists) # what is known when it is ended early is no part of the rooms, but of all
    for f, m, v in verdicts(lists, Trials(t, known, args.longest), args.jobs):
        outcome = "killed" if v.by else "equal" if as_equal(f, m) in equals else "survived"
        killed += outcome == "killed"
        equal += outcome == "equal"
        in_haste += outcome == "survived" and v.unasked > 0
        report["mutants"].append({"file": f.name, "line": m.line, "kind": m.kind, "outcome": outcome,
                                  "by": v.by, "tests": v.asked, "unasked": v.unasked, "diff": f.diff(m)})
        clear()
        print(told(f, m, v, outcome), flush=True)
        say("%d of %d, %d killed, %.0f s" % (len(report["mutants"]), args.count, killed, time.time() - began))
        report["killed"], report["equal"], report["counted"] = killed, equal, len(report["mutants"])
        if args.json:
            with open(args.json, "w", encoding="utf-8") as out:
                json.dump(report, out, indent=1)
    clear()
    n = len(report["mutants"])
    print("room %s, seed %d: %d of %d killed (%.0f %%)%s%s, %.0f s" % (
        args.room, seed, killed, n, 100 * killed / max(n, 1),
        "; %d of those that were not are known to be equal: without them %.0f %%" % (equal, 100 * killed / max(n - equal, 1)) if equal else "",
        "; %d were not shown to all tests that might see them" % in_haste if in_haste else "", time.time() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
