"""Prints the lines of a bench.json as a table: what, how, measured (median of its runs), limit."""
import json
import statistics
import sys

groups = {}
rows = [("bench", "mpi", "ranks", "measured", "limit", "")]
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        r = json.loads(line)
        kind = r["bench"]
        if kind == "calls":
            value, limit, unit = r["ns_per_call"], r["limit_ns"], "ns a call when nothing is due"
        elif kind == "blocked":
            value, limit = r["ratio"], r["limit_ratio"]
            unit = "x memcpy: program held up by a checkpoint of %d MiB a rank" % r["mib_per_rank"]
        elif kind == "restart":
            value, limit = r["ratio"], r["limit_ratio"]
            unit = "x reading the bytes: restart of %d MiB a rank" % r["mib_per_rank"]
        elif kind == "init":
            value, limit, unit = r["init_ms"], "", "ms in saikai_init"
        elif kind == "changes":
            value, limit = r["wait_cpu_ratio"], r["limit_ratio"]
            unit = "x a full checkpoint of %d MiB, processor time: %s written" % (r["mib_per_rank"], r["written"])
        elif kind == "tracking":
            value, limit = r["slowdown_percent"], r["limit_percent"]
            unit = "%% slower between checkpoints every 60 s, %s tracked (at most %.2f %%)" % (
                r["program"], r["slowdown_percent_high"])
        elif kind == "stop":
            value, limit = r["wait_ms"], r["limit_ms"] if r["written meanwhile"] != "everything" else ""
            unit = "ms held up by %d MiB, %s written meanwhile (a copy: %.1f ms)" % (
                r["mib_per_rank"], r["written meanwhile"], r["copy_wait_ms"])
        else:
            continue
        key = (kind, r.get("mpi", ""), str(r["ranks"]), str(limit), unit)
        groups.setdefault(key, []).append(value)
for (kind, mpi, ranks, limit, unit), values in groups.items():
    rows.append((kind, mpi, ranks, "%.2f" % statistics.median(values), limit, unit))
widths = [max(len(row[i]) for row in rows) for i in range(5)]
for row in rows:
    print("  ".join(cell.ljust(w) for cell, w in zip(row, widths)) + "  " + row[5])
