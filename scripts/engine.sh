# shellcheck shell=sh
# What the scripts share that need a container engine; to be sourced. They have a
# folder of their own, $work, and call stop_engine when they end.

not_run=75 # the exit code that is neither passed nor failed
engine=''

not_run() {
	echo "NOT RUN: $1" >&2
	exit "$not_run"
}

# can_start_engine ends the script if there is no dockerd that it could start.
can_start_engine() {
	command -v dockerd >/dev/null || not_run "no container engine answers, and there is no dockerd to start (Debian: apt-get install docker.io)"
	[ "$(id -u)" = 0 ] || not_run "no container engine answers, and only root can start one"
}

# start_engine FLAG... leaves an engine that answers at DOCKER_HOST, apart from any
# other of this machine.
start_engine() {
	# shellcheck disable=SC2154 # whoever sources this has set work
	DOCKER_HOST=unix://$work/docker.sock
	export DOCKER_HOST
	dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/pid" --host "$DOCKER_HOST" \
		--iptables=false --ip6tables=false "$@" >"$work/log" 2>&1 &
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

stop_engine() {
	[ -n "$engine" ] || return 0
	docker ps --quiet | xargs -r docker kill >/dev/null 2>&1 || true
	kill "$engine" 2>/dev/null || true
	wait "$engine" 2>/dev/null || true
	umount "$work"/exec/netns/* 2>/dev/null || true # dockerd leaves it
}
