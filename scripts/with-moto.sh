#!/bin/sh
# Runs a command while a moto server (SQS on the wire) runs beside it, and stops
# the server whatever became of the command. Exits as the command did.
#
#   scripts/with-moto.sh MOTO_DIRECTORY LOG COMMAND [ARGUMENT...]
#
# The command finds the server in ACKWISE_SQS_ENDPOINT, on a loopback port that
# was free. What the server prints goes to LOG.
set -eu

python=$1/bin/python
log=$2
shift 2

server=''
command=''
cleanup() {
	code=$?
	trap - EXIT HUP INT TERM
	[ -z "$command" ] || kill "$command" 2>/dev/null || true
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	wait
	exit "$code"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

free_port() {
	"$python" -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# Proxies are left out on purpose: the address is on this machine.
answers() {
	"$python" -c 'import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
opener.open(sys.argv[1] + "/moto-api/data.json", timeout=5).read()' "$1" >/dev/null 2>&1
}

# start leaves the server's process in $server, or returns 1 if it ended before
# it answered: between choosing a port and listening on it, another program can
# take the port.
start() {
	port=$(free_port)
	endpoint=http://127.0.0.1:$port
	"$python" -m moto.server -H 127.0.0.1 -p "$port" >>"$log" 2>&1 &
	server=$!
	waited=0
	while kill -0 "$server" 2>/dev/null; do
		# Asked again after the answer: a server that could not listen has ended
		# by now, and the answer came from whoever has the port.
		if answers "$endpoint" && kill -0 "$server" 2>/dev/null; then
			return 0
		fi
		waited=$((waited + 1))
		if [ "$waited" -ge 120 ]; then
			echo "moto did not answer at $endpoint; see $log" >&2
			exit 1
		fi
		sleep 1
	done
	server=''
	return 1
}

: >"$log"
tries=1
until start; do
	if [ "$tries" -ge 3 ]; then
		tail -n 20 "$log" >&2
		echo "moto ended $tries times before it answered; see $log" >&2
		exit 1
	fi
	tries=$((tries + 1))
done

# In the background, so that a signal to this script is seen at once and not
# only when the command has ended.
ACKWISE_SQS_ENDPOINT=$endpoint "$@" &
command=$!
code=0
wait "$command" || code=$?
command=''
exit "$code"
