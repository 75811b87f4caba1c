#!/bin/sh
# Runs the functions of template.yaml under `sam local`: each sample event is
# invoked and its answer compared, then 100 orders go from a queue through `sam
# local start-lambda`.
#
#   scripts/sam-local-test.sh SAM_DIRECTORY
#
# SAM_DIRECTORY is where scripts/install-sam.sh installed the SAM CLI. A container
# engine that answers is used as it is, with AWS's own image. Where none answers,
# this script starts one (dockerd, as root; Debian: apt-get install docker.io), in a
# network of its own, and stops it again; where the image cannot be pulled, a
# stand-in is made of Debian's busybox.
#
# Exits with 0 if all is well, with 1, saying FAILED, if it is not, and with 75,
# saying NOT RUN, if this machine is no place to find out: no engine, no image, a port
# that is taken.
set -eu
unset CDPATH
sam=$(cd "${1:?the folder of the SAM CLI: make sam-local gives it}" && pwd)
cd "$(dirname "$0")/.."
here=$PWD/scripts
. scripts/engine.sh

python=$sam/bin/python
inside=${2:-}
port=9324        # of the queue's API
lambda_port=3001 # of sam local start-lambda
server=''

export SAM_CLI_TELEMETRY=0
# Not the user's account: no function here may reach it.
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=example AWS_DEFAULT_REGION=us-east-1
unset AWS_PROFILE AWS_SESSION_TOKEN 2>/dev/null || true

[ "$(uname -s)" = Linux ] || not_run "this script knows the networks of container engines on Linux only"
case $(uname -m) in
x86_64 | amd64) architecture=x86_64 config=x86 ;;
aarch64 | arm64) architecture=arm64 config=default ;;
*) not_run "$(uname -m) is no processor that Lambda has" ;;
esac
image=public.ecr.aws/lambda/provided:al2023-$architecture
built=.aws-sam/local-$architecture
debs=.tools/sam-local

# --- Outside: build, and see what there is ----------------------------------------

# A static busybox, for a stand-in. It is fetched here, since a network of its own
# has no way out.
fetch_busybox() {
	[ -x "$debs/busybox" ] && return
	rm -rf "$debs"
	mkdir -p "$debs"
	if [ -x /bin/busybox ] && ! ldd /bin/busybox >/dev/null 2>&1; then
		cp /bin/busybox "$debs/busybox"
		return
	fi
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
	(cd "$debs" && "$here/retry.sh" apt-get -q download busybox-static >/dev/null 2>&1) || return 1
	dpkg-deb -x "$debs"/busybox-static_*.deb "$debs/deb"
	cp "$debs/deb/bin/busybox" "$debs/busybox"
}

if [ -z "$inside" ]; then
	CGO_ENABLED=0 GOFLAGS=-tags=lambda.norpc "$sam/bin/sam" build --config-env "$config" --build-dir "$built"
	go build -o "$built/local" ./examples/local
	command -v docker >/dev/null || not_run "there is no docker command (Debian: apt-get install docker.io)"
	if docker info >/dev/null 2>&1; then
		if docker pull --quiet "$image" >/dev/null 2>&1 || docker image inspect "$image" >/dev/null 2>&1; then
			exec "$here/sam-local-test.sh" "$sam" real
		fi
		fetch_busybox || not_run "$image cannot be pulled, and there is no static busybox to make a stand-in of (Debian: apt-get install busybox-static)"
		exec "$here/sam-local-test.sh" "$sam" stand-in
	fi
	can_start_engine
	unshare --net true 2>/dev/null || not_run "no container engine answers, and a network for one cannot be made (unshare --net)"
	fetch_busybox || not_run "there is no static busybox to make an image of (Debian: apt-get install busybox-static)"
	exec unshare --net "$here/sam-local-test.sh" "$sam" own
fi

# --- Inside: with an engine -------------------------------------------------------

# Everything that is talked to is on this machine.
export NO_PROXY='*' no_proxy='*'

