#!/bin/bash
# Processes that die under running traffic.  Two guests of two queues have a TCP connection through two vifs and
# the host; instances and unetbackd are killed and ended under it.  What is shown: the connection goes on
# (the very same, ever more bytes acknowledged), no xenbus state is written at either end, `unetback
# show` tells of it, restarts slow down, and what changed while no unetbackd ran is made up for.
#
# Needs root, namespaces and /dev/net/tun.
# shellcheck disable=SC2317,SC2119	# tests are called by name, mostly without arguments
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/sim/checks.sh
. tests/sim/checks.sh
checks_begin unetback-restart

# --- traffic --------------------------------------------------------------------------------------

guest() {
	guest_start "$1" --queues 2 --ip "10.78.$1.1/24" && ip addr add "10.78.$1.254/24" dev "vif$1.0" &&
		ip -n "sim$1" route add default via "10.78.$1.254"
}

listening() { ip netns exec sim2 ss -tlnH | grep -q :5201; }

two_guests_talk() {
	echo 1 >/proc/sys/net/ipv4/ip_forward
	guest 1 && guest 2 || return 1
	world_run server ip netns exec sim2 iperf3 -s
	wait_for 10 listening || return 1
	world_run stream ip netns exec sim1 iperf3 -c 10.78.2.1 -t 600
	wait_for 10 stream && go_on
}

# "PORT BYTES" of the connection that carries the stream: its own end, bytes acknowledged.
stream() {
	ip netns exec sim1 ss -tniH state established dst 10.78.2.1 | awk '
		/^[0-9]/ { split($3, address, ":") }
		match($0, /bytes_acked:[0-9]+/) {
			acked = substr($0, RSTART + 12, RLENGTH - 12) + 0
			if (acked > most) { most = acked; port = address[2] }
		}
		END { if (!port) exit 1; printf "%s %.0f\n", port, most }' most=0
}
stream_moved() {	# PORT BYTES
	local port bytes
	read -r port bytes < <(stream)
	[ "$port" = "$1" ] && [ "$bytes" -gt "$2" ]
}
# A megabyte more than now, over the same connection.
go_on() {
	local port bytes
	read -r port bytes < <(stream) && wait_for 20 stream_moved "$port" $((bytes + 1000000))
}

# Runs a command and fails if a state is written meanwhile: a watch tells each path once at first.
quietly() {
	local log=$WORLD/watch.log status=0 paths=()
	for guest in 1 2; do
		paths+=("/local/domain/0/backend/vif/$guest/0/state" "/local/domain/$guest/device/vif/0/state")
	done
	world_run watch stdbuf -oL xenstore-watch "${paths[@]}"
	wait_for 10 watch_has 4 && "$@" || status=1
	world_end watch || :
	watch_has 4 || say "states were written:" "$(cat "$log")" || status=1
	return "$status"
}
watch_has() { [ "$(wc -l <"$WORLD/watch.log")" = "$1" ]; }

# --- instances ------------------------------------------------------------------------------------

pid_of() { show "vif$1.0" pid; }
has_other_pid() {	# GUEST PID
	local pid
	pid=$(pid_of "$1") && [ "${pid:-0}" -gt 0 ] && [ "$pid" != "$2" ]
}

kill_instance() {	# GUEST RESTARTS-AFTERWARDS
	local pid
	pid=$(pid_of "$1") && kill -KILL "$pid" && wait_for 20 has_other_pid "$1" "$pid" && go_on &&
		same "$(show "vif$1.0" restarts)" "$2" &&
		same "$(show "vif$1.0" last_end)" "killed by signal 9 (Killed)"
}
receivers_instance_dies() { quietly kill_instance 2 1; }
senders_instance_dies() { quietly kill_instance 1 1; }

both() {
	local one two
	one=$(pid_of 1) two=$(pid_of 2)
	kill -KILL "$one" "$two" && wait_for 20 has_other_pid 1 "$one" &&
		wait_for 20 has_other_pid 2 "$two" && go_on
}
both_instances_die() { quietly both; }

# By now both had two: at once, then after a second.
they_slow_down() {
	kill_instance 1 3 && same "$(grep -o 'guest 1: .*starting another in .*' "$WORLD/unetbackd.log" |
		sed 's/.* in //' | paste -sd ' ')" "0 ms 1000 ms 2000 ms"
}

stopped() {
	local pid
	pid=$(pid_of 2) && kill -STOP "$pid" && kill -KILL "$pid" && wait_for 20 has_other_pid 2 "$pid" &&
		go_on
}

