#!/bin/sh
# Installs the AWS SAM CLI and the version of cfn-lint that it works with into a
# Python environment of its own.
#
#   scripts/install-sam.sh DIRECTORY VERSION
#
# The Python to use, 3.10 or later, can be named by the variable PYTHON.
# DIRECTORY/ready exists afterwards if, and only if, both can be run.
set -eu

dir=$1
version=$2
python=${PYTHON:-python3}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
	echo "make sam needs Python 3.10 or later for the AWS SAM CLI, and '$python' is none." >&2
	echo "Install it (Debian: apt-get install python3 python3-venv), or name another: make sam PYTHON=..." >&2
	exit 1
fi

# Debian ships venv without the part that installs pip unless python3-venv is
# installed; virtualenv, where there is one, does the same job.
rm -rf "$dir"
mkdir -p "$(dirname -- "$dir")"
if ! "$python" -m venv "$dir" >"$dir.log" 2>&1; then
	rm -rf "$dir"
	if ! "$python" -m virtualenv "$dir" >>"$dir.log" 2>&1; then
		cat "$dir.log" >&2
		rm -rf "$dir"
		echo "'$python' can make no virtual environment." >&2
		echo "Install what it lacks (Debian: apt-get install python3-venv), or name another: make sam PYTHON=..." >&2
		exit 1
	fi
fi

"$here/retry.sh" "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "aws-sam-cli==$version"
SAM_CLI_TELEMETRY=0 "$dir/bin/sam" --version
"$dir/bin/cfn-lint" --version
rm -f "$dir.log"
touch "$dir/ready"
