#!/bin/sh
# Installs the build into an empty prefix and builds the README's way against it: by pkg-config for each MPI in C and
# Fortran, and by the CMake package. Then runs what was built.
# usage: install_test.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cmake --install "$build" --prefix "$work/usr" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work"
libdir=$(dirname "$(find usr -name saikai.pc)")
export PKG_CONFIG_PATH="$work/$libdir"
# the prefix was chosen at install time: pkg-config files name it
flags() {
    pkg-config "$@"
}
tried=0
for mpi in openmpi mpich; do
    [ -e "$libdir/saikai-$mpi.pc" ] || continue
    cc=$(command -v mpicc.$mpi || command -v mpicc)
    $cc -Wall -Werror -I"$source/examples" "$source/examples/cg.c" -o cg_$mpi $(flags --cflags --libs saikai-$mpi) -lm
    SAIKAI_STORE_PREFIX="$work/store" timeout 240 $(command -v mpiexec.$mpi || command -v mpiexec) -n 1 ./cg_$mpi 16 20 | tee out
    grep -q verified out
    if fc=$(command -v mpifort.$mpi) && [ -e "$(flags --variable=fmoddir saikai-$mpi-fortran 2>/dev/null)/saikai.mod" ]; then
        $fc "$source/examples/heat_fortran.f90" -o hf_$mpi $(flags --cflags --libs saikai-$mpi-fortran)
        SAIKAI_STORE_PREFIX="$work/store2" timeout 240 $(command -v mpiexec.$mpi || command -v mpiexec) -n 1 ./hf_$mpi 16 20 | tee out
        grep -q verified out
    fi
    if cxx=$(command -v mpicxx.$mpi); then
        $cxx -std=c++11 "$source/examples/walkers.cpp" -o walkers_$mpi $(flags --cflags --libs saikai-$mpi)
        SAIKAI_STORE_PREFIX="$work/store3" timeout 240 $(command -v mpiexec.$mpi || command -v mpiexec) -n 1 ./walkers_$mpi 200 50 | tee out
        grep -q verified out
    fi
    tried=$((tried + 1))
    rm -rf store store2 store3
done
[ $tried -gt 0 ]
"$source/tests/interface/symbols.sh" "$source" "$work/usr"
mkdir user
cat >user/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(Saikai REQUIRED)
add_library(probe OBJECT probe.c)
target_link_libraries(probe PRIVATE Saikai::saikai)
target_compile_definitions(probe PRIVATE OPEN_MPI)
END
printf '#include <saikai/codes.h>\n#include <saikai/version.h>\nint main(void) { return SAIKAI_F64 != 10; }\n' >user/probe.c
cmake -S user -B user/build -DCMAKE_PREFIX_PATH="$work/usr" >log 2>&1 && cmake --build user/build >>log 2>&1 || {
    cat log
    exit 1
}
# programs in each language, with the wrappers of each MPI
mkdir languages
cp "$source/examples/example.h" "$source/examples/cg.c" "$source/examples/heat_fortran.f90" "$source/examples/walkers.cpp" languages
cat >languages/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(languages C CXX ${more})
find_package(Saikai REQUIRED COMPONENTS ${mpi} C CXX ${more})
add_executable(cg cg.c)
target_link_libraries(cg PRIVATE Saikai::saikai m)
add_executable(walkers walkers.cpp)
set_target_properties(walkers PROPERTIES CXX_STANDARD 11)
target_link_libraries(walkers PRIVATE Saikai::${mpi})
if(more)
  add_executable(heat heat_fortran.f90)
  target_link_libraries(heat PRIVATE Saikai::fortran)
  add_executable(own_module heat_fortran.f90 ${Saikai_FORTRAN_SOURCE}) # as for a compiler that cannot read the installed one
  target_link_libraries(own_module PRIVATE Saikai::${mpi})
endif()
END
for mpi in openmpi mpich; do
    cc=$(command -v mpicc.$mpi) && cxx=$(command -v mpicxx.$mpi) && [ -e "$libdir/saikai-$mpi.pc" ] || continue
    more=
    [ ! -e "$(flags --variable=fmoddir saikai-$mpi-fortran)/saikai.mod" ] || more=Fortran
    FC=$(command -v mpifort.$mpi || true) CC=$cc CXX=$cxx cmake -S languages -B languages/$mpi -Dmpi=$mpi -Dmore=$more \
        -DCMAKE_PREFIX_PATH="$work/usr" >log 2>&1 && cmake --build languages/$mpi >>log 2>&1 || {
        cat log
        exit 1
    }
    for program in cg walkers ${more:+heat own_module}; do
        SAIKAI_STORE_PREFIX="$work/store" timeout 240 $(command -v mpiexec.$mpi || command -v mpiexec) -n 1 languages/$mpi/$program 16 20 | tee out
        grep -q verified out
        rm -rf store
    done
done
# a component that is not there is said
sed 's/COMPONENTS.*)/COMPONENTS nonsense)/' languages/CMakeLists.txt >user/CMakeLists.txt
if cmake -S user -B user/none -DCMAKE_PREFIX_PATH="$work/usr" >log 2>&1 || ! grep -q nonsense log; then
    cat log
    exit 1
fi
usr/bin/saikai --version
# what was installed can be removed again, and nothing is left behind
"$source/scripts/uninstall.sh" "$build/install_manifest.txt"
left=$(find usr -type f -o -type l)
[ -z "$left" ] || { echo "uninstall left: $left"; exit 1; }
[ -z "$(find usr -iname 'saikai*')" ]
