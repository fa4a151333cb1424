#!/bin/sh
# still.sh "building buf" command...: runs the command, and says every half minute that it still does. Who waits can't
# see otherwise whether anything happens.
what=$1 every=${STILL_EVERY:-30}
shift
began=$(date +%s)
{
	trap 'kill $sleeper; exit' TERM
	while sleep "$every" & sleeper=$!; wait $sleeper; do
		echo "  still $what, $(($(date +%s) - began)) s"
	done
} &
watcher=$!
"$@"
result=$?
kill $watcher
wait $watcher 2>/dev/null
exit $result
