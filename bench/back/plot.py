#!/usr/bin/env python3
"""Draws what npb.py measured as the paper on Cuckoo FTMPI draws its Figures 7 and 8: the time of a kernel against the number of processes, as it is and
under each parallel FT protocol.
usage: plot.py FILE.json OUT_DIR      leaves OUT_DIR/paper-back-KERNEL.svg for each kernel that was measured with two numbers of ranks or more"""
import json
import math
import os
import sys

FORMS = {"plain": ("as it is", "#16191d"), "layer": ("the layer alone", "#8cbf6a"), "coordinated": ("coordinated", "#3c78b4"), "logging": ("logging", "#d9822b")}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 400, 70, 30, 104, 60


def step(high):
    p = 10 ** math.floor(math.log10(high))
    return next(s for s in (p / 10, p / 5, p / 2, p) if high / s <= 8)


def series(results, kernel):
    """By form: (ranks, seconds, least, most), the last two of the interval of the median."""
    out = {form: [] for form in FORMS}
    for r in sorted((r for r in results if r["kernel"] == kernel), key=lambda r: r["ranks"]):
        plain, factor = r["plain_wall_seconds"], lambda percent: 1 + percent / 100
        if r["ranks"] not in (n for n, *_ in out["plain"]):
            out["plain"].append((r["ranks"], plain, plain, plain))
        out[r["form"]].append((r["ranks"], plain * factor(r["wall_percent"]), *(plain * factor(p) for p in r["wall_95"])))
    return {form: points for form, points in out.items() if points}


def draw(kernel, size, lines):
    ranks = [n for n, *_ in lines["plain"]]
    high = max(most for points in lines.values() for *_, most in points) * 1.05
    low, wide = math.log2(ranks[0]), math.log2(ranks[-1] / ranks[0])

    def x(n, shift=0):
        return LEFT + 24 + (math.log2(n) - low) / wide * (WIDTH - LEFT - RIGHT - 48) + shift

    def y(seconds):
        return HEIGHT - BOTTOM - seconds / high * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           f'font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">', '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="24" y="32" font-size="19" font-weight="bold" fill="#16191d">{kernel.upper()}, class {size}</text>',
           '<text x="24" y="54" font-size="14" fill="#555d67">seconds, by the number of processes; bars: the median with 95 %</text>']
    at = 0
    while at <= high:
        out += [f'<line x1="{LEFT}" y1="{y(at):.1f}" x2="{WIDTH - RIGHT}" y2="{y(at):.1f}" stroke="#e3e6ea"/>',
                f'<text x="{LEFT - 10}" y="{y(at) + 5:.1f}" text-anchor="end" font-size="13" fill="#444b54">{at:g}</text>']
        at = round(at + step(high), 9)
    for n in ranks:
        out.append(f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 24}" text-anchor="middle" font-size="13" fill="#444b54">{n}</text>')
    for k, form in enumerate(lines):
        name, colour = FORMS[form]
        shift = 4 * (k - (len(lines) - 1) / 2)  # so that bars do not hide each other
        out += [f'<rect x="{24 + 150 * k}" y="70" width="13" height="13" fill="{colour}"/>',
                f'<text x="{43 + 150 * k}" y="81" font-size="13" fill="#444b54">{name}</text>']
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' +
                   " ".join(f"{x(n, shift):.1f},{y(t):.1f}" for n, t, *_ in lines[form]) + '"/>')
        for n, t, least, most in lines[form]:
            out += [f'<line x1="{x(n, shift):.1f}" y1="{y(least):.1f}" x2="{x(n, shift):.1f}" y2="{y(most):.1f}" stroke="{colour}"/>',
                    f'<circle cx="{x(n, shift):.1f}" cy="{y(t):.1f}" r="3.5" fill="{colour}"/>']
    return "\n".join([*out, "</svg>", ""])


path, folder = sys.argv[1:]
results = json.load(open(path))["results"]
for kernel in sorted({r["kernel"] for r in results}):
    lines = series(results, kernel)
    if len(lines["plain"]) < 2:
        continue
    with open(os.path.join(folder, f"paper-back-{kernel}.svg"), "w") as f:
        f.write(draw(kernel, next(r["class"] for r in results if r["kernel"] == kernel), lines))
