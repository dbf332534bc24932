#!/bin/sh
# The name of a form (of a codec, a redundancy scheme, a model …) stands in the table of its kind only: no other string of the
# sources is such a name, or a list of choices with one in it.
# usage: one_table.sh SAIKAI SOURCE_DIR
set -eu
saikai=$1
cd "$2"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$saikai" config --forms --json >"$tmp/forms.json"
python3 - "$tmp/forms.json" <<'END'
import collections, json, pathlib, re, sys

# words that are the name of a form and something else, too: where they are something else
other = {
    "file": ["src/reader/read_raw.c", "src/cli/store/verify.c", "src/cli/store/export_hdf5.c", "src/cli/store/info.c"],  # a file, a statement
    "host": ["src/store/owner/owner.c", "src/redundancy/keys.def", "src/store/event/", "src/cli/events/", "src/world/form/place.c"],  # a field; the usual rule, which the field's table names; a key of MPI_Info
    "process": ["src/store/owner/owner.c"],  # a field
    "store": ["src/cli/", "src/store/", "src/output/kept_there.h"],  # a store
    "directory": ["src/cli/", "src/base/", "src/archive/file/sink.c"],  # a directory
    "command": ["src/cli/", "src/store/owner/job.c"],  # a field
    "text": ["src/reader/read_raw.c", "src/cli/store/verify.c", "src/base/config/config.c", "src/archive/coding/form_apart.c"],  # a type; how a block is coded
    "hdf5": ["src/cli/store/export.c"],  # an option
    "openmpi": ["src/cli/mpi_group.c", "src/lib/"],  # an MPI, not its launcher
    "mpich": ["src/cli/mpi_group.c", "src/lib/"],
    "gzip": ["src/codec/haar/parameter.c"],  # a parameter of haar
    "predict": ["src/archive/coding/form_predict.c"],  # how a block is coded
    "none": ["src/"],  # nothing of something
    "srun": [],
    "pmix": ["src/recovery/launch/srun.c"],  # a plug-in of Slurm
    "restart": ["src/cli/plan/plan.c"],  # an option
    "files": ["src/cli/", "src/store/keys.def"],  # a number of them; the usual way, which the table of keys names
}
chains = "src/codec/chooser.c"  # its table is of chains, which are made of names
forms = json.load(open(sys.argv[1]))
names = collections.Counter(f["form"].split(":")[0] for f in forms)
assert len(names) > 30, "too few forms are listed"
word = re.compile(r'"([a-z0-9|_-]+)[:+]?"')
comment = re.compile(r"/\*.*?\*/", re.S)
seen = collections.defaultdict(list)
for path in sorted(p for s in ("*.c", "*.h", "*.def") for p in pathlib.Path("src").rglob(s)):
    if re.search(r"(_test|_fuzz|_seeds|_corpus|testing|fuzzing)\.[ch]$", path.name) or str(path) == chains:
        continue
    text = comment.sub(lambda m: "\n" * m.group().count("\n"), path.read_text())
    for number, line in enumerate(text.split("\n"), 1):
        for literal in word.findall(line):
            for w in set(literal.split("|")) & set(names):
                if not any(str(path).startswith(o) for o in other.get(w, [])):
                    seen[w].append(f"{path}:{number}")
bad = 0
for name, where in sorted(seen.items()):
    files = sorted({w.split(":")[0] for w in where})
    if len(files) > names[name]:
        print(f"{name}: the name of a form stands at {', '.join(where)}; use its table")
        bad = 1
sys.exit(bad)
END
