# ovs.sh - an Open vSwitch of one's own, for tests and demo-sim.  To be sourced.
#
#	own_namespace "$@"	first of all: runs the script again in network and mount namespaces of its
#				own, so that devices, `ip netns` names and /sys are its own and vanish with it
#	ovs_start FOLDER	ovsdb-server and the stock ovs-vswitchd, userspace datapath with TSO, all of
#				their files in FOLDER; exports OVS_RUNDIR, OVS_LOGDIR, OVS_DBDIR
#	ovs_bridge NAME		a bridge of that datapath, up
#	ovs_stop		ends both; also when start failed half-way
#
# Needs root and tap.sh (become).  No function waits for anything but a condition.
# shellcheck shell=bash

own_namespace() {
	[ -z "${OWN_NAMESPACE-}" ] || return 0
	# shellcheck disable=SC2016	# expands in the new namespaces
	OWN_NAMESPACE=1 exec unshare --net --mount --propagation private -- bash -c '
		mount -t sysfs sysfs /sys && mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns &&
		ip link set lo up && exec "$0" "$@"' "$(realpath "$0")" "$@"
}

ovs_start() {
	local folder=$1
	mkdir -p "$folder"
	export OVS_RUNDIR=$folder OVS_LOGDIR=$folder OVS_DBDIR=$folder
	ovsdb-tool create "$folder/conf.db" /usr/share/openvswitch/vswitch.ovsschema || return
	ovsdb-server "$folder/conf.db" --remote="punix:$folder/db.sock" --detach --no-chdir --pidfile \
		--log-file -vconsole:err || return
	ovs-vsctl --no-wait init -- set Open_vSwitch . other_config:userspace-tso-enable=true || return
	# without the kernel datapath: what is in it is somebody else's
	ovs-vswitchd "unix:$folder/db.sock" --disable-system --detach --no-chdir --pidfile --log-file \
		-vconsole:err
}

ovs_bridge() {
	ovs-vsctl --timeout=10 add-br "$1" -- set bridge "$1" datapath_type=netdev || return
	become "$1 a device" ip link set "$1" up
}

ovs_pid_gone() { [ ! -e "/proc/$1" ]; }

ovs_stop() {
	local name pid
	for name in ovs-vswitchd ovsdb-server; do
		pid=$(cat "${OVS_RUNDIR:?}/$name.pid" 2>/dev/null) || continue
		kill "$pid" 2>/dev/null && become "$name gone" ovs_pid_gone "$pid"
	done
}
