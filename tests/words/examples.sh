#!/bin/bash
# Every example of a command in the manual pages is run, on data of its kind: what differs are the names of places and generations.
# Those of saikai run, protect and rebuild, and of archives under mpirun, are run by the tests of these commands.
# usage: examples.sh SAIKAI MAKE_FIELD MAKE_STORE MAKE_TILES PAGE...
set -uo pipefail
saikai=$1 make_field=$2 make_store=$3 make_tiles=$4
shift 4
command -v mandoc >/dev/null && command -v python3 >/dev/null || { echo "skip: mandoc or python3 was not found"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p bin home/.config local scratch/run7/saikai-store saikai-store tiles shared
ln -s "$saikai" bin/saikai
export PATH=$work/bin:$PATH HOME=$work/home SAIKAI_STORE_LOCAL=$work/local
unset XDG_CONFIG_HOME SAIKAI_CONFIG SAIKAI_STORE_PREFIX SAIKAI_JOB_NAME
"$make_store" saikai-store
"$make_store" scratch/run7/saikai-store
"$make_tiles" tiles
"$make_field" . >/dev/null
python3 -c "
import math, struct
n = 84 * 34 * 34
open('T.f64', 'wb').write(struct.pack('=%dd' % n, *(280 + 20 * math.sin(i / 900.0) for i in range(n))))"
saikai archive create -q -o shared/set-000001.1-of-1.ska field.* || exit 1
printf '* mtbf=5y\n' >rates.txt
can_netcdf=
if command -v ncgen >/dev/null; then
    printf 'netcdf restart { dimensions: x = 40; variables: double Temp(x); data: Temp = %s; }' "$(seq -s, 1 40)" >restart.cdl
    ncgen -o restart.nc restart.cdl && can_netcdf=1
fi
bad=0 tried=0
ours() { # an example of the manual, with names of ours
    sed -e "s|/scratch|$work/scratch|; s|/shared/sets|shared|; s|gen-0003-000000001200-0|gen-0002-000000000200-1|" \
        -e 's|--gen 1200|--gen 200|; s|--rank 3|--rank 2|; s|--variable Density|--variable T|; s| && sbatch job.sh||'
}
for page in "$@"; do
    lines=$(mandoc -T ascii -O width=200 "$page" | col -bx | sed -n '/^EXAMPLES/,$p' | sed -nE 's/^ +\$? ?(saikai (plan|clean|config|export|info|ls|mark|rm|verify|archive extract|compress|decompress|compare)( .*)?)$/\1/p')
    while IFS= read -r line; do
        [ -n "$line" ] || continue
        mine=$(echo "$line" | ours)
        case $line in *export* | *--variable*) [ -e field.h5 ] || continue ;; esac # built without HDF5
        case $mine in
        *restart.nc*) [ "$can_netcdf" ] || continue ;;&
        *'compare'*restart.nc*) saikai compress -q --bound rel:1e-3 restart.nc:/Temp T.sks ;;
        *'compare -t'* | *'compare --svg'*) saikai compress -q -t f64 -d 84x34x34 T.f64 T.sks && saikai decompress -q T.sks T.back ;;
        *' decompress '*) saikai compress -q -t f64 -d 84x34x34 T.f64 T.sks ;;
        *--global*) mine="${mine/variable u/variable step} tiles" ;;
        esac
        got=0
        timeout 300 bash -c "$mine" >out 2>err </dev/null || got=$?
        tried=$((tried + 1))
        if [ $got != 0 ]; then
            echo "$(basename "$page"): $line"
            echo "  ($mine): exit code $got"
            head -n 5 err
            bad=1
        fi
    done <<<"$lines"
done
[ -s plan.svg ] && { [ ! -e field.h5 ] || [ -s state.h5 ]; } && [ -s T-histogram.svg ] && [ -s home/.config/saikai.conf ] || { echo "an example did not make its file"; bad=1; }
[ $tried -gt 18 ] || { echo "only $tried examples were found"; bad=1; }
echo "$tried examples"
exit $bad
