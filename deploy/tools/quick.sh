#!/bin/sh
# make quick: the inner loop. It vets and tests the modules with files that differ from SINCE; packages that nothing changed for come out of the
# cache of go test. The modules that need them are compiled with their tests, which go vet does, but not tested: that takes minutes after a change
# of proto or services. Of other modules it runs the tests that name a file which changed and is in no module, such as a page.
# go vet gets -race, too, so that it needs no packages but those that the tests need; then go test need not vet again.
set -eu
files=$(git diff --name-only "$SINCE" -- && git ls-files --others --exclude-standard)

# reading prints the packages of the module of this directory with a test that names a path above the module: with more ".." than it lies deep.
reading() {
	go list -f '{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Module.Dir}} {{$p.Dir}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Module.Dir}} {{$p.Dir}}/{{.}}
{{end}}' ./... | awk 'NF == 3 {
		depth = split(substr($3, length($2) + 2), parts, "/") - 1
		while ((getline line < $3) > 0) {
			gsub(/"\.\.", /, "../", line)
			for (; match(line, /\.\.(\/\.\.)+/); line = substr(line, RSTART + RLENGTH)) if ((RLENGTH + 1) / 3 > depth) print $1
		}
	}' | sort -u
}

# check vets and tests a module. The cache of go test does not know the files of others that a test reads, such as pages and the chart. It knows
# the flags: packages with such tests are told to skip a test of the name of the sum of all files outside of the module, and so are tested again
# once one of these has changed.
check() {
	outside=$(git ls-files -co --exclude-standard | grep -v "^$1/" | tr '\n' '\0' | xargs -0 cat 2>/dev/null | git hash-object --stdin)
	cd "$1" || return
	readers=$(reading)
	others=$(go list ./... | grep -vxF "${readers:-none}" || true)
	passed=true
	# shellcheck disable=SC2086 # Lists of words.
	go vet $RACE ./... || return
	# shellcheck disable=SC2086
	if [ -n "$others" ]; then go test $RACE -vet=off -short -timeout 10m $TESTFLAGS $others || passed=false; fi
	# shellcheck disable=SC2086
	if [ -n "$readers" ]; then go test $RACE -vet=off -short -timeout 10m -skip "^$outside\$" $TESTFLAGS $readers || passed=false; fi
	$passed
}

changed=
for module in $MODULES; do
	if printf '%s\n' "$files" | grep -q "^$module/"; then changed="$changed $module"; fi
done
# pages prints the files with tests of modules that have not changed, and that name a changed file of no module. What holds for all pages is
# tested in deploy/tools/reference.
pages() {
	printf '%s\n' "$files" | while read -r file; do
		for module in $MODULES; do
			case $file in "$module"/*) continue 2 ;; esac
		done
		[ -z "$file" ] || git grep -lF "${file##*/}\"" -- '*_test.go' || true
		case $file in *.md) git ls-files 'deploy/tools/reference/*_test.go' ;; esac
	done | sort -u | while read -r test; do
		for module in $changed; do
			case $test in "$module"/*) continue 2 ;; esac
		done
		echo "$test"
	done
}
tests=$(pages)
[ -n "$changed$tests" ] || echo "no module has changed since $SINCE"
# What fails hides nothing that comes after it.
failed=
for module in $changed; do
	echo "== $module: go vet, go test -short"
	(check "$module") || failed="$failed $module"
done
for module in $MODULES; do
	case " $changed " in *" $module "*) continue ;; esac
	for needed in $changed; do
		if grep -q "alicloud-controllers.dev/$needed v" "$module/go.mod"; then
			echo "== $module, which needs $needed: go vet"
			# shellcheck disable=SC2086
			(cd "$module" && go vet $RACE ./...) || failed="$failed $module"
			break
		fi
	done
done
for dir in $(printf '%s\n' "$tests" | xargs -r -n 1 dirname | sort -u); do
	# shellcheck disable=SC2086 # A list of words.
	names=$(printf '%s\n' "$tests" | grep "^$dir/[^/]*$" | xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(t .*/\1/p' | paste -sd'|' -)
	echo "== $dir: tests that read what has changed"
	# shellcheck disable=SC2086
	(cd "$dir" && go test -vet=off -short -count=1 -timeout 10m -run "^($names)\$" $TESTFLAGS .) || failed="$failed $dir"
done
[ -z "$failed" ] || { echo "failed in:$failed"; exit 1; }
