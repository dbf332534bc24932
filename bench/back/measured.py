"""What the benchmarks of recovery have in common: the median of what was measured, its interval, and the processes of a job's ranks."""
import glob


def median(v):
    s = sorted(v)
    return (s[(len(s) - 1) // 2] + s[len(s) // 2]) / 2


def interval(v):
    """Of the median, with 95 %, by the order of what was measured."""
    s, n = sorted(v), len(v)
    out = max(0, int((n - 1.96 * n ** 0.5) / 2))
    return s[out], s[n - 1 - out]


def numbers(work):
    """The process of each rank, as far as it has said so."""
    found = {}
    for f in glob.glob(work + "/pid.*"):
        try:
            found[int(f.rsplit(".", 1)[1])] = int(open(f).read())
        except ValueError:
            pass
    return found
