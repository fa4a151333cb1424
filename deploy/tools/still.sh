#!/bin/sh
# still.sh "building buf" command...: runs the command, and says every half minute that it still does. Who waits can't
# see otherwise whether anything happens.
what=$1 every=${STILL_EVERY:-30}
shift
began=$(date +%s)
{
	trap 'kill $! 2>/dev/null; exit' TERM # It may come before the sleep has begun, or when it has ended.
	while sleep "$every" & wait $!; do
		echo "  still $what, $(($(date +%s) - began)) s"
	done
} &
watcher=$!
"$@"
result=$?
kill $watcher
wait $watcher 2>/dev/null
exit $result
