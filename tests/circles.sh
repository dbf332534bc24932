#!/bin/sh
# No circle of files: inside a room, no two object files need each other, directly or by others. And all that they show to other
# files has a prefix: sk_, saikai_, or cli_ in the room cli.
# usage: circles.sh BUILD_DIR
set -eu
python3 - "$1" <<'END'
import collections, pathlib, subprocess, sys

bad = 0
libraries = sorted(pathlib.Path(sys.argv[1], "src").rglob("libsk_*.a"))
assert len(libraries) > 10, "no libraries of rooms are built"
for library in libraries:
    home, needs = {}, collections.defaultdict(set)
    for line in subprocess.run(["nm", "-A", library], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        kind, symbol, obj = words[-2], words[-1], words[0].split(":")[1]
        if kind in "TDBRVC":
            home[symbol] = obj
            if not symbol.startswith(("sk_", "saikai_", "cli_" if library.name == "libsk_cli.a" else "sk_")):
                print(f"{library.name}: {obj}: {symbol} has no prefix")
                bad = 1
        elif kind == "U":
            needs[obj].add(symbol)
    graph = {o: {home[s] for s in symbols if s in home} - {o} for o, symbols in needs.items()}
    order, low, stack = {}, {}, []

    def visit(v):
        global bad
        order[v] = low[v] = len(order)
        stack.append(v)
        for w in sorted(graph.get(v, ())):
            if w not in order:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == order[v]:
            part = stack[stack.index(v):]
            del stack[stack.index(v):]
            if len(part) > 1:
                print(f"{library.name}: {', '.join(sorted(part))} need each other")
                bad = 1

    for v in sorted(graph):
        if v not in order:
            visit(v)
sys.exit(bad)
END
