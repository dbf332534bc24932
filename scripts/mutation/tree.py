"""A tree of our own to break: a copy of the sources and its build, and the unit tests in it."""
import atexit
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time


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
    """A unit test: where it stands, how it is linked and run, and which files are in it."""

    def __init__(self, told, link, build):
        self.name, self.command, self.link = told["name"], told["command"], link
        self.folder = os.path.dirname(self.command[0])
        p = {x["name"]: x["value"] for x in told["properties"]}
        self.environment = dict(x.split("=", 1) for x in p.get("ENVIRONMENT", []))
        self.is_long = "sweep" in p.get("LABELS", []) or "fuzz" in p.get("LABELS", [])
        own = [w for w in link if w.endswith("/%s.c.o" % self.name)]
        self.source = os.path.join(os.path.relpath(self.folder, build), own[0].split(".dir/", 1)[1][:-len(".c.o")] if own else self.name)
        self.digest = digest(self.command[0])
        files = run(["nm", "-a", self.command[0]]).stdout
        self.files = set(re.findall(r" a (\S+\.c)$", files, re.M)) # by their last names
        self.seconds = None # that it takes, once it has been run
        self.lock = threading.Lock()


class Place:
    """Where one program at a time is made and run, with a /tmp of its own."""

    def __init__(self, t):
        self.folder = tempfile.mkdtemp(prefix="scratch-", dir=t.work)
        atexit.register(shutil.rmtree, self.folder, True)
        self.tmp, self.program = os.path.join(self.folder, "tmp"), os.path.join(self.folder, "program")
        os.mkdir(self.tmp)
        self.box = boxed(self.tmp, t.tree)

    def execute(self, test, program, limit, more=()):
        """What the test ended with (None: it did not end within the limit), and how long it took."""
        for d in os.listdir(self.tmp):
            path = os.path.join(self.tmp, d)
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


class Tree:
    """work: where all that is made goes; build: a finished build of the sources that is only read, or None: one is made of a copy."""

    def __init__(self, source, work, build, rooms, without, jobs, say):
        self.source, self.work, self.rooms, self.without, self.jobs, self.say = source, work, rooms, without, jobs, say
        self.is_own = build is None
        self.tree, self.build = (os.path.join(work, "tree"), os.path.join(work, "tree", "build")) if self.is_own else (source, build)
        self.tests, self.entries = [], {}
        os.makedirs(work, exist_ok=True)
        if self.is_own:
            os.makedirs(self.tree, exist_ok=True)
            self.copy()
            must(["cmake", "--preset", "dev"], cwd=self.tree) # as `make build` does: ccache has most of it
        self.read_commands()

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
        """(test, how it is linked, where) of the unit tests that see the room. ctest tells the command of a test only when it is built."""
        listed = json.loads(must(["ctest", "--test-dir", self.build, "-L", "^unit$", "--show-only=json-v1"]))["tests"]
        links = {}
        for d, _, files in os.walk(self.build):
            if "link.txt" in files:
                with open(os.path.join(d, "link.txt"), encoding="utf-8") as f:
                    links[os.path.basename(d)[:-len(".dir")]] = shlex.split(f.read()), os.path.relpath(d, self.build)
        for t in listed:
            link, where = links.get(os.path.basename(t["command"][0]) if "command" in t else t["name"], ((), ""))
            if any(self.is_of_room(w) for w in link) and not re.search(self.without, t["name"]):
                yield t, link, where

    def make(self):
        if self.is_own:
            self.say("building the unit tests that see %s" % ", ".join(self.rooms))
            # by what is below CMake's own front, which makes one target after the other
            targets = sorted({os.path.join(where, "all") for _, _, where in self.linked_tests()})
            must(["make", "-s", "-f", "CMakeFiles/Makefile2", "-j%d" % self.jobs, *targets], cwd=self.build)
        for t, link, _ in self.linked_tests():
            if "command" not in t:
                raise SystemExit("%s is not built in %s" % (t["name"], self.build))
            self.tests.append(Test(t, link, self.build))

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
            c[1:1] = ["-w", "-iquote", os.path.dirname(os.path.join(self.tree, name)), # the same program, wherever it is made
                      "-fmacro-prefix-map=%s=." % os.path.dirname(source)]
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
