#!/usr/bin/env python3
"""Holds what README, CHANGELOG, docs and manual pages name against what is there: links, files, make targets, tests, commands with
their options, configuration keys with types and defaults, variables, functions, exit codes.
usage: words.py SOURCE BUILD SAIKAI"""
import glob, json, os, re, subprocess, sys

source, build, saikai = sys.argv[1:4]
problems = []


def problem(where, what):
    problems.append(f"{os.path.relpath(where, source) if os.path.isabs(where) else where}: {what}")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd="/")


markdown = sorted([f"{source}/README.md", f"{source}/CHANGELOG.md"] + glob.glob(f"{source}/docs/*.md"))
pages = sorted(glob.glob(f"{source}/docs/man/*.[1-8]") + glob.glob(f"{build}/docs/man/*.[1-8]"))
rendered = {}
if run("sh", "-c", "command -v mandoc").returncode == 0:
    for page in pages:
        text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=1000", page], capture_output=True, text=True, timeout=60,
                              cwd=os.path.dirname(page)).stdout
        rendered[page] = re.sub("(?s).\b", "", text)
everything = {path: read(path) for path in markdown}
everything.update(rendered)
if not rendered:
    print("mandoc was not found: the manual pages are not looked at")


def code_of(text):
    """What stands between backquotes or in blocks of code; in a manual page all of it."""
    blocks = re.findall(r"(?ms)^ *```[a-z]*\n(.*?)^ *```", text) + re.findall(r"(?m)^    +(\S.*)$", text)
    return blocks + re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", re.sub(r"(?ms)^ *```.*?^ *```", "", text))


# ---- links between the documents, with their headings
def anchors(path):
    found = set()
    for line in read(path).splitlines():
        if line.startswith("#"):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(words.replace(" ", "-"))
    return found


for path in markdown:
    for target in re.findall(r"\]\(([^)\s]+)\)", everything[path]):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = os.path.join(os.path.dirname(path), name) if name else path
        if not os.path.exists(there):
            problem(path, f"the link {target} leads nowhere")
        elif anchor and anchor not in anchors(there):
            problem(path, f"the link {target}: there is no such heading")

# ---- README leads to every document, names every command, and counts the lines of the example right
readme = everything[f"{source}/README.md"]
for path in markdown[:]:
    name = os.path.relpath(path, source)
    if name.startswith("docs/") and not name.startswith("docs/format-") and f"({name}" not in readme:
        problem("README.md", f"does not lead to {name}")
lines = read(f"{source}/examples/heat.c").count("/* saikai */\n")
if f"which can then also change its number of ranks | {lines} |" not in readme:
    problem("README.md", f"the heat solver has {lines} lines more")

# ---- files of the repository that are named
tracked = subprocess.run(["git", "-C", source, "ls-files"], capture_output=True, text=True, timeout=60)
if tracked.returncode == 0:
    files = set(tracked.stdout.split()) | {os.path.relpath(p, source) for p in glob.glob(f"{source}/tests/words/*")}
else:
    files = {os.path.relpath(os.path.join(d, f), source) for d, _, names in os.walk(source) for f in names if "/build" not in d}
folders = {os.path.dirname(f) for f in files}
folders |= {"/".join(f.split("/")[:n]) for f in folders for n in range(1, 9)}
rooms = ("", "src/", "src/archive/", "include/", "docs/", "tests/")
for path in markdown:
    for word in re.findall(r"[`(]((?:[\w.-]+/)+[\w.*-]*\.(?:c|h|sh|py|md|def|f90|cpp|hpp|txt)|(?:src|tests|docs|bench|examples|scripts|plugins)/[\w./-]*)[`)]",
                           everything[path]):
        word = word.rstrip("/").lstrip("./")
        if not any(room + word in files or room + word in folders for room in rooms) and not word.startswith("include/saikai/version"):
            if not glob.glob(os.path.join(source, word)) and word != "bench/paper_far.json":  # below the build directory
                problem(path, f"there is no file {word}")

