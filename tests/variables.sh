#!/bin/sh
# Every variable of the environment that the sources read or set is a setting or in the table of the others: what is in neither
# is told to users as a mistyped one.
# usage: variables.sh SOURCE_DIR
set -eu
cd "$1"
bad=0
for name in $(grep -rhoE '(getenv\(|setenv\(|_ENV +)"SAIKAI_[A-Z_]+' src plugins --include='*.[ch]' | sed 's/.*"//' | sort -u); do
    found=
    for known in $(sed -n 's/^SK_VARIABLE("\([^"]*\)".*/\1/p' src/base/config/config_variables.def); do
        # shellcheck disable=SC2254
        case "$name" in $known) found=1 ;; esac
    done
    for key in $(sed -n 's/^SK_KEY(\([a-z_]*\), \([a-z_]*\),.*/SAIKAI_\1_\2/p' src/*/keys.def | tr a-z A-Z); do
        [ "$name" != "$key" ] || found=1
    done
    case "$name" in SAIKAI_SHEDULE_EVERY | SAIKAI_SCHEDULE_POL | SAIKAI_CONFIGURATION) found=1 ;; esac # mistyped on purpose, by tests
    [ -n "$found" ] || { echo "$name is neither in config_keys.def nor in config_variables.def"; bad=1; }
done
exit $bad
