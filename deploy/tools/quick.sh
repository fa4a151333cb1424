#!/bin/sh
# make quick: the inner loop. It vets and tests the modules with files that differ from SINCE; packages that nothing changed for come out of the
# cache of go test. The modules that need them are compiled with their tests, which go vet does, but not tested: that takes minutes after a change
# of proto or services. The cache does not know the files of other modules that a test reads, such as docs: make test goes without it.
set -eu
files=$(git diff --name-only "$SINCE" -- && git ls-files --others --exclude-standard)

changed=
for module in $MODULES; do
	if printf '%s\n' "$files" | grep -q "^$module/"; then changed="$changed $module"; fi
done
[ -n "$changed" ] || echo "no module has changed since $SINCE"
for module in $changed; do
	echo "== $module: go vet, go test -short"
	# shellcheck disable=SC2086 # Lists of words.
	(cd "$module" && go vet ./... && go test $RACE -short -timeout 10m $TESTFLAGS ./...)
done
for module in $MODULES; do
	case " $changed " in *" $module "*) continue ;; esac
	for needed in $changed; do
		if grep -q "alicloud-controllers.dev/$needed v" "$module/go.mod"; then
			echo "== $module, which needs $needed: go vet"
			(cd "$module" && go vet ./...)
			break
		fi
	done
done
