#!/bin/sh
# make verify-generated: generates everything, and names the files that were stale.
set -eu
sums() { git ls-files -co --exclude-standard -z | xargs -0 cksum 2>/dev/null || true; }
before=$(sums)
"${MAKE:-make}" --no-print-directory generate >/dev/null
after=$(sums)
if [ "$before" != "$after" ]; then
	echo "these were stale and are now generated anew; commit them:"
	printf '%s\n' "$before" "$after" | sort | uniq -u | cut -d' ' -f3- | sort -u
	exit 1
fi
# The linters leave generated code out.
git grep -lE '^// Code generated .* DO NOT EDIT\.$' -- '*.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|' | xargs go vet
