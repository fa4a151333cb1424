#!/bin/sh
# raced.sh "go test flags" packages...: runs the command, and once more for the packages in which the race detector
# itself has died: "CHECK failed: tsan_rtl.cpp:346" with Go 1.26, seen twice on 30 November 2026 in the tests of
# lbcontroller's engine. Without this all of make test fails by it, and nothing in the tree can mend it. Whatever else
# fails is not run again.
test=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # A list of words.
{ $test "$@" || echo $? >"$work/failed"; } 2>&1 | awk -v died="$work/died" -v real="$work/real" '
	/^ThreadSanitizer: CHECK failed/ { crashed = 1 }
	/^FAIL\t/ { if (crashed) { print $2 >died; sub("FAIL", "DIED") } else print $2 >real }
	/^(ok  |FAIL|DIED|\?   )\t/ { crashed = 0 }
	{ print; fflush() }
	END { if (crashed) print "a crash without a package" >real }'
[ -e "$work/failed" ] || exit 0
[ -e "$work/died" ] && [ ! -e "$work/real" ] || exit "$(cat "$work/failed")"
echo "the race detector has died; once more: $(tr '\n' ' ' <"$work/died")"
# shellcheck disable=SC2046,SC2086
$test $(cat "$work/died")
