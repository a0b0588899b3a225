#!/bin/bash
# The control plane against the real xenstored: starts that cannot be, frontends that write nonsense,
# devices that are somebody else's, and processes that die under a running guest.  What must never
# happen: a neighbour that notices.
#
#	PROGRAMS	folder of unetbackd (build/asan)
# Needs root, network namespaces and /dev/net/tun.
# shellcheck disable=SC2317	# tests are called by name
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
PROGRAMS=${PROGRAMS-$PWD/build/asan}
# shellcheck source=tests/sim/world.sh
. tests/sim/world.sh
directory=$(mktemp -d /tmp/unetback-control.XXXXXX)
number=0 failures=0

check() {	# NAME FUNCTION
	number=$((number + 1))
	if "$2" >"$directory/test.log" 2>&1; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		failures=$((failures + 1))
		sed 's/^/# /' "$directory/test.log" "$directory/unetbackd.log"
		front_gone 3
	fi
}

cleanup() {
	for name in front1 front2 unetbackd xenstored simxen; do world_end "$name" KILL || :; done
	ip netns del sim1 2>/dev/null
	ip netns del sim2 2>/dev/null
	ip link del vif3.0 2>/dev/null
	rm -rf "$directory"
}
trap cleanup EXIT

say() { echo "$*"; false; }
same() { [ "$1" = "$2" ] || say "'$1' is not '$2'"; }
contains() { case $1 in *"$2"*) ;; *) say "'$1' does not contain '$2'" ;; esac; }

# --- starts that cannot be ------------------------------------------------------------------------

# One line on stderr that contains TEXT, and exit status 1.
refused() {	# TEXT COMMAND...
	local text=$1 output status=0
	shift
	output=$(OVS_RUNDIR=${RUN-$directory/other} timeout 20 "$@" 2>&1 </dev/null) || status=$?
	contains "$output" "$text" && same "$status" 1 && same "$(wc -l <<<"$output")" 1
}

daemon=("$PROGRAMS/unetbackd" --user-instance=nobody)

bad_options() {
	refused "--port is 'vhost', must be one of: tap null" "${daemon[@]}" --port=vhost &&
	refused "--domid is 'x', must be a number from 0 to 32751" "${daemon[@]}" --domid=x &&
	refused "--domid is '32752', must be a number" "${daemon[@]}" --domid=32752 &&
	refused "--except is 'y', must be a number" "${daemon[@]}" --except=1,y &&
	refused "--instance is '/nonexistent'" "${daemon[@]}" --instance=/nonexistent &&
	refused "--user-instance is 'nobody-at-all', must be an existing user" \
		"$PROGRAMS/unetbackd" --user-instance=nobody-at-all &&
	refused "--user-instance is 'root', must be an existing user that is not root" \
		"$PROGRAMS/unetbackd" --user-instance=root &&
	refused "--rx-depth-frames is '0', must be a number from 1 to 8192" \
		"${daemon[@]}" --rx-depth-frames=0 &&
	refused "--rx-depth-bytes is '131071', must be a number from 131072 to 67108864" \
		"${daemon[@]}" --rx-depth-bytes=131071 &&
	refused "--speed is '10', must be a number from 1 to 999999 and G, M or K, such as 10G" \
		"${daemon[@]}" --speed=10 &&
	refused "--speed is '0G', must be a number" "${daemon[@]}" --speed=0G &&
	refused "--speed is '1000000K', must be a number" "${daemon[@]}" --speed=1000000K &&
	refused "--speed is '10Gb', must be a number" "${daemon[@]}" --speed=10Gb &&
	refused "--rx-age-ms is '60001', must be a number from 1 to 60000" \
		"${daemon[@]}" --rx-age-ms=60001
}

no_xen() {
	mkdir -p "$directory/other"
	refused "no connection to xenstored" env XENSTORED_PATH="$directory/nobody" "${daemon[@]}" &&
	refused "/dev/xen/evtchn cannot be opened" env -u LD_LIBRARY_PATH "${daemon[@]}" &&
	RUN=$directory/nowhere refused "$directory/nowhere cannot be written" "${daemon[@]}"
}

# --- a guest that is only XenStore nodes ----------------------------------------------------------

back=/local/domain/0/backend/vif front=/local/domain/3/device/vif/0
error_of() { xenstore-read "/local/domain/0/error/backend/vif/3/0/error" 2>/dev/null; }
state_is() { [ "$(backend_state 3 0)" = "$1" ]; }

attach3() {	# as libxl does
	xenstore-write $front/state 1 $front/backend $back/3/0 $back/3/0/frontend "${1-$front}" \
		$back/3/0/frontend-id 3 $back/3/0/online 1 $back/3/0/handle 0 \
		$back/3/0/hotplug-status connected $back/3/0/state 1
}

