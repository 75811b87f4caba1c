#!/bin/sh
# Installs moto's server, the SQS emulator the wire tests talk to, into a Python
# environment of its own.
#
#   scripts/install-moto.sh DIRECTORY VERSION
#
# The Python to use can be named by the variable PYTHON. DIRECTORY/ready exists
# afterwards if, and only if, the server can be started.
set -eu

dir=$1
version=$2
python=${PYTHON:-python3}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

if ! command -v "$python" >/dev/null 2>&1; then
	echo "make test needs Python 3 for moto, and '$python' was not found." >&2
	echo "Install it (Debian: apt-get install python3 python3-venv), or name another: make test PYTHON=..." >&2
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
		echo "Install what it lacks (Debian: apt-get install python3-venv), or name another: make test PYTHON=..." >&2
		exit 1
	fi
fi

"$here/retry.sh" "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "moto[server]==$version"
"$dir/bin/python" -c 'import moto.server'
rm -f "$dir.log"
touch "$dir/ready"
