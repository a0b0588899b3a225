# shellcheck shell=bash disable=SC2154 # `run` sets IN, BACKEND and LENGTH
# Runs in dom0, started by ../soak: LENGTH seconds of TCP in each of the directions guest->dom0,
# dom0->guest, guest->guest, then UDP, between g1 and g2.  No second without data, no burst of
# retransmissions, and afterwards every frame and every request is accounted for.
# shellcheck source=SCRIPTDIR/checks.sh
. "$IN/checks.sh"

retransmits_most=100   # in all of a stream
retransmits_burst=30   # in one second

# soak NAME ADDRESS [OPTION...] : iperf3 with a line a second, judged by steady
soak() {
    local name=$1 address=$2
    shift 2
    domu "$name" "iperf3 -c $address -t $LENGTH -i 1 -f k $*" $((LENGTH + 60)) >/run/soak &&
        steady </run/soak
}

# steady : reads what iperf3 prints; fails with the seconds that carried nothing or were sent again
# in bursts.  Lines: [ ID] FROM-TO sec AMOUNT UNIT RATE Kbits/sec [RETRANSMITS WINDOW UNIT]
steady() {
    awk -v length_="$LENGTH" -v most=$retransmits_most -v burst=$retransmits_burst '
        / (sender|receiver)$/ {
            print
            if ($NF == "sender" && $8 == "Kbits/sec" && $9 + 0 > most) bad("more than " most " retransmits")
            summaries++
            next
        }
        $4 == "sec" && $8 == "Kbits/sec" {
            split($3, span, "-")
            if (span[2] - span[1] < 0.5) next
            seconds++
            if ($7 <= 0) bad("a stall")
            if ($10 ~ /^[0-9.]+$/ && $9 > burst) bad("a burst of retransmits")
        }
        function bad(why) { print why ": " $0; failed = 1 }
        END {
            print seconds + 0 " seconds, " summaries + 0 " summaries"
            exit failed || seconds < length_ - 2 || summaries < 2
        }'
}

# stream TITLE NAME ADDRESS [OPTION...] : the check, and what was reached
stream() {
    local title="$1, $LENGTH s"
    shift
    check "$title" soak "$@"
    grep -E '(sender|receiver)$' /run/soak | sed 's/^/#   /'
}

# all_queues NAME CONDITION : holds for every queue, and there is one
all_queues() { stats "$1" "length > 0 and all(.[]; $2)" || { stats "$1" .; return 1; }; }

# same_as_guest NAME GUEST_COUNTER FILTER : the guest counted as many as we did.  Our counter is read
# before and after the guest's: it means something only if no frame (a guest's ARP probes a minute after
# a stream) came between.
same_as_guest() {
    local theirs before after try
    for try in 1 2 3 4 5; do
        before=$(stats "$1" "$3") && theirs=$(domu "$1" "cat /sys/class/net/eth0/statistics/$2") &&
            after=$(stats "$1" "$3") || return
        echo "try $try: guest: $theirs; unetback: $before before, $after after"
        [ "$before" != "$after" ] || break
    done
    [ "$theirs" -gt 1000 ] && [ "$before" = "$after" ] && [ "$theirs" = "$after" ]
}

accounts() {
    local name
    for name in g1 g2; do
        check "$name: every frame from the guest has a verdict" all_queues "$name" \
            '.guest_tx_unaccounted == 0 and .guest_tx_frames == (.guest_tx_verdicts | add)'
        check "$name: every frame to the guest has a verdict" all_queues "$name" '.guest_rx_unaccounted == 0
            and .guest_rx_frames == (.guest_rx_verdicts | add) + .guest_rx_queued_frames'
        check "$name: every request is consumed and answered" all_queues "$name" \
            '.guest_tx_req_prod == .guest_tx_req_cons and .guest_tx_req_cons == .guest_tx_rsp_prod
            and .guest_rx_req_cons == .guest_rx_rsp_prod'
        check "$name: the guest sent what we saw" same_as_guest "$name" tx_packets 'map(.guest_tx_frames) | add'
        check "$name: the guest got what we delivered" same_as_guest "$name" rx_packets \
            'map(.guest_rx_verdicts.delivered) | add'
    done
}

start_bridge && start_backend || exit 1
iperf3 -s -D
check "create g1" domu_create g1 -a lab.ip=10.0.0.1/24 "$(vif_line 1)"
check "create g2" domu_create g2 -a lab.ip=10.0.0.2/24 "$(vif_line 2)"
start_servers g1 g2
stream "TCP guest->dom0" g1 10.0.0.254
stream "TCP dom0->guest" g1 10.0.0.254 -R
stream "TCP guest->guest" g1 10.0.0.2
stream "UDP guest->dom0" g1 10.0.0.254 -u -b 0 -l 64
stream "UDP dom0->guest" g1 10.0.0.254 -R -u -b 0 -l 64
stream "UDP guest->guest" g1 10.0.0.2 -u -b 0 -l 64
if [ "$BACKEND" = unetback ]; then
    accounts
    unetback stats
fi
for name in g1 g2; do check "$name is quiet" quiet_guest "$name"; done
check "dom0's kernel log is quiet" quiet_dom0
checks_end
