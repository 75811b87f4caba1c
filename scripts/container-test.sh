#!/bin/sh
# Runs the process tests of examples/ecs-poller with the worker in a container:
# an image FROM scratch with the static binary, stopped by `docker stop` under
# load, again and again.
#
#   scripts/container-test.sh [ARGUMENT...]
#
# The arguments go to `go test`; ACKWISE_SOAK=1 makes 50 rounds of it, and
# ACKWISE_SQS_ENDPOINT adds the tests that need a server. Uses the container
# engine that answers, or starts one of its own (dockerd, as root; Debian:
# apt-get install docker.io) and stops it again. Exits with 75, and says NOT RUN,
# if there is no engine: that is neither passed nor failed.
set -eu
cd "$(dirname "$0")/.."

not_run=75
image=ackwise-ecs-poller:test
work=$(mktemp -d)
engine=''

cleanup() {
	code=$?
	trap - EXIT HUP INT TERM
	docker image rm --force "$image" >/dev/null 2>&1 || true
	if [ -n "$engine" ]; then
		kill "$engine" 2>/dev/null || true
		wait "$engine" 2>/dev/null || true
		umount "$work"/exec/netns/* 2>/dev/null || true # dockerd leaves it
	fi
	rm -rf "$work" || true
	exit "$code"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

not_run() {
	echo "NOT RUN: $1" >&2
	exit "$not_run"
}

# start leaves an engine that answers at DOCKER_HOST. Containers use the network
# of this machine, so it needs no bridge and leaves the firewall alone.
start() {
	command -v dockerd >/dev/null || not_run "no container engine answers, and there is no dockerd to start (Debian: apt-get install docker.io)"
	[ "$(id -u)" = 0 ] || not_run "no container engine answers, and only root can start one"
	DOCKER_HOST=unix://$work/docker.sock
	export DOCKER_HOST
	dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" --host "$DOCKER_HOST" \
		--iptables=false --ip6tables=false --bridge=none >"$work/log" 2>&1 &
	engine=$!
	waited=0
	until docker info >/dev/null 2>&1; do
		waited=$((waited + 1))
		if ! kill -0 "$engine" 2>/dev/null || [ "$waited" -ge 60 ]; then
			tail -n 20 "$work/log" >&2
			not_run "dockerd does not start"
		fi
		sleep 1
	done
}

command -v docker >/dev/null || not_run "there is no docker command (Debian: apt-get install docker.io)"
docker info >/dev/null 2>&1 || start

# The last stage of the Dockerfile, copying from this machine instead of from the
# stage that builds: no registry is needed.
mkdir -p "$work/image/etc/ssl/certs"
CGO_ENABLED=0 go build -trimpath -ldflags=-s -o "$work/image/ecs-poller" ./examples/ecs-poller
cp /etc/ssl/certs/ca-certificates.crt "$work/image/etc/ssl/certs/"
sed -n -e 's/--from=build //' -e '/^FROM scratch/,$p' examples/ecs-poller/Dockerfile >"$work/image/Dockerfile"
docker build --tag "$image" "$work/image" >"$work/build" 2>&1 || {
	cat "$work/build" >&2
	exit 1
}

ACKWISE_CONTAINER=$image go test -count=1 -v -timeout=30m -run 'Drain|Process' "$@" ./examples/ecs-poller
