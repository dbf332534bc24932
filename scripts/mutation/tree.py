"""A tree of our own to break: a copy of the sources and its build, and which unit test comes to which line."""
import atexit
import concurrent.futures
import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

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


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **more)


def must(command, **more):
    done = run(command, **more)
    if done.returncode:
        raise SystemExit("%s\nfailed: %s" % (done.stdout[-4000:], command if isinstance(command, str) else shlex.join(command)))
    return done.stdout


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def boxed(scratch, needed):
    """A command in front of a test that gives it a /tmp and /dev/shm of its own, and ends with it all that it started; empty when
    this machine does not allow it."""
    inside = 'mount --bind "$0" /tmp && mount -t tmpfs -o size=4g tmpfs /dev/shm && "$@"'
    box = ["unshare", "-mpf", "--kill-child", "--mount-proc", "sh", "-c", inside, scratch]
    return box if run(box + ["test", "-e", needed]).returncode == 0 else []


class Test:
    """A unit test: how it is linked and run, how long it takes, and which lines of the room it comes to."""

    def __init__(self, name, command, environment, link):
        self.name, self.folder, self.command, self.environment = name, os.path.dirname(command[0]), command, environment
        self.link = link
        self.seconds, self.lines = 0.0, {}


class Tree:
    """work: where all that is made goes; build: a finished build of the sources that is only read, or None: one is made of a copy."""

    def __init__(self, source, work, build, rooms, without, jobs, say):
        self.source, self.rooms, self.without, self.jobs, self.say = source, rooms, without, jobs, say
        self.is_own = build is None
        self.tree, self.build = (os.path.join(work, "tree"), os.path.join(work, "tree", "build")) if self.is_own else (source, build)
        self.cov = os.path.join(work, "counting")
        self.cache = os.path.join(work, "lines-%s.json.gz" % "-".join(rooms))
        self.tests, self.entries = [], {}
        os.makedirs(self.cov, exist_ok=True)
        if self.is_own:
            os.makedirs(self.tree, exist_ok=True)
            self.copy()
            must(["cmake", "--preset", "dev"], cwd=self.tree) # as `make build` does: ccache has most of it
        self.read_commands()
        self.scratch = tempfile.mkdtemp(prefix="scratch-", dir=work)
        atexit.register(shutil.rmtree, self.scratch, True)
        os.mkdir(os.path.join(self.scratch, "tmp"))
        self.box = boxed(os.path.join(self.scratch, "tmp"), self.tree)

    def copy(self):
        """What git knows and what is new; a file that is the same keeps its time, so that little is built again."""
        names = must(["git", "-C", self.source, "ls-files", "-co", "--exclude-standard", "-z"]).split("\0")
        wanted = {n for n in names if n and os.path.isfile(os.path.join(self.source, n))}
        for d, dirs, files in os.walk(self.tree):
            if d == self.tree and "build" in dirs:
                dirs.remove("build")
            for f in files:
                path = os.path.join(d, f)
                if os.path.relpath(path, self.tree) not in wanted:
                    os.unlink(path)
        for n in wanted:
            a, b = os.path.join(self.source, n), os.path.join(self.tree, n)
            if not os.path.exists(b) or digest(a) != digest(b):
                os.makedirs(os.path.dirname(b), exist_ok=True)
                shutil.copy(a, b)

    def read_commands(self):
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as f:
            for e in json.load(f):
                name = os.path.relpath(e["file"], self.tree)
                if name.split("/")[0] == "src" and name.split("/")[1] in self.rooms:
                    command = shlex.split(e["command"])
                    out = os.path.normpath(os.path.join(e["directory"], command[command.index("-o") + 1]))
                    self.entries.setdefault(name, []).append((out, command, e["directory"]))

    def linked_tests(self):
        """{test: how it is linked} of the unit tests that see the room. ctest tells the command of a test only when it is built."""
        listed = json.loads(must(["ctest", "--test-dir", self.build, "-L", "^unit$", "--show-only=json-v1"]))["tests"]
        links = {}
        for d, _, files in os.walk(self.build):
            if "link.txt" in files:
                with open(os.path.join(d, "link.txt"), encoding="utf-8") as f:
                    links[os.path.basename(d)[:-len(".dir")]] = shlex.split(f.read())
        for t in listed:
            link = links.get(os.path.basename(t["command"][0]) if "command" in t else t["name"])
            if link and any(self.is_of_room(w) for w in link) and not re.search(self.without, t["name"]):
                yield t, link

    def make(self):
        if self.is_own:
            self.say("building the unit tests that see %s" % ", ".join(self.rooms))
            targets = sorted({link[link.index("-o") + 1] for _, link in self.linked_tests()})
            must(["cmake", "--build", self.build, "-j%d" % self.jobs, "--target", *targets, "--", "--no-print-directory", "-s"])
        for t, link in self.linked_tests():
            if "command" not in t:
                raise SystemExit("%s is not built in %s" % (t["name"], self.build))
            p = {x["name"]: x["value"] for x in t["properties"]}
            self.tests.append(Test(t["name"], t["command"], dict(x.split("=", 1) for x in p.get("ENVIRONMENT", [])), link))

    def is_of_room(self, path):
        """Is it a room's library, or an object that becomes part of it?"""
        m = re.search(r"(?:^|/)(?:libsk_(\w+)\.a$|CMakeFiles/sk_(\w+)\.dir/)", path)
        return bool(m) and (m.group(1) or m.group(2)) in self.rooms

    def compile(self, name, source, out, flags=()):
        """{object that is replaced: its replacement} for each way in which the unit tests compile the file; None: an error."""
        replaced = {}
        for i, (old, command, folder) in enumerate(self.entries.get(name, [])):
            if not self.is_linked(old):
                continue
            new = "%s.%d.o" % (out, i)
            c = [w for w in command if w != "-Werror"]
            c[c.index("-o") + 1] = new
            c[c.index("-c") + 1] = source
            c = [w for w in c if w != "-g"] # it would tell mutants apart that are the same program
            if os.path.basename(c[0]) == "ccache": # it may give what was made elsewhere, and a mutant is compiled once
                del c[0]
            c[1:1] = ["-w", "-iquote", os.path.dirname(os.path.join(self.tree, name))]
            if subprocess.run(c + list(flags), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
                return None
            replaced[old] = new
        return replaced

    def is_linked(self, obj):
        if self.is_of_room(obj):
            return True
        return any(os.path.normpath(os.path.join(t.folder, w)) == obj for t in self.tests for w in t.link if w.endswith(".o"))

    def link(self, test, objects, out, flags=()):
        """A test with objects in place of those of the same source: named before the libraries, they are what the linker takes."""
        command, first, used = [], None, set()
        for w in test.link:
            at = os.path.normpath(os.path.join(test.folder, w))
            if first is None and w.endswith(".a"):
                first = len(command)
            command.append(objects.get(at, w) if w.endswith(".o") else w)
            used |= {at} & set(objects)
        command[first:first] = [new for old, new in objects.items() if old not in used and self.is_of_room(old)]
        command[command.index("-o") + 1] = out
        return run(command[:1] + list(flags) + command[1:], cwd=test.folder)

    def execute(self, test, program, limit, more=()):
        """What the test ended with (None: it did not end within the limit), and how long it took."""
        for d in os.listdir(os.path.join(self.scratch, "tmp")):
            path = os.path.join(self.scratch, "tmp", d)
            shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)
        env = dict(os.environ, **test.environment, **dict(more))
        began = time.monotonic()
        with tempfile.TemporaryFile() as out:
            p = subprocess.Popen(self.box + ["timeout", "-s", "KILL", str(int(limit) + 1), program] + test.command[1:], cwd=test.folder,
                                 env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
            try:
                code = p.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            p.wait()
        return code, time.monotonic() - began

    # ---- which test comes to which line ----

    def look(self):
        """Run each test once with the room's objects counting their lines. What is known of the same program is kept."""
        sources = [n for n in self.entries if not n.endswith(("_test.c", "_fuzz.c", "_bench.c", "_testing.c"))]
        state = hashlib.sha256("".join(digest(os.path.join(self.tree, n)) for n in sorted(sources)).encode()).hexdigest()
        known = {}
        if os.path.exists(self.cache):
            with gzip.open(self.cache, "rt") as f:
                known = json.load(f)
            known = known["tests"] if known["state"] == state else {}
        unknown = [t for t in self.tests if digest(t.command[0]) not in known]
        if unknown:
            self.count_objects(sources, state)
        for i, t in enumerate(unknown):
            self.say("looking which lines %s comes to (%d of %d)" % (t.name, i + 1, len(unknown)))
            found = self.look_at(t)
            if found:
                known[digest(t.command[0])] = found
                with gzip.open(self.cache + ".new", "wt") as f:
                    json.dump({"state": state, "tests": known}, f)
                os.replace(self.cache + ".new", self.cache)
        for t in self.tests:
            k = known.get(digest(t.command[0]))
            if k:
                t.seconds = k["seconds"]
                t.lines = {n: {int(a): c for a, c in lines.items()} for n, lines in k["lines"].items()}
        self.tests = sorted((t for t in self.tests if t.lines), key=lambda t: t.seconds)

    def count_objects(self, sources, state):
        made = os.path.join(self.cov, "made.json")
        flags = ["-O1", "--coverage"]
        self.counting = {}
        if os.path.exists(made):
            with open(made, encoding="utf-8") as f:
                before = json.load(f)
            if before["state"] == state:
                self.counting = before["objects"]
                return
        shutil.rmtree(self.cov, ignore_errors=True)
        os.makedirs(self.cov)

        def one(name):
            return self.compile(name, os.path.join(self.tree, name), os.path.join(self.cov, name.replace("/", "__")), flags)

        self.say("compiling the room once more, to count lines")
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for objects in pool.map(one, sources):
                if objects is None:
                    raise SystemExit("the sources do not compile with counters")
                self.counting.update(objects)
        with open(os.path.join(self.cov, "exit.c"), "w", encoding="utf-8") as f:
            f.write(EXIT_C)
        must(["cc", "-O1", "-c", "exit.c", "-o", "exit.o"], cwd=self.cov)
        with open(made, "w", encoding="utf-8") as f:
            json.dump({"state": state, "objects": self.counting}, f)

    def clear_counts(self):
        for f in os.listdir(self.cov):
            if f.endswith(".gcda"):
                os.unlink(os.path.join(self.cov, f))

    def look_at(self, test):
        program = os.path.join(self.cov, test.name)
        # only objects that the test has anyway
        traced = self.link(test, {}, program, ["-Wl,-t,-t"]).stdout
        has = set(re.findall(r"libsk_(\w+)\.a[()]+([\w.-]+\.o)", traced))
        direct = {os.path.normpath(os.path.join(test.folder, w)) for w in test.link if w.endswith(".o")}
        objects = {a: b for a, b in self.counting.items() if a in direct or
                   (self.is_of_room(a) and (re.search(r"/sk_(\w+)\.dir/", a).group(1), os.path.basename(a)) in has)}
        done = self.link(test, objects, program, ["--coverage", "-Wl,--wrap=_exit", "-Wl,--wrap=raise", os.path.join(self.cov, "exit.o")])
        if done.returncode:
            self.say("%s cannot be linked to count lines: left out\n%s" % (test.name, done.stdout[-500:]))
            return None
        self.clear_counts()
        code, seconds = self.execute(test, program, 900)
        os.unlink(program)
        if code == 77:
            return {"seconds": 0, "lines": {}}
        if code:
            self.say("%s fails without any mutant (%s): left out" % (test.name, code))
            return None
        lines = {}
        for f in sorted(os.listdir(self.cov)):
            if f.endswith(".gcda"):
                self.count(f, lines)
        return {"seconds": seconds, "lines": lines}

    def count(self, gcda, lines):
        told = run(["gcov", "--json-format", "--stdout", gcda], cwd=self.cov).stdout
        for line in told.splitlines():
            if not line.startswith("{"):
                continue
            told = json.loads(line)
            for f in told["files"]:
                name = os.path.relpath(os.path.normpath(os.path.join(told["current_working_directory"], f["file"])), self.tree)
                if name in self.entries:
                    into = lines.setdefault(name, {})
                    for x in f["lines"]:
                        into[x["line_number"]] = into.get(x["line_number"], 0) + (x["count"] > 0)

    def who_comes(self, name, line):
        """The tests that come to a line, the quickest first. A line without code of its own counts with those around it."""
        who = []
        for t in self.tests:
            lines = t.lines.get(name)
            if not lines:
                continue
            if line in lines:
                near = [line]
            else:
                near = [max((n for n in lines if n < line), default=0), min((n for n in lines if n > line), default=0)]
            if any(lines.get(n) for n in near):
                who.append(t)
        return who
