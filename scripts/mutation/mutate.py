"""Breaks a room's C files in one small place at a time and looks whether the unit tests notice.

A mutant that no test notices (survived) is a line that nobody would miss: a test is missing, or the line does nothing, or both say
the same. CONTRIBUTING.md tells what to do with it. Needs python3, gcov, and what the build needs.
"""
import argparse
import difflib
import fnmatch
import json
import os
import random
import sys
import time

sys.dont_write_bytecode = True
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
        self.base = None  # {object: bytes}

    def diff(self, m):
        lines = difflib.unified_diff(self.text.splitlines(), m.apply(self.text).splitlines(), self.name, self.name, "", "", 0, "")
        return "\n".join(list(lines)[3:])


def objects(made):
    out = {}
    for old, new in made.items():
        with open(new, "rb") as f:
            out[old] = f.read()
    return out


class Trial:
    def __init__(self, t, work):
        self.tree, self.work = t, work
        self.out = os.path.join(work, "mutant")

    def compile(self, f, text):
        source = self.out + ".c"
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        return self.tree.compile(f.name, source, self.out)

    def judge(self, f, m):
        """'broken', 'same', or (killed by whom or None, how many tests)."""
        if f.base is None:
            made = self.compile(f, f.text)
            if made is None:
                raise SystemExit("%s does not compile" % f.name)
            f.base = objects(made)
        made = self.compile(f, m.apply(f.text))
        if made is None:
            return "broken"
        if made and objects(made) == f.base:
            return "same"
        who = self.tree.who_comes(f.name, m.line)
        for i, t in enumerate(who):
            program = os.path.join(self.work, "program")
            if self.tree.link(t, made, program).returncode:
                return "broken"
            code, _ = self.tree.execute(t, program, 10 + 3 * t.seconds)
            if code not in (0, 77):
                return t.name + (" (hangs)" if code is None else ""), i + 1
        return None, len(who)


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


def trials(args, files, trial, rng):
    """(file, mutant, outcome…) of each mutant that counts."""
    if args.again:
        for f, m in again(files, args.again):
            verdict = trial.judge(f, m)
            if isinstance(verdict, tuple):
                yield f, m, verdict
        return
    for f, line in chosen(files, args.count, rng):
        places = [m for m in f.at[line]]
        rng.shuffle(places)
        rest = [m for n, ms in f.at.items() for m in ms if n != line]
        rng.shuffle(rest)
        for m in (places + rest)[:TRIES]:
            verdict = trial.judge(f, m)
            if isinstance(verdict, tuple):
                yield f, m, verdict
                break


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--room", required=True, help="a folder of src/, or several: lib,store")
    p.add_argument("--count", type=int, default=25, help="mutants that count (25)")
    p.add_argument("--seed", type=int, help="the same seed, the same mutants; by default another one each time")
    p.add_argument("--files", default="*", help="only files whose name matches, such as 'retention.c' or 'levels*'")
    p.add_argument("--without", default="^$", metavar="REGEX", help="leave tests of such names out: what is then killed would be anyway")
    p.add_argument("--again", metavar="JSON", help="try the survivors of this report once more")
    p.add_argument("--json", metavar="FILE", help="write a report")
    p.add_argument("--jobs", type=int, default=1, help="for building; mutants are tried one at a time")
    p.add_argument("--build", metavar="DIR", help="a finished build of these sources, only read, in place of one of our own")
    p.add_argument("--work", default="build-mutate", help="where the tree of its own is (build-mutate)")
    args = p.parse_args()
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1, 1000000)
    began, work = time.time(), os.path.join(source, args.work)
    t = tree.Tree(source, work, args.build and os.path.abspath(args.build), args.room.split(","), args.without, args.jobs, say)
    t.make()
    t.look()
    names = sorted(n for n in t.entries if not n.endswith(NOT_CODE) and "testing" not in n and "powercut" not in n)
    files = [File(t.tree, n) for n in names if any(fnmatch.fnmatch(x, args.files) for x in (os.path.basename(n), n, n.split("/", 2)[-1]))]
    clear()
    print("room %s, seed %d: %d lines of %d files, %d unit tests" % (args.room, seed, sum(len(f.at) for f in files), len(files),
                                                                     len(t.tests)), flush=True)
    report = {"room": args.room, "seed": seed, "count": args.count, "mutants": []}
    killed = equal = 0
    equals = read_equals(os.path.join(os.path.dirname(os.path.abspath(__file__)), "equal.txt"))
    for f, m, (who, tests) in trials(args, files, Trial(t, work), random.Random(seed)):
        outcome = "killed" if who else "equal" if as_equal(f, m) in equals else "survived"
        killed += outcome == "killed"
        equal += outcome == "equal"
        report["mutants"].append({"file": f.name, "line": m.line, "kind": m.kind, "outcome": outcome,
                                  "by": who, "tests": tests, "diff": f.diff(m)})
        clear()
        if who:
            print("killed   %s:%d (%s) by %s" % (f.name, m.line, m.kind, who), flush=True)
        else:
            print("%-8s %s:%d (%s) after %s\n%s" % (outcome, f.name, m.line, m.kind, "%d tests" % tests if tests else
                                                      "nothing: no unit test comes there", f.diff(m)), flush=True)
        say("%d of %d, %d killed" % (len(report["mutants"]), args.count, killed))
        report["killed"], report["equal"], report["counted"] = killed, equal, len(report["mutants"])
        if args.json:
            with open(args.json, "w", encoding="utf-8") as out:
                json.dump(report, out, indent=1)
    clear()
    n = len(report["mutants"])
    print("room %s, seed %d: %d of %d killed (%.0f %%)%s, %.0f s" % (
        args.room, seed, killed, n, 100 * killed / max(n, 1),
        "; %d of those that were not are known to be equal: without them %.0f %%" % (equal, 100 * killed / max(n - equal, 1)) if equal else "",
        time.time() - began))
    return 0


if __name__ == "__main__":
    sys.exit(main())
