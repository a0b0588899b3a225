# shellcheck shell=bash disable=SC2154 # `run` sets IN, BACKEND and ROUNDS
# Runs in dom0, started by ../endurance: ROUNDS guests, one after the other, each with a second vif
# that comes and goes, end in turns by xl destroy, xl destroy under traffic, poweroff and xl
# shutdown; nothing may be left after each, nor may unetbackd grow.
# shellcheck source=SCRIPTDIR/checks.sh
. "$IN/checks.sh"

# end_guest WAY : ends g1 and waits until it has gone
end_guest() {
    case $1 in
        destroy) xl destroy g1 ;;
        load)
            load g1 10.0.0.1 && wait_for 20 traffic_flows "vif$(xl domid g1).0" || return
            xl destroy g1
            unload
            ;;
        poweroff) console_ask_prepare g1 && console_ask /sbin/poweroff 1; console_close ;;
        shutdown) xl shutdown g1 ;;
    esac
    wait_for 30 domu_gone g1
}

# second_vif : attach, ping, detach
second_vif() {
    attach_vif g1 "$(vif_line 11)" &&
        domu g1 'until ip link set eth1 up 2>/dev/null; do sleep 0.1; done' 20 &&
        domu g1 'ip addr add 10.0.1.1/24 dev eth1' && ping_guest g1 10.0.1.254 &&
        xl network-detach g1 1 &&
        domu g1 'while [ -e /sys/class/net/eth1 ]; do sleep 0.1; done' 20
}

life() {
    domu_create g1 -a lab.ip=10.0.0.1/24 "$(vif_line 1)" && start_servers g1 &&
        ping_guest g1 10.0.0.254 && tcp g1 10.0.0.254 2M && second_vif && quiet_guest g1 &&
        end_guest "$1"
}

nothing_left() {
    wait_for 10 no_device && wait_for 10 no_port && wait_for 10 no_node && wait_for 10 no_domain || return
    [ "$BACKEND" = netback ] || { wait_for 10 no_process && no_grants_of_own; }
}

# memory : KiB that unetbackd has in RAM
memory() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$(unetbackd_pid)/status"; }

# at_most LIMIT NUMBER
at_most() { echo "$2, more than $1"; [ "$2" -le "$1" ]; }

start_bridge && ip addr add 10.0.1.254/24 dev br0 && start_backend || exit 1
iperf3 -s -D
ways=(destroy load poweroff shutdown)
for ((round = 1; round <= ROUNDS; round++)); do
    way=${ways[round % 4]}
    check "round $round of $ROUNDS, ends by $way" life "$way"
    check "round $round: nothing left" nothing_left
    # The first two rounds may load and cache what stays.
    if [ "$BACKEND" = unetback ] && [ $round = 2 ]; then files=$(descriptors) kib=$(memory); fi
done
check_nothing_left "at the end" "${files-}"
if [ -n "${kib-}" ]; then
    echo "# unetbackd: $kib KiB after round 2, $(memory) KiB at the end"
    check "unetbackd has not grown by more than 256 KiB" at_most $((kib + 256)) "$(memory)"
fi
check "dom0's kernel log is quiet" quiet_dom0
checks_end