# --- unetbackd ------------------------------------------------------------------------------------

index_of() { ip -o link show "vif$1.0" | cut -d: -f1; }

# The devices stay, with their numbers, and with them bridge ports and flows.
restart() {	# SIGNAL
	local one two
	one=$(index_of 1) two=$(index_of 2)
	world_end unetbackd "$1" || [ "$1" = KILL ] || say "it ended with status $?" || return 1
	unetbackd_start && wait_for 20 has_other_pid 1 0 && wait_for 20 has_other_pid 2 0 && go_on &&
		same "$(index_of 1) $(index_of 2)" "$one $two" &&
		same "$(show vif1.0 restarts)" 0 && same "$(show vif1.0 backend_state)" Connected
}
killed() { quietly restart KILL; }
terminated() { quietly restart TERM; }

# Nothing is between the old one's end and the new one's start.
at_once() {
	local old
	old=$(cat "$WORLD/unetbackd.pid")
	kill -KILL "$old" && unetbackd_start && wait_for 20 has_other_pid 1 0 && go_on
}
killed_and_started_at_once() { quietly at_once; }

exit_command() {
	env ovs-appctl -t "$OVS_RUNDIR/unetbackd.$(cat "$WORLD/unetbackd.pid").ctl" exit &&
		wait "$(cat "$WORLD/unetbackd.pid")" && rm "$WORLD/unetbackd.pid" && unetbackd_start &&
		wait_for 20 has_other_pid 1 0 && go_on
}
told_to_exit() { quietly exit_command; }

state_is() { [ "$(backend_state "$1" 0)" = "$2" ]; }

# Guest 3 connects, and closes, while there is no unetbackd.
meanwhile_closed() {
	guest 3 && world_end unetbackd KILL
	kill -TERM "$(cat "$WORLD/front3.pid")" && unetbackd_start && wait_for 20 state_is 3 6 &&
		guest_stop 3 && go_on
}

meanwhile_came() {
	world_end unetbackd KILL
	"$SIM_BUILD/simtoolstack" create 3 || return 1
	world_run attach "$SIM_BUILD/simtoolstack" attach 3 0 timeout=30
	wait_for 10 state_is 3 1 && unetbackd_start && world_wait attach && wait_for 20 has_other_pid 1 0 &&
		go_on && "$SIM_BUILD/simtoolstack" destroy 3
}

# Who set a device down is obeyed, also when it is set up again while there is no unetbackd.
told_of_link() {	# GUEST WORD CARRIER DISCONNECT
	[ "$(show "vif$1.0" link) $(xenstore-read "/local/domain/0/backend/vif/$1/0/carrier" \
		"/local/domain/$1/device/vif/0/disconnect" | paste -sd ' ')" = "$2 $3 $4" ]
}
a_link_stays_down() {
	guest 3 && ip link set vif3.0 down && wait_for 10 told_of_link 3 down 0 1 || return 1
	world_end unetbackd KILL
	unetbackd_start && wait_for 20 told_of_link 3 down 0 1 && contains "$(ip link show vif3.0)" "state DOWN" ||
		return 1
	world_end unetbackd KILL
	ip link set vif3.0 up && unetbackd_start && wait_for 20 told_of_link 3 up 1 0 && guest_stop 3 && go_on
}

# --- the end --------------------------------------------------------------------------------------

no_taps() { ! ip -br link | grep -q "^vif"; }

everybody_leaves() {
	world_end stream INT
	world_end server INT
	guest_stop 1 && guest_stop 2 && wait_for 10 no_taps
}

the_end() { world_end unetbackd && sanitizers_are_silent && world_stop; }

unetbackd_start
check "two guests talk" two_guests_talk
check "the receiver's instance is killed" receivers_instance_dies
check "the sender's instance is killed" senders_instance_dies
check "both instances are killed" both_instances_die
check "an instance that dies again and again is started later each time" they_slow_down
check "a stopped instance is killed" stopped
check "unetbackd is killed, another takes over" killed
check "unetbackd is terminated, another takes over" terminated
check "unetbackd is killed and started at once" killed_and_started_at_once
check "unetbackd is told to exit, another takes over" told_to_exit
check "a guest closes while there is no unetbackd" meanwhile_closed
check "a vif is attached while there is no unetbackd" meanwhile_came
check "a link that is set down stays down" a_link_stays_down
check "the guests leave" everybody_leaves
check "unetbackd and simxen end well, nothing is left" the_end
checks_end
