"""Which unit test comes to which line. A test is run once with the room's objects counting their lines, when somebody asks for the
first time; gcov then tells of one file at a time. What is known is kept until the sources of the room or the test change."""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import threading

import tree

EXIT_C = """/* What a process has come to is also written when it leaves by _exit, or by a signal that it raises. */
#include <unistd.h>
void __gcov_dump(void);
void __gcov_reset(void);
void __real__exit(int) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}
int __real_raise(int number);
int __wrap_raise(int number);
int __wrap_raise(int number)
{
    __gcov_dump();
    __gcov_reset();
    return __real_raise(number);
}
"""


LONGEST = 900 # seconds that a test may take


class Lines:
    """t: a tree whose tests are built."""

    def __init__(self, t, say):
        self.tree, self.say = t, say
        self.folder = os.path.join(t.work, "counting")
        self.counting = {}  # {object: the one that counts}
        self.known = {}     # {(test, file): {line: times}}
        self.lock = threading.Lock()
        self.prepare()

    def prepare(self):
        t = self.tree
        sources = sorted(n for n in t.entries if not n.endswith(("_test.c", "_fuzz.c", "_bench.c", "_testing.c")))
        state = hashlib.sha256("".join(tree.digest(os.path.join(t.tree, n)) for n in sources).encode()).hexdigest()
        made = os.path.join(self.folder, "made.json")
        before = {}
        if os.path.exists(made):
            with open(made, encoding="utf-8") as f:
                before = json.load(f)
        if before.get("state") == state and before.get("rooms") == t.rooms:
            self.counting = before["objects"]
        else:
            self.count(sources)
            with open(made, "w", encoding="utf-8") as f:
                json.dump({"state": state, "rooms": t.rooms, "objects": self.counting}, f)
        mine = {self.of(test) for test in t.tests}
        for d in os.listdir(self.folder):
            path = os.path.join(self.folder, d)
            if os.path.isdir(path) and path not in mine:
                shutil.rmtree(path, ignore_errors=True)
        for test in t.tests:
            self.told(test)

    def count(self, sources):
        self.say("compiling the room once more, to count lines")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

        def one(name):
            return self.tree.compile(name, os.path.join(self.tree.tree, name), os.path.join(self.folder, name.replace("/", "__")),
                                     ["-O1", "--coverage"])

        with concurrent.futures.ThreadPoolExecutor(self.tree.jobs) as pool:
            for objects in pool.map(one, sources):
                if objects is None:
                    raise SystemExit("the sources do not compile with counters")
                self.counting.update(objects)
        with open(os.path.join(self.folder, "exit.c"), "w", encoding="utf-8") as f:
            f.write(EXIT_C)
        tree.must(["cc", "-O1", "-c", "exit.c", "-o", "exit.o"], cwd=self.folder)

    def of(self, test):
        """The folder of what is known of this very program."""
        return os.path.join(self.folder, "%s-%s" % (test.name, test.digest[:16]))

    def told(self, test):
        """Has it been run? Then test.seconds is known; below 0: nothing can be learnt from it."""
        path = os.path.join(self.of(test), "told.json")
        if test.seconds is None and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                test.seconds = json.load(f)["seconds"]
        return test.seconds is not None

    def run(self, test, place):
        if self.told(test):
            return
        into = self.of(test)
        shutil.rmtree(into, ignore_errors=True)
        os.makedirs(into)
        seconds, program = -1, os.path.join(place.folder, test.name)
        # only objects that the test has anyway
        traced = self.tree.link(test, {}, program, ["-Wl,-t,-t"]).stdout
        has = set(re.findall(r"libsk_(\w+)\.a[()]+([\w.-]+\.o)", traced))
        direct = {os.path.normpath(os.path.join(test.folder, w)) for w in test.link if w.endswith(".o")}
        objects = {a: b for a, b in self.counting.items() if a in direct or
                   (self.tree.is_of_room(a) and (re.search(r"/sk_(\w+)\.dir/", a).group(1), os.path.basename(a)) in has)}
        done = self.tree.link(test, objects, program, ["--coverage", "-Wl,--strip-debug", "-Wl,--wrap=_exit", "-Wl,--wrap=raise",
                                                       os.path.join(self.folder, "exit.o")])
        if done.returncode:
            self.say("%s cannot be linked to count lines: left out\n%s" % (test.name, done.stdout[-500:]))
        else:
            code, took = place.execute(test, program, LONGEST, {"GCOV_PREFIX": into, "GCOV_PREFIX_STRIP": "99"})
            os.unlink(program)
            if code == 0:
                seconds = took
            elif code != 77:
                self.say("%s fails without any mutant (%s): left out" % (test.name, code))
        with open(os.path.join(into, "told.json"), "w", encoding="utf-8") as f:
            json.dump({"seconds": seconds}, f)
        test.seconds = seconds

    def is_busy(self, test):
        """Somebody runs it just now, to know."""
        return test.seconds is None and test.lock.locked()

    def lines(self, test, name, place):
        """{line: how often} of a file, as this test comes there."""
        with test.lock:
            if (test, name) not in self.known:
                self.run(test, place)
                self.known[test, name] = self.ask(test, name) if test.seconds >= 0 else {}
            return self.known[test, name]

    def ask(self, test, name):
        into, lines = self.of(test), {}
        for made in self.counting.values():
            stem = os.path.basename(made)[:-len(".o")]
            if not stem.startswith(name.replace("/", "__") + ".") or not os.path.exists(os.path.join(into, stem + ".gcda")):
                continue
            notes = os.path.join(into, stem + ".gcno")
            if not os.path.exists(notes):
                os.symlink(os.path.join(self.folder, stem + ".gcno"), notes)
            for line in tree.run(["gcov", "--json-format", "--stdout", stem + ".gcda"], cwd=into).stdout.splitlines():
                if line.startswith("{"):
                    self.add(json.loads(line), name, lines)
        return lines

    def add(self, told, name, lines):
        for f in told["files"]:
            if os.path.relpath(os.path.normpath(os.path.join(told["current_working_directory"], f["file"])), self.tree.tree) == name:
                for x in f["lines"]:
                    lines[x["line_number"]] = lines.get(x["line_number"], 0) + (x["count"] > 0)

    def comes(self, test, name, line, place):
        """Does the test come to a line? A line without code of its own counts with those around it."""
        if os.path.basename(name) not in test.files:
            return False
        lines = self.lines(test, name, place)
        near = [line] if line in lines else [max((n for n in lines if n < line), default=0), min((n for n in lines if n > line), default=0)]
        return any(lines.get(n) for n in near)
