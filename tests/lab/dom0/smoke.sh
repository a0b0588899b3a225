# shellcheck shell=bash disable=SC2154 # `run` sets IN, BACKEND and ROUNDS
# Runs in dom0, started by ../smoke: the life of guests on the backend $BACKEND, and what is
# left of it.  ROUNDS: how often a guest is created and destroyed at the end.
# shellcheck source=SCRIPTDIR/checks.sh
. "$IN/checks.sh"

# Both guests: g1 is PV and g2 is PVH.
basics() {
    local name
    for name in g1 g2; do
        check "$name: ping dom0" ping_guest "$name" 10.0.0.254
        check "$name: TCP to dom0" tcp "$name" 10.0.0.254 20M
        check "$name: TCP from dom0" tcp "$name" 10.0.0.254 20M -R
        check "$name: dom0 holds pages of it" holds_grants "$(xl domid "$name")"
    done
    check "g1: ping g2" ping_guest g1 10.0.0.2
    check "g1: TCP to g2" tcp g1 10.0.0.2 10M
    check "g1: TCP from g2" tcp g1 10.0.0.2 10M -R
}

# A third guest with an MTU of 9000, in a switch of its own.
jumbo() {
    ovs-vsctl add-br br9 -- set Interface br9 mtu_request=9000
    ip addr add 10.9.0.254/24 dev br9 && ip link set br9 up
    check "jumbo: create g3 with mtu=9000" domu_create g3 -a 'lab.ip=10.9.0.3/24 lab.mtu=9000' \
        "mac=00:16:3e:00:00:09,bridge=br9,script=vif-openvswitch,mtu=9000"
    check "jumbo: the device has mtu 9000" grep -x 9000 "/sys/class/net/vif$(xl domid g3).0/mtu"
    check "jumbo: the guest has mtu 9000" domu g3 'grep -x 9000 /sys/class/net/eth0/mtu'
    check "jumbo: 8972 bytes unfragmented" ping -M "do" -c 3 -i 0.3 -W 5 -s 8972 10.9.0.3
    check "jumbo: TCP to dom0" tcp g3 10.9.0.254 20M
    check "jumbo: TCP from dom0" tcp g3 10.9.0.254 20M -R
    check "jumbo: g3 is quiet" quiet_guest g3
    check "jumbo: xl destroy" xl destroy g3
}

# A second vif for g1 comes and goes while the first one works.
hotplug() {
    local domid
    domid=$(xl domid g1)
    ip addr add 10.0.1.254/24 dev br0
    check "network-attach" attach_vif g1 "$(vif_line 11)"
    check "network-attach: eth1 comes up" domu g1 \
        'until ip link set eth1 up 2>/dev/null; do sleep 0.1; done; ip addr add 10.0.1.1/24 dev eth1' 20
    check "network-attach: ping through eth1" ping_guest g1 10.0.1.254
    check "network-attach: TCP through eth1" tcp g1 10.0.1.254 5M
    check "network-detach" xl network-detach g1 1
    check "network-detach: eth1 is gone" domu g1 'while [ -e /sys/class/net/eth1 ]; do sleep 0.1; done' 20
    check "network-detach: no net device" wait_for 10 no_device "vif$domid.1"
    check "network-detach: no port" no_port "vif$domid.1"
    check "network-detach: no node in XenStore" wait_for 10 no_vif_node "$domid" 1
    check "network-detach: eth0 still works" ping_guest g1 10.0.0.254
}

reboot_guest() {
    local before
    before=$(xl domid g1)
    check "xl reboot" xl reboot g1
    check "xl reboot: g1 is back" domu_wait g1 60 2
    check "xl reboot: it has a new domain" test "$(xl domid g1)" -gt "$before"
    check "xl reboot: ping" ping_guest g1 10.0.0.254
    check "xl reboot: iperf3 server in g1" start_servers g1
    check "xl reboot: TCP to dom0" tcp g1 10.0.0.254 10M
    check "xl reboot: nothing left of the old vif" no_vif_node "$before" 0
    check "xl reboot: no device of the old vif" no_device "vif$before.0"
    check "xl reboot: no port of the old vif" no_port "vif$before.0"
}

poweroff_guest() {
    local domid
    domid=$(xl domid g2)
    domu g2 /sbin/poweroff 1 >/dev/null
    check "poweroff: g2 is gone" wait_for 30 domu_gone g2
    check "poweroff: no net device" wait_for 10 no_device "vif$domid.0"
    check "poweroff: no port" wait_for 10 no_port "vif$domid.0"
    check "poweroff: no node in XenStore" wait_for 10 no_vif_node "$domid" 0
}

destroy_under_load() {
    local device
    device=vif$(xl domid g1).0
    load g1 10.0.0.1
    check "destroy under load: traffic flows both ways" wait_for 20 traffic_flows "$device"
    check "destroy under load: xl destroy" xl destroy g1
    unload
}

# One round in the life of a guest, to be repeated.
round() {
    domu_create "g$1" -a "lab.ip=10.0.0.$1/24" "$(vif_line "$1")" &&
        ping_guest "g$1" 10.0.0.254 &&
        tcp "g$1" 10.0.0.254 2M &&
        quiet_guest "g$1" &&
        xl destroy "g$1"
}

start_bridge && start_backend || exit 1
iperf3 -s -D
check "create g1, PV" domu_create g1 -a lab.ip=10.0.0.1/24 "$(vif_line 1)"
check "create g2, PVH" domu_create g2 -t pvh -a lab.ip=10.0.0.2/24 "$(vif_line 2)"
start_servers g1 g2
basics
hotplug
check "g1 is quiet" quiet_guest g1
check "g2 is quiet" quiet_guest g2
reboot_guest
poweroff_guest
destroy_under_load
check_nothing_left "after all guests"
[ "$BACKEND" = netback ] || files=$(descriptors)
jumbo
for ((i = 1; i <= ROUNDS; i++)); do check "round $i of $ROUNDS" round 1; done
check_nothing_left "at the end" "${files-}"
check "dom0's kernel log is quiet" quiet_dom0
if [ "$BACKEND" = unetback ]; then check "unetbackd ends when asked" unetbackd_stop; fi
checks_end