work=$(mktemp -d)
cleanup() {
	code=$?
	trap - EXIT HUP INT TERM
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
	if [ "$inside" = stand-in ]; then
		# Under the name of AWS's image, they must not be found there later.
		docker image rm --force "$image" "$rapid" >/dev/null 2>&1 || true
	fi
	stop_engine
	rm -rf "$work" || true
	exit "$code"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# SAM adds AWS's runtime interface emulator to the image, which then starts the
# function. What the image has to have for it is a shell, mv and chmod, for SAM's
# build, and some folders: a static Go program needs nothing else.
stand_in() {
	for folder in bin tmp opt var/task var/runtime var/rapid; do mkdir -p "$work/image/$folder"; done
	chmod 1777 "$work/image/tmp"
	cp "$debs/busybox" "$work/image/bin/busybox"
	for tool in sh mv chmod cp rm; do ln -s busybox "$work/image/bin/$tool"; done
	tar -C "$work/image" -c . | docker import --change 'ENV PATH=/bin' --change 'WORKDIR /var/task' - "$image" >/dev/null ||
		not_run "the engine takes no stand-in for $image"
}

rapid=public.ecr.aws/lambda/provided:al2023-rapid-$architecture # SAM's name for image and emulator
gateway=172.31.255.1
if [ "$inside" = own ]; then
	# In a network of its own it can have any addresses, and needs no firewall: its
	# proxy forwards the ports of containers.
	ip link set lo up
	start_engine --ip-forward=false --ip-masq=false --bip="$gateway/24"
else
	gateway=$(docker network inspect bridge --format '{{range .IPAM.Config}}{{.Gateway}} {{end}}' | cut -d' ' -f1)
	[ -n "$gateway" ] || not_run "the engine's network \"bridge\" has no gateway, where containers would look for the queue"
fi
if [ "$inside" = real ]; then
	echo "engine: the one that answers; image: $image"
else
	stand_in
	echo "engine: $([ "$inside" = own ] && echo 'started here, in a network of its own' || echo 'the one that answers'); image: a stand-in for $image"
fi

# An engine that answers need not be able to run anything, in a container for one.
docker run --rm --entrypoint /bin/sh "$image" -c : >"$work/probe" 2>&1 || {
	cat "$work/probe" >&2
	not_run "the engine cannot run a container of $image"
}

# What the engine gave it may be no address of this machine (Docker Desktop has its
# own), and another program may have the ports.
free() { "$python" -c 'import socket, sys; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((sys.argv[1], int(sys.argv[2])))' "$1" "$2" 2>/dev/null; }
free "$gateway" "$port" || not_run "port $port of $gateway, where containers look for the queue, cannot be had"
free 127.0.0.1 "$lambda_port" || not_run "port $lambda_port, for sam local start-lambda, is taken"

# SAM looks for its configuration beside the template. The image is there: it need
# not ask a registry whether there is a newer one.
local_flags="--template $built/template.yaml --config-file $PWD/samconfig.toml --config-env $config --skip-pull-image"

# --- Each sample event ------------------------------------------------------------

failures=0
for answer in events/answers/*.json; do
	name=$(basename "$answer" .json)
	function=OrdersFunction
	[ "$name" != dead-letters ] || function=FindingsFunction
	# shellcheck disable=SC2086 # flags are words
	if ! "$sam/bin/sam" local invoke "$function" --event "events/$name.json" $local_flags >"$work/answer" 2>"$work/output"; then
		echo "FAILED  $name: sam local invoke" >&2
		cat "$work/output" >&2
		exit 1
	fi
	# SAM writes the answer anew, with spaces and a line break.
	if [ "$(tr -d ' \n' <"$work/answer")" = "$(tr -d ' \n' <"$answer")" ]; then
		echo "ok      $function $name"
	else
		failures=$((failures + 1))
		echo "FAILED  $function $name: answered $(cat "$work/answer"), want $(cat "$answer")" >&2
		cat "$work/output" >&2
	fi
done

# --- A queue of orders ------------------------------------------------------------

# Of twenty orders two fail once, one fails twice, two have a negative amount and two
# are no JSON: those four cannot succeed.
n=0
while [ "$n" -lt 100 ]; do
	case $((n % 20)) in
	3 | 13) echo '{"id":"order-'$n'","customer":"ann","amount":100,"fails":1}' ;;
	7) echo '{"id":"order-'$n'","customer":"ann","amount":100,"fails":2}' ;;
	5 | 15) echo '{"id":"order-'$n'","customer":"ann","amount":-100}' ;;
	9 | 19) echo '"{\"id\":\"order-'$n'\",\"amount"' ;;
	*) echo '{"id":"order-'$n'","customer":"ann","amount":100}' ;;
	esac
	n=$((n + 1))
done >"$work/orders.jsonl"

cat >"$work/env.json" <<JSON
{"Parameters": {"AWS_ENDPOINT_URL": "http://queue.local:$port", "ORDERS_TABLE": "", "ORDERS_MAX_ATTEMPTS": "5",
  "ORDERS_DEAD_LETTER_URL": "http://queue.local:$port/000000000000/orders-dlq"}}
JSON
# shellcheck disable=SC2086 # flags are words
"$sam/bin/sam" local start-lambda $local_flags --env-vars "$work/env.json" --add-host "queue.local:$gateway" \
	--host 127.0.0.1 --port "$lambda_port" >"$work/start-lambda" 2>&1 &
server=$!
waited=0
until "$python" -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).close()' "$lambda_port" 2>/dev/null; do
	waited=$((waited + 1))
	if ! kill -0 "$server" 2>/dev/null; then
		cat "$work/start-lambda" >&2
		# The port was free a moment ago.
		! grep -qi 'in use' "$work/start-lambda" || not_run "port $lambda_port, for sam local start-lambda, is taken"
		echo "FAILED  sam local start-lambda ends before it answers" >&2
		exit 1
	fi
	if [ "$waited" -ge 60 ]; then
		cat "$work/start-lambda" >&2
		not_run "sam local start-lambda does not answer after a minute"
	fi
	sleep 1
done

code=0
"$built/local" -invoke "http://127.0.0.1:$lambda_port/2015-03-31/functions/OrdersFunction/invocations" -listen "$gateway:$port" \
	-receives 100 -timeout 5m -f "$work/orders.jsonl" >"$work/report" || code=$?
cat "$work/report"
expect() {
	if ! grep -Eq "^ *$1 +$2( |\$)" "$work/report"; then
		failures=$((failures + 1))
		echo "FAILED  the orders: want \"$1 $2\" in the report above" >&2
	fi
}
expect messages 100
expect 'done' 80
expect parked 20
expect moved 0
expect left 0
expect lost 0
if [ "$code" != 0 ] || [ "$failures" != 0 ]; then
	[ "$code" = 0 ] || echo "FAILED  the orders: examples/local exits with $code" >&2
	cat "$work/start-lambda" >&2
	exit 1
fi
echo "passed: the sample events and 100 orders, under $("$sam/bin/sam" --version)"
