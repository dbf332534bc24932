#!/usr/bin/env bash
# Public programs with our comments lose ranks, and say in the end what the unchanged sources say when the MPI's own compiler has made them.
# The sources are no part of this tree: SAIKAI_TEST_PROGRAMS names a folder with npb (NPB 3.4, its MPI programs) and hpccg (Mantevo's HPCCG).
# usage: public.sh SOURCE_DIR BUILD_DIR MPI npb_cg|hpccg KILLS RANKS EVERY FORTRAN_OR_CXX_COMPILER [ARGUMENTS...]
# CLASS (W): of NPB.
set -euo pipefail
source=$1 build=$2 mpi=$3 program=$4 kills=$5 ranks=$6 every=$7 own=$8
shift 8
. "$source/tests/common.sh"
folder=${SAIKAI_TEST_PROGRAMS:-}/${program%_cg}
[ -n "${SAIKAI_TEST_PROGRAMS:-}" ] && [ -d "$folder" ] || { echo "skip: SAIKAI_TEST_PROGRAMS names no folder with ${program%_cg}"; exit 77; }
cd "$work"
cp -r "$folder" plain
if [ "$program" = npb_cg ]; then
    changed="CG/cg.f" tool=saikaifort
    files="CG/mpinpb.f CG/cg_data.f CG/cg.f common/print_results.f common/randi8.f common/timers.f"
    flags="-O2 -w -std=legacy -fallow-argument-mismatch -fallow-invalid-boz -ICG -JCG"
    export WANTED='VERIFICATION SUCCESSFUL' SAYS='VERIFICATION|Zeta is|Error is' ALSO='^ *[0-9]+ +[0-9.]+E-[0-9]+ +[0-9.]+ *$'
    cp plain/config/make.def.template plain/config/make.def
    cc -w -o setparams plain/sys/setparams.c
    (cd plain/CG && "$work/setparams" cg "${CLASS:-W}")
else
    changed="main.cpp HPCCG.cpp" tool=saikaicxx
    files="main.cpp HPCCG.cpp generate_matrix.cpp read_HPC_row.cpp compute_residual.cpp mytimer.cpp dump_matlab_matrix.cpp HPC_sparsemv.cpp
        waxpby.cpp ddot.cpp make_local_matrix.cpp exchange_externals.cpp YAML_Element.cpp YAML_Doc.cpp digits.cpp"
    flags="-O2 -w -DUSING_MPI"
    export WANTED='^Final residual' SAYS='^Final residual|^Number of iterations' ALSO='^Iteration = [0-9]+ +Residual = [0-9.e+-]+$'
    # the residuals of iterations with all of their digits, in both builds
    printf '#include <iostream>\nstatic struct digits {\n    digits() { std::cout.precision(17); }\n} all;\n' >plain/digits.cpp
fi
cp -r plain own
(cd own && sed -i -f "$source/tests/directives/$program.sed" $changed)
added=$(diff -r plain own | grep -c '^>' || true)
[ "$added" -gt 0 ] && [ "$added" -le 6 ] && ! diff -r plain own | grep '^<' || { echo "not up to six lines more"; diff -r plain own; exit 1; }
(cd plain && "$own" $flags -o "$work/$program.plain" $files)
(cd own && PATH=$build/src/directive:$PATH "$tool" --mpi="$mpi" $flags -o "$work/$program" $files)
echo "$program: $added lines added"
TMPDIR=$work EXE=$work/$program PLAIN=$work/$program.plain "$source/tests/examples/kills.sh" "$build" "$mpi" "$kills" "$ranks" "$every" "$program" "$@"
