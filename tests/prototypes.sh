#!/bin/sh
# A function is defined where its header says: what x.h declares stands in x.c, or in a file whose name begins with x_. A header for
# the neighbours of x.c alone, beside x.h, is x_y.h.
# usage: prototypes.sh SOURCE_DIR
set -eu
cd "$1"
python3 - <<'END_OF_PROGRAM'
import collections, pathlib, re, sys

def code(path):
    """The text without comments, strings, preprocessor lines and what stands in braces."""
    text = path.read_text(errors="replace")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", " ", text)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(\\.|[^'\\\n])*'", "' '", text)
    text = re.sub(r"^[ \t]*#(\\\n|[^\n])*", " ", text, flags=re.M)
    out, depth = [], 0
    for c in text:
        if c == "{":
            depth += 1
            out.append("{}" if depth == 1 else "")
        elif c == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            out.append(c)
    return "".join(out)

def names(text, end):
    """External functions of which a head ends in `end`."""
    found = []
    for m in re.finditer(r"\b((?:sk|cli)_\w+)\s*\(", text):
        at, depth = m.end(), 1
        while at < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        head = re.split(r"[;}]", text[: m.start()])[-1]
        rest = re.match(r"(\s*__attribute__\s*\(\(.*?\)\)\)?)*\s*(.)", text[at:], re.S)
        if rest and rest.group(2) == end and re.search(r"\w[\s*]*$", head) and not re.search(r"\b(static|typedef|return)\b|[=(]", head):
            found.append(m.group(1))
    return found

declared, defined = {}, {}
for path in sorted(pathlib.Path("src").rglob("*.h")):
    for name in names(code(path), ";"):
        declared.setdefault(name, path)
for path in sorted(pathlib.Path("src").rglob("*.c"), key=lambda p: (p.stem.endswith("_test"), p)): # a test may have one of its own in its place
    for name in names(code(path), "{"):
        defined.setdefault(name, path)
wrong = collections.defaultdict(list)
for name, header in declared.items():
    at = defined.get(name)
    if at and at.stem != header.stem and not at.stem.startswith(header.stem + "_") and not header.stem.startswith(at.stem + "_"):
        wrong[(str(header), str(at))].append(name)
for (header, at), which in sorted(wrong.items()):
    print(f"{header} declares what {at} defines: {', '.join(which)}")
assert len(declared) > 500 and len(defined) > 500, "cannot read the sources"
sys.exit(bool(wrong))
END_OF_PROGRAM
