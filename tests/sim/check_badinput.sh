#!/bin/bash
# What a person, a host or another program can get wrong.  A start that cannot be is one line that names
# the thing and its value, and exit status 1; a device that is somebody else's closes one vif, with the
# reason in its error node and what to do in the log, is never changed, and is no obstacle once it is
# gone; an instance that cannot run is shown.  Guest 1, connected all the time, does not notice.
#
# Options, keys and states are check_control.sh's.  Needs root, namespaces and /dev/net/tun.
# shellcheck disable=SC2317,SC2119	# tests are called by name, mostly without arguments
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/sim/checks.sh
. tests/sim/checks.sh
checks_begin unetback-badinput

guest_one_is_well() { ip netns exec sim1 ping -q -c 2 -i 0.2 -W 2 10.78.1.254; }
guest_one() {
	guest_start 1 --ip 10.78.1.1/24 --check-tail && ip addr add 10.78.1.254/24 dev vif1.0 &&
		guest_one_is_well
}

# --- starts that cannot be ------------------------------------------------------------------------

# A line on stderr that contains each of the words up to --, and exit status 1.
refused() {	# WORDS... -- [VARIABLE=VALUE...] [OPTION...]
	local words=() variables=() output status=0 word
	while [ "$1" != -- ]; do words+=("$1"); shift; done
	shift
	while [[ ${1-} == [A-Z]*=* ]]; do variables+=("$1"); shift; done
	output=$(env OVS_RUNDIR="$WORLD/other" "${variables[@]}" timeout 20 "$PROGRAMS/unetbackd" \
		--user-instance=nobody "$@" 2>&1 </dev/null) || status=$?
	for word in "${words[@]}"; do contains "$output" "$word" || return 1; done
	same "$status" 1 && same "$(wc -l <<<"$output")" 1
}

run_folders() {
	mkdir "$WORLD/other" "$WORLD/readonly" && mount -t tmpfs -o ro readonly "$WORLD/readonly" &&
		touch "$WORLD/file" || return 1
	refused "$WORLD/readonly cannot be written" OVS_RUNDIR -- OVS_RUNDIR="$WORLD/readonly" &&
		refused "$WORLD/file" -- OVS_RUNDIR="$WORLD/file" &&
		refused "$WORLD/none cannot be written" "make it" -- OVS_RUNDIR="$WORLD/none"
	local status=$?
	umount "$WORLD/readonly"
	return "$status"
}

# libopenvswitch's own words.
files_of_its_own() {
	refused "/nowhere/pid.tmp: create failed (No such file" -- --pidfile=/nowhere/pid &&
		refused "failed to open /nowhere/log for logging: No such file" -- --log-file=/nowhere/log
}

a_second_one() { refused "already running" -- OVS_RUNDIR="$OVS_RUNDIR"; }

no_xen() {
	refused "/dev/xen/evtchn cannot be opened" "xen-evtchn" -- SIMXEN_SOCKET="$WORLD/none" &&
		refused "/dev/xen/evtchn cannot be opened" -- SIMXEN_SOCKET="$WORLD/file"
}

no_xenstored() {
	# a socket that nobody listens on
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$WORLD/deaf"
	refused "no connection to xenstored" "is xenstored running" -- XENSTORED_PATH="$WORLD/none" &&
		refused "no connection to xenstored" "Connection refused" -- XENSTORED_PATH="$WORLD/deaf"
}

no_domid() {
	local status=0
	xenstore-write /local/domain/0/domid twelve
	refused "domid" "Invalid argument" -- || status=1
	xenstore-rm /local/domain/0/domid
	refused "domid" "No such file" -- || status=1
	xenstore-write /local/domain/0/domid 0
	return "$status"
}

programs_that_are_none() {
	refused "--instance is '$WORLD/file'" "Permission denied" -- --instance="$WORLD/file" &&
		refused "--instance is '$WORLD': Is a directory" -- --instance="$WORLD"
}

options_that_are_none() {
	refused "unrecognized option '--rx-deep=5'" -- --rx-deep=5 &&
		refused "'vif1.0' is not an option" -- vif1.0 && refused "--user=nobody" root -- --user=nobody
}

# --- devices that are somebody else's -------------------------------------------------------------

back=/local/domain/0/backend/vif/3/0 front=/local/domain/3/device/vif/0
error_of() { xenstore-read /local/domain/0/error/backend/vif/3/0/error 2>/dev/null; }
state_is() { [ "$(backend_state "$1" 0)" = "$2" ]; }
no_tap() { ! ip -br link | grep -q "^vif$1\.[0-9]"; }
sees_closed() { [ "$(show vif3.0 frontend_state)" = Closed ]; }	# two states in one look are none
device() { ip -d link show vif3.0 | sed 's/numrxqueues.*//; s/qlen.*//'; }

