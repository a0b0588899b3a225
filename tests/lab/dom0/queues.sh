# shellcheck shell=bash disable=SC2154,SC2153 # `run` sets BACKEND and the other capitals
# Runs in dom0, started by ../queues: for each number in QUEUES two guests with that many vCPUs and so
# queues.  Both are PV: a PVH guest of several vCPUs dies in the emulator's nested virtualization.  g1 is on
# br-int1, g2 on br-int2:
#
#	g1 - br-int1 - patch - br-tun1 - VXLAN 172.16.0.1 > 172.16.0.2 - br-tun2 - patch - br-int2 - g2
#
# dom0 has an address on br-int1.
# shellcheck source=SCRIPTDIR/checks.sh
. "$IN/checks.sh"

# node NUMBER OTHER : the two bridges of a compute node, and its end of the tunnel
node() {
    ovs-vsctl add-br "br-int$1" -- add-br "br-tun$1" \
        -- add-port "br-int$1" "to-tun$1" -- set Interface "to-tun$1" type=patch "options:peer=to-int$1" \
        -- add-port "br-tun$1" "to-int$1" -- set Interface "to-int$1" type=patch "options:peer=to-tun$1" \
        -- add-port "br-tun$1" "vxlan$1" -- set Interface "vxlan$1" type=vxlan \
        "options:local_ip=172.16.0.$1" "options:remote_ip=172.16.0.$2" options:key=7 &&
        ip addr add "172.16.0.$1/32" dev lo
}

start_nodes() {
    node 1 2 && node 2 1 && ip addr add 10.0.0.254/24 dev br-int1 && ip link set br-int1 up
}

# vif NUMBER : an xl vif for that guest on its own node
vif() { printf 'mac=00:16:3e:00:00:%02d,bridge=br-int%d,script=vif-openvswitch' "$1" "$1"; }

# --- counters of reordering ----------------------------------------------------------------------

# tcp_counters : of /proc/net/snmp and netstat on stdin, two sums: segments retransmitted; segments that a
# receiver had to put aside as one before them was missing, and reordering that a sender inferred
tcp_counters() {
    awk '/^(Tcp|TcpExt):/ && $1 != last { last = $1; split($0, name); next }
        $1 == last { for (i = 2; i <= NF; i++) {
            if (name[i] == "RetransSegs") { again = $i; found++ }
            if (name[i] ~ /^TCP(OFOQueue|(SACK|Reno|TS)Reorder)$/) { sum += $i; found++ }
        } }
        END { if (found != 5) exit 1; print again, sum }'
}

# counters END : those of dom0 or a guest
counters() {
    local files='cat /proc/net/snmp /proc/net/netstat'
    if [ "$1" = dom0 ]; then $files; else domu "$1" "$files"; fi | tcp_counters
}

# in_order ENDS COMMAND... : runs it; fails if a counter of reordering moves at one of the ENDS (words), or
# iperf3 tells of datagrams out of order.  If something was retransmitted meanwhile such a counter says nothing
# (all that follows a lost segment is out of order, and a sender that times out moves its flow to another queue
# of its guest's; nine virtual CPUs on one emulated one do time out): then it is done again, four times at most.
in_order() {
    local ends=$1 end try moved again
    local -A before after
    shift
    for try in 1 2 3 4; do
        for end in $ends; do before[$end]=$(counters "$end") || return; done
        "$@" >/run/order || return
        tail -n 4 /run/order
        ! grep 'out-of-order' /run/order || return
        moved=0 again=0
        for end in $ends; do
            after[$end]=$(counters "$end") || return
            echo "try $try, $end: retransmitted and reordered ${before[$end]} before, ${after[$end]} after"
            [ "${before[$end]#* }" = "${after[$end]#* }" ] || moved=1
            [ "${before[$end]% *}" = "${after[$end]% *}" ] || again=1
        done
        [ $moved = 1 ] || return 0
        [ $again = 1 ] || return 1
    done
    return 1
}

# udp NAME ADDRESS FLOWS : datagrams from ADDRESS to the guest, who looks at their order; then the other way
# by the server's word
udp() {
    domu "$1" "iperf3 -c $2 -u -R -P $3 -l 200 -b $((8 / $3))M -t 3 -i 0 -f k" 60
}
udp_back() {
    domu "$1" "iperf3 -c $2 -u -P $3 -l 200 -b $((8 / $3))M -t 3 -i 0 -f k --get-server-output" 60
}