# ---- targets of make
makefile = read(f"{source}/Makefile")
targets = set(re.findall(r"(?m)^([a-z0-9-]+):", makefile))
built = set(re.findall(r"(?m)^\.\.\. (\S+)", run("cmake", "--build", build, "--target", "help").stdout))
for path in markdown:
    for code in code_of(everything[path]) + re.findall(r"(?m)`make\n([a-z-]+)`", everything[path]):
        for target in re.findall(r"(?:^|\n|[;&|] )\s*make ([a-z][a-z0-9-]*)", code.replace("make\n", "make ")):
            if target not in targets and not (target.startswith("bench-") and target in built):
                problem(path, f"make {target}: there is no such target")
for target in re.findall(r"bench-[a-z-]+", makefile):
    if target not in targets and target not in built:
        problem("Makefile", f"make {target}: there is no such target")

# ---- tests
shown = json.loads(run("ctest", "--test-dir", build, "--show-only=json-v1").stdout)["tests"]
tests = {t["name"] for t in shown}
for t in shown:
    if not any(p["name"] == "TIMEOUT" and float(p["value"]) > 0 for p in t.get("properties", [])):
        problem("CMakeLists.txt", f"the test {t['name']} has no TIMEOUT")
for path in markdown:
    for pattern in re.findall(r"ctest [^`|]*-R '?([\w|*.]+)'?", everything[path]):
        if not any(re.search(pattern, t) for t in tests):
            problem(path, f"ctest -R {pattern}: there is no such test")
cases = set()
for path in glob.glob(f"{source}/src/**/*_test.c", recursive=True) + glob.glob(f"{source}/bench/*_test.c"):
    cases |= set(re.findall(r"(?m)^static void (?:test_)?(\w+)\(", read(path)))
for path in glob.glob(f"{source}/tests/**/*.sh", recursive=True):  # cases of a script
    cases |= set(re.findall(r"(?m)^(\w+)\(\) ?\{", read(path)))
mains = {os.path.basename(f)[:-2] for f in files if f.endswith((".c",))}
for path in markdown:
    text = everything[path]
    for word in re.findall(r"`(\w+(?:_test|_fuzz))`", text):
        if word not in tests and word not in mains:
            problem(path, f"there is no test {word}")
    if not path.endswith("trust.md"):
        continue
    for row in re.findall(r"(?m)^\| .* \|$", text):
        columns = row.split("|")
        if len(columns) < 5 or set(columns[1].strip()) == {"-"} or "how it is tested" in row or columns[1].strip() == "---":
            continue
        for word in re.findall(r"`([\w*.…]+)`", columns[2]):
            plain = word.rstrip("…*").removeprefix("test_")
            if word.isupper() or "." in word or word.startswith("SAIKAI") or word in ("nobody", "mpirun", "cmdline"):
                continue
            if word.endswith("*") and any(t.startswith(word[:-1]) for t in tests):
                continue
            if word in tests or any(t.rsplit("_", 1)[0] == word for t in tests) or word in mains:
                continue
            if plain in cases or (word.endswith("…") and any(c.startswith(plain) for c in cases)):
                continue
            problem(path, f"there is no test or case {word}: {columns[1].strip()[:60]}…")

# ---- commands and their options
commands = re.findall(r"(?m)^  ([a-z]+) ", run(saikai, "help").stdout.split("Commands:")[1])
verbs = ["create", "extract", "ls", "verify"]
for name in commands:
    if not re.search(rf"(?s)## Tools.*\bsaikai [^\n]*\b{name}\b.*## Limits", readme):
        problem("README.md", f"does not name the command {name}")
options = {}
for name in commands + [f"archive {v}" for v in verbs]:
    text = run(saikai, "help", *name.split()).stdout
    options[name] = set(re.findall(r"(?m)^ +(?:-\w, )?(--[a-z][a-z0-9-]*)", text)) | set(re.findall(r"(?m)^  (-\w)\b", text))