# Guest 3 comes while the device is there; its error node and the log say WORDS; when it is gone, the
# guest is served.
obstacle() {	# WORDS
	local before reason status=0
	before=$(device)
	xenstore-write "$front/state" 1 "$front/backend" "$back" "$back/frontend" "$front" "$back/frontend-id" 3 \
		"$back/online" 1 "$back/handle" 0 "$back/hotplug-status" connected "$back/state" 1
	reason="vif3.0: cannot make the device vif3.0: $1"
	wait_for 10 state_is 3 6 && contains "$(error_of)" "22 $reason" || status=1
	grep -qF "$reason" "$WORLD/unetbackd.log" || say "not in the log: $reason" || status=1
	same "$(device)" "$before" || status=1
	guest_one_is_well || status=1
	[ -z "${holder-}" ] || { kill "$holder"; wait "$holder" 2>/dev/null; holder=; }
	ip link del vif3.0 2>/dev/null
	xenstore-write "$front/state" 6 && wait_for 10 sees_closed && xenstore-write "$front/state" 1 &&
		wait_for 10 state_is 3 2 &&
		ip -d link show vif3.0 | grep -q "vnet_hdr on" || status=1
	xenstore-rm /local/domain/3
	xenstore-rm /local/domain/0/backend/vif/3
	wait_for 10 no_tap 3 && return "$status"
}

no_tap_at_all() { ip link add vif3.0 type veth peer name peer3 && obstacle "a network device of that name exists and is no TAP (kind veth)"; }
a_tun() { ip tuntap add vif3.0 mode tun && obstacle "a TUN of another form exists"; }
one_queue() { ip tuntap add vif3.0 mode tap vnet_hdr && obstacle "a TAP of another form exists"; }
somebodys() {
	ip tuntap add vif3.0 mode tap vnet_hdr multi_queue user nobody &&
		obstacle "a TAP exists that another user or group may open"
}

# A program that has a queue of it open: 0x0002 TAP, 0x1000 NO_PI, 0x4000 VNET_HDR, 0x0100 MULTI_QUEUE.
hold() {	# FLAGS
	python3 -c 'import fcntl, os, signal, struct, sys
fd = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", b"vif3.0", int(sys.argv[1], 0)))
open(sys.argv[2], "w").close()
signal.pause()' "$1" "$WORLD/held" &
	holder=$!
	wait_for 20 test -e "$WORLD/held" && rm "$WORLD/held"
}
another_programs() { hold 0x1002 && obstacle "the TAP belongs to another program"; }
served_by_another() {
	ip tuntap add vif3.0 mode tap vnet_hdr multi_queue && hold 0x5102 &&
		obstacle "the TAP is served by another program (pid $holder, python"
}

# One that an earlier unetbackd left is what we would make.
left_by_us() {
	local index
	ip tuntap add vif3.0 mode tap vnet_hdr multi_queue && index=$(ip -o link show vif3.0 | cut -d: -f1) &&
		"$SIM_BUILD/simtoolstack" create 3 && "$SIM_BUILD/simtoolstack" attach 3 0 || return 1
	same "$(ip -o link show vif3.0 | cut -d: -f1)" "$index"
	local status=$?
	"$SIM_BUILD/simtoolstack" destroy 3 && wait_for 10 no_tap 3 && return "$status"
}

# --- an instance that cannot run ------------------------------------------------------------------

daemon5() { OVS_RUNDIR=$WORLD/run5 "$@"; }
daemon5_shows() { daemon5 "$PROGRAMS/unetback" show vif5.0 | grep "$1"; }

useless_instance() {
	local status=0
	world_end unetbackd && unetbackd_start --except=5 && mkdir "$WORLD/run5" || return 1
	daemon5 world_run unetbackd5 "$PROGRAMS/unetbackd" --user-instance=nobody --domid=5 \
		--instance=/bin/false
	"$SIM_BUILD/simtoolstack" create 5 && "$SIM_BUILD/simtoolstack" attach 5 0 && ip netns add sim5 ||
		return 1
	world_run front5 "$SIM_BUILD/simfront" --domid 5 --netns sim5
	wait_for 10 daemon5_shows "last_end: *exit status 1" &&
		daemon5_shows "waiting_for: *the guest's instance" && state_is 5 2 || status=1
	wait_for 10 grep -q "guest 5: its instance ended: exit status 1; starting another in 1000 ms" \
		"$WORLD/unetbackd5.log" || status=1
	guest_one_is_well || status=1
	guest_stop 5 || status=1
	world_end unetbackd5 && wait_for 10 no_tap 5 && rm "$WORLD/unetbackd5.log" && return "$status"
}

# --- the end --------------------------------------------------------------------------------------

leave() { guest_stop 1 && wait_for 10 no_tap 1; }

nothing_is_left() { world_check; }

# Who is connected goes on; somebody has to be told.
xenstored_dies() {
	guest_one || return 1
	world_end xenstored KILL
	wait_for 10 grep -q "connection to xenstored lost" "$WORLD/unetbackd.log" && guest_one_is_well &&
		contains "$("$PROGRAMS/unetback" list)" vif1.0 && world_end unetbackd &&
		same "$(grep -c "connection to xenstored lost" "$WORLD/unetbackd.log")" 1
}

unetbackd_start
check "a guest connects" guest_one
check "run folders that cannot be written" run_folders
check "files that cannot be made" files_of_its_own
check "a second unetbackd" a_second_one
check "no Xen" no_xen
check "no xenstored" no_xenstored
check "no domid" no_domid
check "an instance that is no program" programs_that_are_none
check "options that are none" options_that_are_none
check "the device is no TAP" no_tap_at_all
check "the device is a TUN" a_tun
check "the device is a TAP of another form" one_queue
check "the device is another user's" somebodys
check "the device is another program's" another_programs
check "the device is served by another program" served_by_another
check "the device is what we would make" left_by_us
check "an instance that ends at once" useless_instance
check "guest 1 is well and leaves" leave
check "nothing is left" nothing_is_left
check "xenstored dies" xenstored_dies
check "no sanitizer has spoken" sanitizers_are_silent
checks_end