flows() {	# QUEUES NAME ADDRESS END WHAT
    local n
    for n in 1 8; do
        check "$1 queues, $5, $n UDP flows towards the guest: in order" in_order "$2 $4" udp "$2" "$3" "$n"
        check "$1 queues, $5, $n UDP flows from the guest: in order" in_order "$2 $4" udp_back "$2" "$3" "$n"
        check "$1 queues, $5, $n TCP flows towards the guest: in order" in_order "$2 $4" tcp "$2" "$3" 8M -R -P "$n" -w 128K
        check "$1 queues, $5, $n TCP flows from the guest: in order" in_order "$2 $4" tcp "$2" "$3" 8M -P "$n" -w 128K
    done
}

# --- rates ---------------------------------------------------------------------------------------

# set_rate NAME KEY [VALUE] : writes the key of the guest's vif, or removes it
set_rate() {
    local path
    path=/local/domain/0/backend/vif/$(xl domid "$1")/0/$2
    if [ -n "${3-}" ]; then xenstore-write "$path" "$3"; else xenstore-rm "$path"; fi
}

# met NAME [OPTION...] : four flows of datagrams of 1514 bytes on the wire, twice as many as the rate allows;
# over five seconds, after two, what arrives is 2.5 MB/s within 2 %
met() {
    local name=$1
    shift
    domu "$name" "iperf3 -c 10.0.0.254 -u -P 4 -l 1472 -b 10M -t 5 -O 2 -i 0 -f k --get-server-output $*" 60 |
        awk '/SUM.*receiver/ { for (i = 1; i <= NF; i++) if ($i == "Kbits/sec") got = $(i - 1) }
            END { wanted = 20000 * 1472 / 1514; printf "%d Kbit/s, %d wanted\n", got, wanted
                exit got < wanted * 0.98 || got > wanted * 1.02 }'
}

rates() {	# QUEUES
    set_rate g1 rate 125000,50000
    check "$1 queues: a rate from the guest is met within 2 %" met g1
    set_rate g1 rate
    set_rate g1 unetback-rate-rx 125000,50000
    check "$1 queues: a rate to the guest is met within 2 %" met g1 -R
    set_rate g1 unetback-rate-rx
}

# --- queues --------------------------------------------------------------------------------------

has_queues() {	# NAME NUMBER
    stats "$1" "length == $2" &&
        [ "$(domu "$1" 'ls -1d /sys/class/net/eth0/queues/rx-*' | wc -l)" = "$2" ]
}

all_are_used() { stats "$1" 'all(.[]; .guest_rx_verdicts.delivered > 0)'; }
accounted() { stats "$1" 'all(.[]; .guest_tx_unaccounted == 0 and .guest_rx_unaccounted == 0)' || { stats "$1" .; return 1; }; }

with_queues() {	# NUMBER
    local name
    check "$1 queues: create g1" domu_create g1 -c "$1" -a lab.ip=10.0.0.1/24 "$(vif 1)" || return
    check "$1 queues: create g2" domu_create g2 -c "$1" -a lab.ip=10.0.0.2/24 "$(vif 2)" || return
    start_servers g1 g2
    check "$1 queues: ping dom0" ping_guest g1 10.0.0.254
    check "$1 queues: ping through the tunnel" ping_guest g1 10.0.0.2
    if [ "$BACKEND" = unetback ]; then
        for name in g1 g2; do check "$1 queues: $name has as many" has_queues "$name" "$1"; done
    fi
    flows "$1" g1 10.0.0.254 dom0 "dom0"
    flows "$1" g1 10.0.0.2 g2 "tunnel"
    [ "$BACKEND" = netback ] || rates "$1"
    for name in g1 g2; do
        if [ "$BACKEND" = unetback ]; then
            check "$1 queues: $name used all of them" all_are_used "$name"
            check "$1 queues: $name: every frame is accounted for" accounted "$name"
        fi
        check "$1 queues: $name is quiet" quiet_guest "$name"
    done
    [ "$1" = 1 ] || check "$1 queues: the check itself can fail" detects_reordering
    for name in g1 g2; do check "$1 queues: destroy $name" xl destroy "$name"; done
    check "$1 queues: the guests are gone" wait_for 20 no_device
}

# Frames that dom0's own scheduler reorders on their way to g1 must be found out.
detects_reordering() {
    tc qdisc replace dev "vif$(xl domid g1).0" root netem delay 3ms reorder 50% || return
    ! in_order "g1 dom0" udp g1 10.0.0.254 1
}

start_nodes && modprobe sch_netem || exit 1
if [ "$BACKEND" = unetback ]; then start_backend --queues=4 --pin-queues=yes; else start_backend; fi || exit 1
iperf3 -s -D
for number in $QUEUES; do with_queues "$number"; done
check "dom0's kernel log is quiet" quiet_dom0
checks_end
