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

. scripts/engine.sh

image=ackwise-ecs-poller:test
work=$(mktemp -d)

cleanup() {
	code=$?
	trap - EXIT HUP INT TERM
	docker image rm --force "$image" >/dev/null 2>&1 || true
	stop_engine
	rm -rf "$work" || true
	exit "$code"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

command -v docker >/dev/null || not_run "there is no docker command (Debian: apt-get install docker.io)"
if ! docker info >/dev/null 2>&1; then
	can_start_engine
	# Containers use the network of this machine, so it needs no bridge.
	start_engine --bridge=none
fi

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
