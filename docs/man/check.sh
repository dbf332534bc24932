#!/bin/sh
# The manual pages are clean, and describe every option of the commands that they are about.
# usage: check.sh SAIKAI PAGE...
saikai=$1
shift
if ! command -v mandoc > /dev/null; then
    echo "mandoc was not found: the pages were not checked"
    exit 77
fi
failed=0
for page in "$@"; do
    grep -q '^\.so ' "$page" && continue # another name of a page that is checked itself
    # other pages are not installed yet, and a date is no matter of form
    mandoc -T lint -W warning "$page" | grep -v -e 'referenced manual not found' -e 'missing date' && failed=1
    name=$(basename "$page" .1)
    command=${name#saikai-}
    [ "$command" != "$name" ] && "$saikai" help "$command" > /dev/null 2>&1 || continue
    text=$(mandoc -T ascii "$page" | col -b)
    for option in $("$saikai" help "$command" | sed -n 's/^  .*--\([a-z][a-z0-9-]*\).*/\1/p' | sort -u); do
        case $option in config | set | help) continue ;; esac # saikai(1) has them
        if ! printf '%s\n' "$text" | grep -q -e "--$option\>"; then
            echo "$name: the option --$option is not described"
            failed=1
        fi
    done
done
exit $failed
