#!/bin/bash
# Our TAPs as ports of the stock ovs-vswitchd (userspace datapath), in namespaces of their own: what a
# hotplug script does with a vif, carrier, restart of whoever serves it, frames through the switch.
# shellcheck disable=SC2317	# test_that calls the functions
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/system/tap.sh
. tests/system/tap.sh
# shellcheck source=tests/system/ovs.sh
. tests/system/ovs.sh
[ "$(id -u)" -eq 0 ] || { echo "ok 1 - skipped: namespaces need root"; exit 0; }
own_namespace "$@"

work=$(mktemp -d)
coproc TOOL { exec build/asan/tests/system/tap_tool 2>"$work/tool.err"; }
tool_in=${TOOL[1]} tool_out=${TOOL[0]}
cleanup() { ovs_stop; exec {tool_in}>&-; rm -rf "$work"; }
trap cleanup EXIT

# Gives the tool a command; its answer is in $answer.
tool() { echo "$*" >&"$tool_in"; read -rt 20 answer <&"$tool_out"; }
tool_ok() { tool "$@"; [[ $answer == ok* ]] || { echo "$*: $answer"; cat "$work/tool.err"; return 1; }; }
port() { ovs-vsctl --timeout=10 --if-exists get interface "$1" "$2" | tr -d '"'; }
port_is() { [ "$(port "$1" "$2")" = "$3" ]; }

# As vif-openvswitch does it.
plug() {
	ovs-vsctl --timeout=30 -- --if-exists del-port "$1" -- add-port br0 "$1" -- \
		set interface "$1" external-ids:xen-vm-name="guest"
	ip link set "$1" up
}

starts() { ovs_start "$work/ovs" && ovs_bridge br0 && contains "$(ovs-vsctl show)" "datapath_type: netdev"; }

takes_our_tap() {
	tool_ok create vif1.0
	tool_ok create vif2.0
	plug vif1.0
	plug vif2.0
	become "a port number" port_is vif1.0 error "[]"
	[ "$(port vif1.0 ofport)" -gt 0 ]
	contains "$(ip -d link show vif1.0)" "fe:ff:ff:ff:ff:ff"
	same "$(cat /sys/class/net/vif1.0/tx_queue_len)" 1000
	same "$(cat /proc/sys/net/ipv6/conf/vif1.0/disable_ipv6 2>/dev/null || echo 1)" 1
}

follows_carrier() {
	become "link down" port_is vif1.0 link_state down
	tool_ok carrier vif1.0 1
	become "link up" port_is vif1.0 link_state up
	tool_ok carrier vif1.0 0
	become "link down again" port_is vif1.0 link_state down
	tool_ok carrier vif1.0 1
	tool_ok carrier vif2.0 1
	become "links up" port_is vif2.0 link_state up
}

# @1 sends until @2 has it: a port takes part some time after its link is up.
passes() {
	for number in 1 2 3 4; do
		tool_ok send "$1" "$number"
		tool receive "$2"
		[[ $answer != ok* ]] || return 0
	done
	echo "nothing arrived at $2: $answer"
	ovs-ofctl dump-ports br0
	return 1
}

frames_pass() { passes vif1.0 vif2.0 && passes vif2.0 vif1.0; }

survives_restart() {
	local ofport ifindex
	ofport=$(port vif1.0 ofport)
	ifindex=$(cat /sys/class/net/vif1.0/ifindex)
	tool_ok forget vif1.0
	become "link down" port_is vif1.0 link_state down
	tool_ok create vif1.0
	tool_ok carrier vif1.0 1
	become "link up" port_is vif1.0 link_state up
	same "$(port vif1.0 ofport)" "$ofport"
	same "$(cat /sys/class/net/vif1.0/ifindex)" "$ifindex"
	passes vif1.0 vif2.0
}

takes_mtu() {
	tool_ok mtu vif1.0 9000
	become "the mtu" port_is vif1.0 mtu 9000
}

leaves_nothing() {
	local name
	for name in vif1.0 vif2.0; do
		ovs-vsctl --timeout=30 --if-exists del-port "$name"
		tool_ok destroy "$name"
		[ ! -e "/sys/class/net/$name" ]
	done
	same "$(ovs-vsctl list-ports br0)" ""
}

stops() {
	ovs_stop
	[ ! -e "$work/ovs/ovs-vswitchd.pid" ]
	[ ! -e "$work/ovs/ovsdb-server.pid" ]
}

test_that "an Open vSwitch of our own starts" starts
export OVS_RUNDIR=$work/ovs OVS_LOGDIR=$work/ovs OVS_DBDIR=$work/ovs	# tests run in subshells
test_that "add-port as vif-openvswitch does it" takes_our_tap
test_that "link_state follows the carrier" follows_carrier
test_that "frames pass from guest to guest" frames_pass
test_that "port number and ifindex outlive a restart" survives_restart
test_that "the mtu is the guest's" takes_mtu
test_that "del-port and destroy leave nothing" leaves_nothing
test_that "it stops" stops
tests_done
