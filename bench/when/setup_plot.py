#!/usr/bin/env python3
"""Draws what setup.py measured as stacked bars, one for each size of job: without services above, with them below.
usage: setup_plot.py TITLE OUT.svg NAME... <LINES OF JSON      (a name for each line)"""
import json
import sys

PARTS = {"prepare": ("saikai run", "#7f8c9b"), "launch": ("the MPI's launcher", "#3c78b4"), "init": ("MPI_Init", "#8cbf6a"),
         "hear": ("until all are heard", "#d9822b")}
WIDTH, LEFT, RIGHT, TOP, HIGH, APART, BOTTOM = 680, 150, 90, 104, 16, 50, 44


def step(high):
    p = 10 ** (len(str(int(high))) - 1)
    return next(s for s in (p / 4, p / 2, p, 2 * p, 5 * p) if high / s <= 8)


def draw(title, names, rows):
    high = max(sum(r[s][p] for p in PARTS) for r in rows for s in ("off", "on")) / 1000
    scale, low = (WIDTH - LEFT - RIGHT) / high, TOP + len(rows) * APART
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{low + BOTTOM}" viewBox="0 0 {WIDTH} {low + BOTTOM}" '
           f'font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">', '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="24" y="32" font-size="19" font-weight="bold" fill="#16191d">{title}</text>',
           '<text x="24" y="54" font-size="14" fill="#555d67">time until the job is set up; above: without services of nodes, below: with them</text>']
    at = 0
    while at <= high:
        x = LEFT + at * scale
        out += [f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{low}" stroke="#e3e6ea"/>',
                f'<text x="{x:.1f}" y="{low + 20}" text-anchor="middle" font-size="13" fill="#444b54">{at:g}</text>']
        at += step(high)
    out.append(f'<text x="{WIDTH - RIGHT + 12}" y="{low + 20}" font-size="13" fill="#444b54">s</text>')
    for k, (name, colour) in enumerate(PARTS.values()):
        out += [f'<rect x="{24 + 160 * k}" y="70" width="13" height="13" fill="{colour}"/>',
                f'<text x="{43 + 160 * k}" y="81" font-size="13" fill="#444b54">{name}</text>']
    for i, (name, row) in enumerate(zip(names, rows)):
        y = TOP + i * APART
        out.append(f'<text x="{LEFT - 12}" y="{y + HIGH * 1.4}" text-anchor="end" font-size="14" fill="#16191d">{name}</text>')
        for s in ("off", "on"):
            x = LEFT
            for part, (_, colour) in PARTS.items():
                w = row[s][part] / 1000 * scale
                out.append(f'<rect x="{x:.1f}" y="{y}" width="{w:.2f}" height="{HIGH}" fill="{colour}"/>')
                x += w
            out.append(f'<text x="{x + 8:.1f}" y="{y + HIGH * 0.8}" font-size="13" fill="#16191d">{(x - LEFT) / scale:.2f}</text>')
            y += HIGH + 3
    return "\n".join([*out, "</svg>", ""])


title, path, names = sys.argv[1], sys.argv[2], sys.argv[3:]
rows = [json.loads(line) for line in sys.stdin]
if len(rows) != len(names):
    sys.exit("a name is wanted for each line")
with open(path, "w", encoding="utf-8") as f:
    f.write(draw(title, names, rows))
