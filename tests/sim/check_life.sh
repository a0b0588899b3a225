#!/bin/bash
# Lives of simulated guests with the real unetbackd: connect, traffic, reconnect, crash, removal under
# load, poor frontends.  What is looked for at every end: no TAP, no node, no port, no grant, no
# violation of the protocol (simfront's exit status).
#
#	PROGRAMS	folder of unetbackd (build/asan)
#	OPTIONS		more options for it
# Needs root, network namespaces and /dev/net/tun.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
PROGRAMS=${PROGRAMS-$PWD/build/asan}
# shellcheck source=tests/sim/world.sh
. tests/sim/world.sh
directory=$(mktemp -d /tmp/unetback-life.XXXXXX)
number=0 failures=0

# TAP: test NAME FUNCTION
check() {
	number=$((number + 1))
	if "$2" >"$directory/test.log" 2>&1; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		failures=$((failures + 1))
		sed 's/^/# /' "$directory/test.log" "$directory/unetbackd.log"
		guest_stop 1 >/dev/null 2>&1
		guest_stop 2 >/dev/null 2>&1
	fi
}

cleanup() {
	for name in front1 front2 unetbackd9 unetbackd simstore9 xenstored simxen; do world_end "$name" KILL || :; done
	ip netns del sim1 2>/dev/null
	ip netns del sim2 2>/dev/null
	rm -rf "$directory"
}
trap cleanup EXIT

# The host's end of guest 1's wire: 10.78.0.254 on the TAP itself.
host_address() { ip addr add 10.78.0.254/24 dev "vif$1.0"; }
guest_pings() { ip netns exec "sim$1" ping -q -c 3 -i 0.2 -W 2 10.78.0.254; }

# shellcheck disable=SC2317	# called by name, here and below
no_tap() { ! ip -br link | grep -q "^vif$1\.[0-9]"; }
# shellcheck disable=SC2317
gone() { no_tap "$1" && [ -z "$(backend_state "$1" 0)" ] && "$SIM_BUILD/simxenctl" idle; }

# shellcheck disable=SC2317
traffic_both_ways() {
	guest_start 1 --ip 10.78.0.1/24 --check-tail && host_address 1 && guest_pings 1 &&
		ip netns exec sim1 ping -q -c 200 -i 0.002 -s 1400 10.78.0.254 &&
		guest_stop 1 && wait_for 10 gone 1
}

# shellcheck disable=SC2317
a_guest_restarts_in_its_domain() {
	guest_start 1 --ip 10.78.0.1/24 && host_address 1 && world_end front1 || return 1
	for _ in 1 2 3; do
		world_run front1 "$SIM_BUILD/simfront" --domid 1 --netns sim1 --ip 10.78.0.1/24
		wait_for 10 vif_connected 1 0 && guest_pings 1 && world_end front1 || return 1
	done
	guest_stop 1 && wait_for 10 gone 1
}

# shellcheck disable=SC2317
a_crash_and_a_destroy() {
	guest_start 1 --ip 10.78.0.1/24 && host_address 1 && guest_pings 1 && guest_crash 1 &&
		"$SIM_BUILD/simtoolstack" destroy 1 && ip netns del sim1 && wait_for 10 gone 1
}

# shellcheck disable=SC2317
detached_under_load() {
	guest_start 1 --ip 10.78.0.1/24 && host_address 1 && guest_pings 1 || return 1
	world_run flood ip netns exec sim1 ping -q -f -s 1400 10.78.0.254
	wait_for 10 moving 1 && "$SIM_BUILD/simtoolstack" detach 1 0
	local status=$?
	world_end flood INT || :
	guest_stop 1 && wait_for 10 gone 1 && [ "$status" = 0 ]
}
# shellcheck disable=SC2317
moving() { [ "$(cat "/sys/class/net/vif$1.0/statistics/rx_packets")" -gt 100 ]; }

# shellcheck disable=SC2317
a_poor_frontend() {
	guest_start 1 --ip 10.78.0.1/24 --check-tail --rx-requests 4 --single-event --no-sg \
		--no-csum --no-rx-notify --first-index 0xfffffff0 &&
		host_address 1 && guest_pings 1 && guest_stop 1 && wait_for 10 gone 1
}

# shellcheck disable=SC2317
jumbo_frames() {
	local VIF_OPTIONS=(mtu=9000)
	guest_start 1 --ip 10.78.0.1/24 --check-tail --mtu 9000 && host_address 1 &&
		ip netns exec sim1 ping -q -c 3 -i 0.2 -W 2 -M "do" -s 8972 10.78.0.254 &&
		guest_stop 1 && wait_for 10 gone 1
}

# shellcheck disable=SC2317
guests_come_and_go() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		guest_start 1 && guest_start 2 && guest_stop 1 && guest_stop 2 || return 1
	done
	wait_for 10 gone 1 && wait_for 10 gone 2
}

# unetbackd of another domain than 0 serves the vifs that are its own.
# shellcheck disable=SC2317
a_driver_domain() {
	local status=0 BACKEND_DOMID=9
	driver_domain_start 9 || return 1
	world_run unetbackd9 driver_domain 9 env OVS_RUNDIR="$directory/run9" \
		"$PROGRAMS/unetbackd" --user-instance=nobody
	guest_start 1 --ip 10.78.0.1/24 --check-tail && host_address 1 && guest_pings 1 &&
		"$SIM_BUILD/simxenctl" status && guest_stop 1 && wait_for 10 no_tap 1 || status=1
	cat "$directory/unetbackd9.log"
	world_end unetbackd9 && driver_domain_stop 9 && wait_for 10 gone 1 && return $status
}

# shellcheck disable=SC2317
the_end() { world_end unetbackd && world_stop; }

world_start "$directory" || { echo "Bail out! the simulated host does not start"; exit 1; }
export OVS_RUNDIR=$directory/run
mkdir "$OVS_RUNDIR" "$directory/run9"
# shellcheck disable=SC2086	# options are to be split
world_run unetbackd "$PROGRAMS/unetbackd" --user-instance=nobody ${OPTIONS-}
check "a guest connects, frames pass both ways" traffic_both_ways
check "a guest starts again in its domain" a_guest_restarts_in_its_domain
check "a crashed guest is destroyed" a_crash_and_a_destroy
check "a vif is detached under load" detached_under_load
check "a frontend with 4 rx requests and no features" a_poor_frontend
check "jumbo frames" jumbo_frames
check "two guests come and go, ten times" guests_come_and_go
check "a backend in a driver domain" a_driver_domain
check "unetbackd and simxen end well, nothing is left" the_end
echo "1..$number"
[ "$failures" -eq 0 ]
