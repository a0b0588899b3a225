# shellcheck shell=bash
# world.sh - a simulated Xen host, for tests and demos; to be sourced
#
#	SIM_BUILD	folder of simxen, simxenctl, simtoolstack, simfront and lib/
#			(default: build/release/tests/sim)
#
#	world_start DIR		simxen, xenstored, and the environment that makes the shipped
#				binaries use them: LD_LIBRARY_PATH (drop-in libxengnttab and
#				libxenevtchn), SIMXEN_SOCKET, XENSTORED_PATH, XENSTORED_RUNDIR.
#				Logs and sockets are in DIR.
#	world_check		fails, and says what, if a domain, port, grant, mapping or
#				device node is left
#	world_stop		world_check, then ends everything this file started
#	world_run NAME CMD...	runs CMD in the background, log in DIR/NAME.log, pid in DIR/NAME.pid
#	world_end NAME [SIGNAL]	signals it and waits; its exit status
#	world_wait NAME		waits for its own end; its exit status
#	wait_for SECONDS CMD...	until CMD succeeds (polled), or fails with a line after SECONDS
#	backend_state D H, frontend_state D H	the state, or nothing
#	guest_start D [H] [simfront options]
#				domain, vif, and simfront in namespace simD; until Connected
#	guest_stop D		clean close of the frontend, then destroy
#	guest_crash D		SIGKILL; the domain stays, as after a guest's crash
#	driver_domain_start D	a domain for a backend, with a XenStore socket where paths are
#				relative to it; run the backend by `driver_domain D CMD...` or
#				`world_run NAME driver_domain D CMD...`, and set BACKEND_DOMID=D
#	driver_domain_stop D	after the backend has ended
#	BACKEND_DOMID		whose vifs guest_start makes, and backend_state asks for (0)
#	VIF_OPTIONS		array of options for `simtoolstack attach` that guest_start adds
#
# Every function returns non-zero on failure, and leaves it to the caller what to do then.

SIM_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${SIM_BUILD:=$SIM_SOURCE/../../build/release/tests/sim}"
VIF_OPTIONS=()
BACKEND_DOMID=0

wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "world: gave up waiting for: $*" >&2
			return 1
		fi
		read -rt 0.02 <> <(:) || :	# 20 ms without a process
	done
}

world_run() {
	local name=$1
	shift
	"$@" >"$WORLD/$name.log" 2>&1 &
	echo $! >"$WORLD/$name.pid"
}

world_end() {
	[ ! -e "$WORLD/$1.pid" ] || kill -s "${2:-TERM}" "$(cat "$WORLD/$1.pid")" 2>/dev/null
	world_wait "$1"
}

world_wait() {
	local name=$1 pid status=0
	pid=$(cat "$WORLD/$name.pid" 2>/dev/null) || return 0
	wait "$pid" 2>/dev/null || status=$?
	rm -f "$WORLD/$name.pid"
	return "$status"
}

world_start() {
	WORLD=$1
	mkdir -p "$WORLD" || return 1
	chmod 755 "$WORLD"
	export SIMXEN_SOCKET=$WORLD/simxen.socket
	export XENSTORED_RUNDIR=$WORLD XENSTORED_PATH=$WORLD/socket
	export LD_LIBRARY_PATH=$SIM_BUILD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	world_run simxen "$SIM_BUILD/simxen" "$SIMXEN_SOCKET"
	wait_for 10 grep -q ready "$WORLD/simxen.log" || return 1
	world_run xenstored env LD_PRELOAD="$SIM_BUILD/lib/xenstored_preload.so" \
		/usr/lib/xen-4.17/bin/xenstored -N -I
	wait_for 10 xenstore-exists / || return 1
	xenstore-write /local/domain/0/domid 0 /local/domain/0/name Domain-0
}

world_check() {
	local left status=0
	"$SIM_BUILD/simxenctl" idle >&2 || status=1
	left=$(xenstore-ls -f /local/domain 2>/dev/null | grep -E '/(backend|device)/|error' || :)
	if [ -n "$left" ]; then
		printf 'world: left in XenStore:\n%s\n' "$left" >&2
		status=1
	fi
	return "$status"
}

world_stop() {
	local status=0 pidfile
	world_check || status=1
	for pidfile in "$WORLD"/front*.pid; do
		[ ! -e "$pidfile" ] || world_end "$(basename "$pidfile" .pid)" KILL || :
	done
	world_end xenstored || :
	world_end simxen || status=1
	return "$status"
}

backend_state() { xenstore-read "/local/domain/$BACKEND_DOMID/backend/vif/$1/$2/state" 2>/dev/null; }
frontend_state() { xenstore-read "/local/domain/$1/device/vif/$2/state" 2>/dev/null; }
vif_connected() { [ "$(backend_state "$1" "$2")$(frontend_state "$1" "$2")" = 44 ]; }

guest_start() {
	local domid=$1 handle=0 mac
	shift
	case ${1-} in [0-9]*) handle=$1; shift ;; esac
	printf -v mac '00:16:3e:00:%02x:%02x' "$domid" "$handle"
	"$SIM_BUILD/simtoolstack" create "$domid" || return 1
	"$SIM_BUILD/simtoolstack" attach "$domid" "$handle" "mac=$mac" \
		"backend-domid=$BACKEND_DOMID" \
		"${VIF_OPTIONS[@]}" || return 1
	ip netns add "sim$domid" || return 1
	world_run "front$domid" "$SIM_BUILD/simfront" --domid "$domid" --handle "$handle" \
		--netns "sim$domid" --mac "$mac" "$@"
	wait_for 10 vif_connected "$domid" "$handle"
}

# No backend may be left with something of the guest when this returns.
guest_stop() {
	local domid=$1 status=0
	world_end "front$domid" || { echo "world: simfront of $domid failed:" >&2
		cat "$WORLD/front$domid.log" >&2; status=1; }
	"$SIM_BUILD/simtoolstack" destroy "$domid" || status=1
	ip netns del "sim$domid" 2>/dev/null
	return "$status"
}

driver_domain_start() {
	"$SIM_BUILD/simtoolstack" create "$1" || return 1
	world_run "simstore$1" "$SIM_BUILD/simstore" "$1" "$WORLD/socket$1"
	wait_for 10 grep -q ready "$WORLD/simstore$1.log"
}

driver_domain() {
	local domid=$1
	shift
	SIMXEN_DOMID=$domid XENSTORED_PATH=$WORLD/socket$domid exec "$@"
}

driver_domain_stop() {
	world_end "simstore$1" || :
	"$SIM_BUILD/simtoolstack" destroy "$1"
}

guest_crash() { world_end "front$1" KILL || :; }