# The keys of a frontend whose rings do not exist; arguments override: KEY VALUE...
keys3() {
	xenstore-write $front/tx-ring-ref 8 $front/rx-ring-ref 9 $front/event-channel 1 \
		$front/request-rx-copy 1 $front/feature-sg 1 $front/feature-rx-notify 1
	while [ $# -gt 0 ]; do
		xenstore-write "$front/$1" "$2"
		shift 2
	done
	xenstore-write $front/state 4
}

front_gone() {
	xenstore-rm "/local/domain/$1" 2>/dev/null
	xenstore-rm "$back/$1" 2>/dev/null
	wait_for 10 no_tap "$1"
}
no_tap() { ! ip -br link | grep -q "^vif$1\.[0-9]"; }

# A frontend with these keys is closed with that reason, which is also one line of the log.
closed_with() {	# REASON KEY VALUE...
	local reason=$1
	shift
	attach3 && wait_for 10 state_is 2 && keys3 "$@" && wait_for 10 state_is 6 || return 1
	contains "$(error_of)" "22 vif3.0: $reason" || return 1
	grep -qF "vif3.0: $reason" "$directory/unetbackd.log" || say "not in the log: $reason" || return 1
	"$PROGRAMS/unetback" show vif3.0 | grep -qF "$reason" || say "not shown: $reason" || return 1
	front_gone 3
	! xenstore-exists /local/domain/0/error/backend/vif/3 || say "the error node is left"
}

bad_keys() {
	closed_with "tx-ring-ref is '', must be a number from 1 to 4294967295" tx-ring-ref "" &&
	closed_with "tx-ring-ref is '0', must be a number" tx-ring-ref 0 &&
	closed_with "rx-ring-ref is '99999999999', must be a number" rx-ring-ref 99999999999 &&
	closed_with "event-channel is ' 1', must be a number" event-channel " 1" &&
	closed_with "feature-sg is 'yes', must be a number from 0 to 1" feature-sg yes
}

bad_pairs() {
	closed_with "tx-ring-ref and rx-ring-ref are both 9, they must differ" tx-ring-ref 9 &&
	closed_with "event-channel-tx and event-channel-rx are both 2, they must differ" \
		event-channel-tx 2 event-channel-rx 2
}

flip_only() { closed_with "request-rx-copy is missing or 0, must be 1: this backend copies" request-rx-copy 0; }

# A guest that has no such event channel; and one whose driver, asleep, is made to say other keys.
rings_that_are_not_there() {
	local front2=/local/domain/2/device/vif/0 driver
	"$SIM_BUILD/simxenctl" create 3 &&
		closed_with "cannot bind the guest's event-channel 4000: " event-channel 4000 &&
		"$SIM_BUILD/simxenctl" destroy 3 && guest_start 2 || return 1
	driver=$(cat "$directory/front2.pid")
	kill -STOP "$driver"
	xenstore-write $front2/state 6 && wait_for 10 state_of_2 6 && xenstore-write $front2/state 1 &&
		wait_for 10 state_of_2 2 && xenstore-write $front2/rx-ring-ref 20000 $front2/state 4 &&
		wait_for 10 state_of_2 6 &&
		contains "$(xenstore-read /local/domain/0/error/backend/vif/2/0/error)" \
			"22 vif2.0: cannot map rx-ring-ref 20000: "
	local status=$?
	kill -CONT "$driver"
	guest_stop 2
	return $status
}
state_of_2() { [ "$(backend_state 2 0)" = "$1" ]; }

bad_state() {
	attach3 && wait_for 10 state_is 2 && xenstore-write $front/state four && wait_for 10 state_is 6 &&
		contains "$(error_of)" "the frontend's state is 'four', must be a number from 1 to 8" &&
		front_gone 3
}

bad_path() {
	attach3 /local/domain/1/device/vif/0 && wait_for 10 state_is 6 &&
		contains "$(error_of)" "must be a path below /local/domain/3/" && front_gone 3
}

bad_names() {
	local name
	for name in x/0 3x/0 03/0 4/x 4/65536 32752/0; do xenstore-write "$back/$name/state" 1; done
	wait_for 10 grep -qF "backend/vif/32752 is left alone" "$directory/unetbackd.log" || return 1
	for name in x 3x 03 4 32752; do xenstore-rm "$back/$name"; done
	same "$(grep -c "is left alone" "$directory/unetbackd.log")" 6
}

foreign_device() {
	ip tuntap add vif3.0 mode tun && attach3 && wait_for 10 state_is 6 &&
		contains "$(error_of)" "cannot make the device vif3.0: a TUN of another form exists" || return 1
	ip link del vif3.0 && xenstore-write $front/state 6 && xenstore-write $front/state 1 &&
		wait_for 10 state_is 2 && front_gone 3
}

the_script_decides() {
	attach3 && xenstore-write $back/3/0/hotplug-status "" && wait_for 10 state_is 2 &&
		xenstore-write $front/state 6 && wait_for 10 state_is 6 && front_gone 3
}

detached_before_it_came() {
	attach3 && wait_for 10 state_is 2 && xenstore-write $back/3/0/online 0 $back/3/0/state 5 &&
		wait_for 10 state_is 6 && front_gone 3
}

# --- what guest 1 must not notice -----------------------------------------------------------------

guest_pings() { ip netns exec "sim$1" ping -q -c "${2-3}" -i 0.2 -W 2 "10.78.$1.254"; }
address() { ip addr add "10.78.$1.254/24" dev "vif$1.0"; }
guest() { guest_start "$1" --ip "10.78.$1.1/24" --check-tail && address "$1" && guest_pings "$1"; }

instance_pid() { "$PROGRAMS/unetback" show vif1.0 | sed -n 's/^ *pid: *//p'; }
other_pid() { local pid; pid=$(instance_pid) && [ "$pid" -gt 0 ] && [ "$pid" != "$1" ]; }

killed_instance() {
	local pid
	pid=$(instance_pid) && kill -KILL "$pid" && wait_for 10 other_pid "$pid" && guest_pings 1 &&
		same "$(backend_state 1 0)$(frontend_state 1 0)" 44 &&
		"$PROGRAMS/unetback" show vif1.0 | grep -q "killed by signal 9"
}

# Watches must not see a word of it.
daemon_restarts() {	# SIGNAL
	local pid
	xenstore-watch -n 2 "$back/1/0/state" >"$directory/watch.log" 2>&1 & # the first one is for free
	pid=$!
	world_end unetbackd "$1" || :
	ip -br link show vif1.0 | grep -q vif1.0 || say "the device is gone" || return 1
	start_daemon
	wait_for 10 other_pid 0 && guest_pings 1 || return 1
	kill -0 "$pid" || say "state was written: $(cat "$directory/watch.log")" || return 1
	kill "$pid"
	same "$(backend_state 1 0)$(frontend_state 1 0)" 44
}
daemon_ends_and_comes_back() { daemon_restarts TERM; }
daemon_crashes_and_comes_back() { daemon_restarts KILL; }

# A guest rewrites its state as fast as xenstored takes it; another one connects meanwhile.
storm() {
	local from to
	attach3 && wait_for 10 state_is 2 || return 1
	(trap 'exit' TERM; while :; do xenstore-write $front/state 1 $front/state 2 $front/state 1 \
		$front/state 2 $front/state 1 $front/state 2 $front/state 1 $front/state 2; done) &
	local writer=$!
	from=$(cpu_ms)
	guest 2 && guest_pings 1 15
	local status=$?
	to=$(cpu_ms)
	kill "$writer"; wait "$writer" 2>/dev/null
	echo "unetbackd took $((to - from)) ms of CPU"
	guest_stop 2 && front_gone 3 && [ $status = 0 ]
}
cpu_ms() {
	local stat
	read -ra stat <"/proc/$(cat "$directory/unetbackd.pid")/stat"
	echo $(((stat[13] + stat[14]) * 10))
}

except_others() {
	world_end unetbackd && start_daemon --except=3,4 && attach3 || return 1
	guest 2 && state_is 1 && same "$("$PROGRAMS/unetback" list | grep -c vif3)" 0 || return 1
	guest_stop 2 && world_end unetbackd && start_daemon --domid=3 && wait_for 10 state_is 2 &&
		same "$("$PROGRAMS/unetback" list | grep -c vif)" 2 && front_gone 3 || return 1
	world_end unetbackd && start_daemon && wait_for 10 other_pid 0 && guest_pings 1
}

guest_one() { guest 1; }
leave() { guest_stop 1 && wait_for 10 no_tap 1; }

clean_logs() {
	! grep -E "ERROR: .*Sanitizer|runtime error|exit status|signal 1?[1-8] " "$directory"/unetbackd*.log
}

the_end() { world_end unetbackd && world_stop; }

start_daemon() {
	[ ! -e "$directory/unetbackd.log" ] || cat "$directory/unetbackd.log" >>"$directory/unetbackd-before.log"
	world_run unetbackd "${daemon[@]}" "$@"
	wait_for 10 "$PROGRAMS/unetback" list
}

world_start "$directory" || { echo "Bail out! the simulated host does not start"; exit 1; }
export OVS_RUNDIR=$directory/run
mkdir "$OVS_RUNDIR"
check "options that make no sense" bad_options
check "no xenstored, no Xen, no run folder" no_xen
start_daemon
check "a guest connects" guest_one
check "keys that are no numbers" bad_keys
check "keys that do not fit together" bad_pairs
check "a frontend that flips pages" flip_only
check "ring and channel that do not exist" rings_that_are_not_there
check "a state that is none" bad_state
check "a frontend in another guest" bad_path
check "names that are no vifs" bad_names
check "a device that is somebody else's" foreign_device
check "closed while the script has not spoken" the_script_decides
check "detached before its driver came" detached_before_it_came
check "an instance is killed" killed_instance
check "unetbackd ends and comes back" daemon_ends_and_comes_back
check "unetbackd is killed and comes back" daemon_crashes_and_comes_back
check "a guest that writes its state all the time" storm
check "--except and --domid" except_others
check "guest 1 has noticed nothing and leaves" leave
check "no sanitizer has spoken" clean_logs
check "unetbackd and simxen end well, nothing is left" the_end
echo "1..$number"
[ "$failures" -eq 0 ]
