#!/bin/sh
# Makes a series of checkpoint sets by a program of others, for Fig. 9 of `make bench-paper-far`: DIR/lammps/step…/ from LAMMPS (Debian's
# package lammps), a melting crystal of 6912 atoms on four processes from its first step on. Says what it skipped, and why; what is there is kept.
# usage: paper_far_series.sh DIR
set -eu
dir=$1
mkdir -p "$dir"
if [ -d "$dir/lammps" ]; then
  exit 0
fi
if ! lmp=$(command -v "${LAMMPS:-lmp}"); then
  echo "Skipped: a series of LAMMPS, as there is no program lmp (Debian: lammps; LAMMPS=PROGRAM names another one)."
  exit 0
fi
work=$(mktemp -d "$dir/.lammps.XXXXXX")
trap 'rm -rf "$work"' EXIT
cat > "$work/in" <<'EOF'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 12 0 12 0 12
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
write_restart set.0.%
restart 20 set.*.%
run 220
EOF
if ! (cd "$work" && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
      PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1 timeout 300 \
      "${MPIEXEC:-mpiexec}" -n 4 "$lmp" -in in > out 2>&1); then
  echo "Skipped: a series of LAMMPS, as it failed:"
  tail -n 3 "$work/out"
  exit 0
fi
mkdir "$work/lammps"
for f in "$work"/set.*; do
  step=${f#"$work"/set.}
  rank=${step#*.} step=${step%%.*}
  to=$(printf '%s/lammps/step%04d' "$work" "$step")
  mkdir -p "$to"
  mv "$f" "$to/lj.restart.$rank.$step"
done
mv "$work/lammps" "$dir/lammps"