common = {"--config", "--set", "--help", "-h"}
for path, text in everything.items():
    shells = text if path in rendered else "\n".join(code_of(text))
    for line in re.sub(r"\\\n", " ", shells).splitlines():
        for part in re.split(r"[|;&]+ ", line):
            m = re.search(r"(?:^|[\s(`$])saikai(-archive)? ([a-z]+)((?: .*)?)$", part)
            if not m or (path in rendered and "$ " not in part):
                continue
            name, rest = ("archive", f" {m.group(2)}{m.group(3)}") if m.group(1) else (m.group(2), m.group(3))
            if name == "help":
                continue
            if name not in options:
                if path not in rendered and re.search(r"(^|\s)(--|-)\w", rest):
                    problem(path, f"saikai {name}: there is no such command")
                continue
            if name == "archive" and rest.split() and rest.split()[0] in verbs:
                name = f"archive {rest.split()[0]}"
            if name == "run":
                rest = re.split(r" -- | \./", rest)[0]
            for option in re.findall(r"(?<!\S)(--[a-z][a-z0-9-]*|-[a-zA-Z])", re.sub(r"'[^']*'", "''", rest)):
                if option not in options[name] | common and len(option) > 1:
                    problem(path, f"saikai {name} has no option {option}")
for page, text in rendered.items():
    base = os.path.basename(page)
    names = {"saikai-archive.1": [f"archive {v}" for v in verbs], "saikai-protect.1": ["protect", "rebuild"],
             "saikai-compress.1": ["compress", "decompress"], "saikai.1": []}.get(base)
    if names is None:
        m = re.fullmatch(r"saikai-([a-z]+)\.1", base)
        names = [m.group(1)] if m and m.group(1) in options and not read(page).startswith(".so") else []
    if not names:
        continue
    known = set().union(*(options[n] for n in names)) | common
    body = text.split("SEE ALSO")[0]
    said = set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", body))
    letters = set(re.findall(r"(?m)^ +(-\w)(?:[ ,]|$)", body))
    foreign = {"--bind-to", "--mca"}
    for option in sorted((said | letters) - known - foreign):
        problem(base, f"describes the option {option}, which {' and '.join(names)} do not have")
    for option in sorted(known - common - said):
        if option.startswith("--"):
            problem(base, f"does not describe {option}")
see = rendered.get(f"{build}/docs/man/saikai.1", "")
for name in commands:
    if see and f"saikai-{name}(1)" not in see:
        problem("saikai.1", f"does not name the page saikai-{name}(1)")
    if rendered and not any(os.path.basename(p) == f"saikai-{name}.1" for p in pages):
        problem("docs/man", f"there is no page for saikai {name}")
for page, text in rendered.items():
    for name in re.findall(r"\b(saikai[\w.-]*)\((\d)\)", text):
        if not any(os.path.basename(p) == f"{name[0]}.{name[1]}" for p in pages) and name[0] not in ("saikai_init", "saikai_finalize"):
            problem(page, f"refers to {name[0]}({name[1]}), which is not there")

# ---- configuration keys, with types and defaults, and variables of the environment
keys = {k["name"]: k for k in json.loads(run(saikai, "config", "--json").stdout)}
sections = {k.split(".")[0] for k in keys}
for path, text in everything.items():
    for section, key in re.findall(r"(?<![\w./$~-])(" + "|".join(sections) + r")\.([a-z][a-z_]*)(?![\w/.-]*\w)", text):
        if f"{section}.{key}" not in keys and key not in ("nc", "lmp", "sh", "h", "c", "md", "def"):
            problem(path, f"there is no key {section}.{key}")
conf = f"{build}/docs/man/saikai.conf.5"
if conf in rendered:
    text = read(conf)
    shown_keys, section = {}, ""
    for m in re.finditer(r"(?m)^\.Ss \[(\w+)\]|^\.It Ic (\w+)\n(.*)\n\((.*)\)$", text):
        if m.group(1):
            section = m.group(1)
        else:
            kind, _, default = m.group(4).rpartition("; default: ")
            shown_keys[f"{section}.{m.group(2)}"] = (kind, "" if default == "empty" else default)
    for name in sorted(set(keys) ^ set(shown_keys)):
        problem("saikai.conf(5)", f"{name} is in one of manual and program only")
    for name in sorted(set(keys) & set(shown_keys)):
        kind, default = shown_keys[name]
        if default != keys[name]["default"]:
            problem("saikai.conf(5)", f"{name}: default {default}, and {keys[name]['default']} in the program")
        kind = {"whole number": "integer", "number": "real", "yes or no": "yes|no", "time, or auto": "time|auto", "whole number, or auto": "integer|auto"}.get(kind, kind)
        if kind.removeprefix("one of: ").replace(", ", "|") != keys[name]["type"]:
            problem("saikai.conf(5)", f"{name}: {kind}, and {keys[name]['type']} in the program")
