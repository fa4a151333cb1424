#!/bin/sh
# make test: all tests of all modules. The end-to-end tests wait for most of their time, and the others compute meanwhile. All run to their end,
# whatever fails, and what failed is said once more at the end, with the tests that ran when a time limit was over.
set -eu
make=${MAKE:-make}
# Compilers come first, so that no two commands compile the same.
# shellcheck disable=SC2086 # Lists of words.
GOGC=400 GOMEMLIMIT=1GiB go list -e -export -deps -test $RACE $PACKAGES >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ $make --no-print-directory --keep-going --jobs=3 test-e2e test-packages test-apart || echo "== failed"; } 2>&1 | tee "$log"
if failed=$(grep -E "^(FAIL.*/|--- FAIL|failed in:|== failed|panic: )|^	+(running tests:|Test.* \([0-9.hms]+\))$" "$log"); then
	printf '\n%s\n' "$failed"
	exit 1
fi
