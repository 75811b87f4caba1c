#!/bin/sh
# Runs a command up to three times, a little longer apart each time. Meant for
# downloads, which fail for reasons that pass.
#
#   scripts/retry.sh COMMAND [ARGUMENT...]
set -u

try=1
until "$@"; do
	code=$?
	if [ "$try" -ge 3 ]; then
		echo "failed $try times, giving up: $*" >&2
		exit "$code"
	fi
	echo "try $try failed, again in $((try * 5)) s: $*" >&2
	sleep $((try * 5))
	try=$((try + 1))
done
