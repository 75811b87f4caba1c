#!/bin/sh
# Checks what the linter does not: formatting of every Go file, generated or
# not, and their length.
#
#   scripts/check-files.sh MAX_LINES
set -eu

max=$1
status=0

sources=$(find . -name '*.go' -not -path './.*/*' | sort)
if [ -z "$sources" ]; then
	echo "no Go files below $(pwd)" >&2
	exit 1
fi

# File names in this repository hold no spaces, so splitting them is safe.
# shellcheck disable=SC2086
unformatted=$(gofmt -l $sources)
if [ -n "$unformatted" ]; then
	echo "not formatted, run gofmt -w on:" >&2
	echo "$unformatted" >&2
	status=1
fi

for file in $sources; do
	lines=$(wc -l <"$file")
	if [ "$lines" -gt "$max" ]; then
		echo "$file: $lines lines, at most $max: split it by subject" >&2
		status=1
	fi
done
exit "$status"
