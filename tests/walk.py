#!/usr/bin/env python3
"""The figure of a generation's walk in docs/architecture.md agrees with the sources, and the walk stays short.

usage: walk.py SOURCE_DIR

A line of the figure is a function and its file; deeper lines are called by the one above that is less deep, by that file's functions
or through a level's table. Counted over the whole figure: a return is going back from a callee's file to its caller's file with
something still to come there; a climb is a call into a part of src/lib that stands above the caller's, or marked ^, from work that was
handed down as a table of functions."""
import pathlib
import re
import sys

MOST_RETURNS, MOST_CLIMBS = 32, 13
PARTS = ["data", "engine", "levels", "session", "start", "restart", "run", "api"]

source = pathlib.Path(sys.argv[1])
lib = source / "src/lib"
text = (source / "docs/architecture.md").read_text()
figure = text[text.index("<!-- walk -->"):text.index("<!-- end of walk -->")]
bad, returns, climbs, stops, files = [], 0, 0, 0, set()


def part(file):
    return PARTS.index(file.split("/")[0])


def calls(caller, function, callee):
    """Does the caller's file call the function, itself or by a table of the callee's?"""
    here, there = (lib / caller).read_text(), (lib / callee).read_text()
    if re.search(r"\b%s\(" % function, here):
        return True
    in_table = re.search(r"\.(\w+) = %s\b" % function, there)
    if in_table:
        return re.search(r"\bsk_level_%s\(" % in_table.group(1), here)
    return re.search(r"sk_offwork_ops \w+ = \{[^}]*\b%s\b" % function, there) and re.search(r"->ops->%s\b" % function, here)


stack = []
for line in figure.splitlines():
    if re.match(r" ?\d", line):
        stack = []  # another thread, or another time: nothing is returned to
        continue
    m = re.match(r"( +)(\w+) +(\S+\.c)( +\^)?", line)
    if not m:
        continue
    depth, function, file, up = len(m.group(1)), m.group(2), m.group(3), m.group(4)
    stops += 1
    files.add(file)
    if not re.search(r"^(?!\s).*\b%s\(" % function, (lib / file).read_text(), re.M):
        bad.append(f"{file} has no function {function}")
    while stack and stack[-1][0] >= depth:
        left = stack.pop()
        returns += bool(stack) and stack[-1][1] != left[1]
    if stack:
        caller = stack[-1][1]
        if caller != file and not calls(caller, function, file):
            bad.append(f"{caller} does not call {function} of {file}")
        climbs += bool(up) or part(file) > part(caller)
    stack.append((depth, file))

said = re.search(r"(\d+) stops in (\d+) files with (\d+) returns and (\d+) climbs", text)
counted = (stops, len(files), returns, climbs)
if not said or tuple(map(int, said.groups())) != counted:
    bad.append("the text is to say: %d stops in %d files with %d returns and %d climbs" % counted)
if stops < 30:
    bad.append("no figure was found")
if returns > MOST_RETURNS or climbs > MOST_CLIMBS:
    bad.append(f"the walk has {returns} returns and {climbs} climbs; {MOST_RETURNS} and {MOST_CLIMBS} are allowed")
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
