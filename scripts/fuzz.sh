#!/bin/sh
# Runs every fuzz target of the module, one after another, and fails at the
# first one that finds something.
#
#   scripts/fuzz.sh DURATION
set -eu

time=$1
found=0
for package in $(go list ./...); do
	# The list is taken first, so that a package that does not compile fails
	# here instead of looking like one without targets.
	listed=$(go test -run '^$' -list '^Fuzz' "$package")
	for target in $(printf '%s\n' "$listed" | grep '^Fuzz' || true); do
		found=$((found + 1))
		echo "== $target ($package), $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package"
	done
done
if [ "$found" -eq 0 ]; then
	echo "there is no fuzz target" >&2
	exit 1
fi