for path in markdown:  # tables of keys with their defaults, and "(`key`, 30 s)"
    for name, default in re.findall(r"(?m)^\| `([a-z]+\.[a-z_]+)` \| `?([^|`]+?)`? \|", everything[path]):
        if name in keys and default != keys[name]["default"] and not (default, keys[name]["default"]) == ("0", "0s"):
            problem(path, f"{name}: default {default}, and {keys[name]['default']} in the program")
    for name, number, unit in re.findall(r"`([a-z]+\.[a-z_]+)`,? \(?(\d+) (s|min|h)\b", everything[path]):
        if name in keys and keys[name]["default"] != number + unit:
            problem(path, f"{name}: {number} {unit}, and {keys[name]['default']} in the program")
for page, text in rendered.items():
    for name, number, unit in re.findall(r"\b([a-z]+\.[a-z_]+)[ \n]+\((\d+) (s|min|h)\)", text):
        if name in keys and keys[name]["default"] != number + unit:
            problem(page, f"{name}: {number} {unit}, and {keys[name]['default']} in the program")
variables = {k["environment"] for k in keys.values() if "environment" in k}
variables |= set(re.findall(r"SAIKAI_[A-Z0-9_]+", read(f"{source}/src/base/config/config_variables.def") + read(f"{source}/CMakeLists.txt")))
headers = "".join(read(p) for p in glob.glob(f"{source}/include/saikai/*"))
constants = set(re.findall(r"SAIKAI_[A-Z0-9_]+", headers)) | {f"SAIKAI_{n}" for n in re.findall(r"SAIKAI_ERROR\(\d+, (\w+)", headers)}
constants |= set(re.findall(r"SAIKAI_[A-Z0-9_]+", read(f"{source}/plugins/hdf5/saikai_hdf5.h")))
scripts = "".join(read(os.path.join(source, f)) for f in files if f.startswith(("tests/", "scripts/", "bench/", "src/", "CMake", "Makefile",
                  "cmake/")) and f.endswith((".sh", ".txt", ".c", "Makefile", ".cmake")) and not f.startswith("tests/words/"))
for path, text in everything.items():
    for name in set(re.findall(r"\bSAIKAI_[A-Z][A-Z0-9_]*\b", text)):
        if name in variables or name in constants or name in ("SAIKAI_SECTION_KEY", "SAIKAI_"):
            continue
        if not (name.startswith("SAIKAI_TEST_") or name.startswith("SAIKAI_BENCH_") or name == "SAIKAI_DATA") or name not in scripts:
            problem(path, f"{name} means nothing")

# ---- functions
of_components = read(f"{source}/include/saikai/component.h")  # what components have, and programs do not call
of_directives = read(f"{source}/include/saikai/directives.h")  # what saikaicc calls, and no program by itself
declared = set(re.findall(r"\b(saikai_\w+)\(", re.sub(r"(?s)/\*.*?\*/|//[^\n]*", "", headers.replace(of_components, "").replace(of_directives, "")))) - {"saikai_init_checked", "saikai_open_checked"}
with_handle = {name for name in declared if name.startswith("saikai_h_")}  # described as those without one
declared -= with_handle
for name in sorted(with_handle):
    if name.replace("_h_", "_") not in declared:
        problem("saikai/handle.h", f"{name} has no function without a handle")
page = f"{source}/docs/man/saikai.3"
named = set(re.findall(r"\.F[no] (saikai_\w+)", read(page)))
synopsis = set(re.findall(r"\.F[no] (saikai_\w+)", read(page).split(".Sh DESCRIPTION")[0]))
for name in sorted(declared - synopsis):
    problem("saikai(3)", f"{name} is not in the synopsis")
for name in sorted(declared - set(re.findall(r"\.F[no] (saikai_\w+)", read(page).split(".Sh DESCRIPTION")[1]))):
    problem("saikai(3)", f"{name} is not described")
for name in sorted((named | synopsis) - declared - with_handle - {"saikai_h_"}):
    problem("saikai(3)", f"{name} is declared nowhere")
module = "".join(read(p) for p in glob.glob(f"{source}/src/*/saikai.f90") + glob.glob(f"{source}/src/*/saikai_events.f90"))
of_fortran = set(re.findall(r"\bsaikai_\w+", " ".join(re.findall(r"(?m)^ *public ::((?:.*&\n)*.*)", module))))
part = read(page).split(".Ss Fortran")[1].split(".Sh ")[0]
without = set(re.findall(r"\.Fn (saikai_\w+)", part)) - {"saikai_error_text"}
for name in sorted((declared - {"saikai_error_text"} - of_fortran) ^ without):
    problem("saikai(3)", f"{name}: does Fortran have it? The module and the manual differ")
for name in sorted(of_fortran - declared):
    if name not in part:
        problem("saikai(3)", f"{name} of the Fortran module is not described")
filters = read(f"{source}/plugins/hdf5/saikai_hdf5.h")
for path, text in everything.items():
    for name in set(re.findall(r"\b(saikai_[a-z_]+)\b(?!\.(?:hpp|h|f90))", text)):
        if name in declared | with_handle or name.rstrip("_") in ("saikai_openmpi", "saikai_mpich", "saikai_hdf5", "saikai_fortran") or name.endswith("_"):
            continue
        if name == "saikai_directives" or re.search(rf"\b{name}\b", of_components + of_directives):
            continue
        if name in filters or name in built or re.search(rf"(?i)\b{name}\b", module) or name in ("saikai_status", "saikai_event", "saikai_type", "saikai_bound_kind"):
            continue
        problem(path, f"there is no {name}")

# ---- exit codes: those that the sources name, and no others; those of saikai run are all in its page
def numbers(path, pattern):
    return {int(n) for n in re.findall(pattern, read(f"{source}/{path}"))}


of_run = numbers("src/recovery/fault/fault.h", r"SK_RUN_\w+ = (\d+)")
of_tools = numbers("src/cli/cli.h", r"CLI_[A-Z]+ = (\d)[, ]")
of_library = numbers("include/saikai/saikai.h", r"SAIKAI_EXIT_\w+ (\d+)")
known_codes = of_run | of_tools | of_library | {128, 128 + 2, 128 + 15}  # and by a signal, such as INT and TERM
for page, text in rendered.items():
    m = re.search(r"(?s)EXIT STATUS\n(.*?)\n[A-Z]", text)
    if not m:
        if re.search(r"/saikai[^/]*\.1$", page) and not read(page).startswith(".so"):
            problem(page, "does not tell the exit codes")
        continue
    said = {int(n) for n in re.findall(r"(?<![\w.])(\d{1,3})(?![\w.]*\d)", m.group(1))}
    for code in sorted(said - known_codes):
        problem(page, f"exit code {code}?")
    needed = {0, 2} | (of_run if page.endswith(("/saikai-run.1", "/saikai.1")) else set())
    for code in sorted(needed - said):
        problem(page, f"does not tell the exit code {code}")
for code in sorted(of_run | {2}):
    if not re.search(rf"\b{code}\b", run(saikai, "help", "run").stdout.split("Exit code:")[1].split("Options:")[0]):
        problem("saikai help run", f"does not tell the exit code {code}")
for code in sorted(of_library):
    if not re.search(rf"\b{code}\b", read(f"{source}/docs/man/saikai.3")):
        problem("saikai(3)", f"does not tell the exit code {code}")

for line in problems:
    print(line)
print(f"{len(problems)} found" if problems else f"{len(everything)} documents: all that they name is there")
sys.exit(1 if problems else 0)
