# shellcheck shell=bash disable=SC2154,SC2153 # `run` sets BACKEND and the other capitals
# Runs in dom0, started by ../demo and ../bench: two guests on xen-netback and two on unetback in
# the same boot, on the same Open vSwitch bridge, do the same fixed amounts of work in turns.
#   BACKEND=netback  the second pair is on xen-netback as well: all ratios must come out near 1
#   ROUNDS MEGABYTES PACKETS  how often, and the work of a TCP and of a UDP test
#   SHOW=1           also shows what an administrator sees
#
# dom0's CPU time is what Xen counts for the domain, in nanoseconds (domain-cpu): it knows what
# dom0 really ran, whereas dom0's own /proc/stat and schedstat count ticks and lose what other
# domains stole.  All of dom0 is in it: the backend, OVS, the TCP stack and iperf3 where dom0 is an
# end, which are the same for both backends.  What a test costs without frames (a connection, the
# console) is measured by the same test with hardly any work, and taken off.

# shellcheck source=SCRIPTDIR/cells.sh
. "$IN/cells.sh"
results=$OUT/results
declare -A base

# --- before the tests ----------------------------------------------------------------------------

# ping_all : guest to guest and guest to dom0 on both backends; a line each
ping_all() {
    local letter to
    for letter in n u; do
        for to in "${address[${letter}2]}" $switch; do
            domu ${letter}1 "ping -c 3 -i 0.3 -W 5 $to" 30 >/run/ping || { cat /run/ping; return 1; }
            say "ping ${letter}1 -> $to: $(tail -n 1 /run/ping)"
        done
    done
}

# --- one test ------------------------------------------------------------------------------------

# dom0_cpu : nanoseconds, in $cpu
dom0_cpu() { read -r _ cpu < <(domain-cpu); }

# timed CELL LETTER WORK FILE : runs it; its output goes into FILE, dom0's CPU time into $spent
timed() {
    local client where before status=0
    client "$1" "$2" "$3"
    if [ "$where" != dom0 ]; then console_ask_prepare "$where" || return; fi
    dom0_cpu
    before=$cpu
    if [ "$where" = dom0 ]; then $client >"$4" 2>&1; else console_ask "$client" >"$4"; fi || status=$?
    dom0_cpu
    spent=$((cpu - before))
    [ "$where" = dom0 ] || console_close
    return $status
}

# received FILE : prints what the receiver says: kbit/s, packets that came (0 for TCP), loss
received() {
    awk '/ receiver/ {
            for (i = 1; i <= NF; i++) {
                if ($i == "Kbits/sec") rate = $(i - 1)
                if ($i ~ /^[0-9]+\/[0-9]+$/) { split($i, n, "/"); came = n[2] - n[1]; lost = n[1] / n[2] }
            }
        }
        END { if (rate <= 0) exit 1; printf "%s %d %.4f\n", rate, came, lost }' "$1"
}

# calibrate CELL BACKEND : what a test costs without frames, in ${base[CELL BACKEND]}
calibrate() {
    local spent work=128K
    [ "${1%%-*}" = tcp ] || work=10
    timed "$1" "${pair[$2]}" $work /run/iperf3 || { cat /run/iperf3; fail "$1 on $2"; }
    base["$1 $2"]=$spent
}

# measure ROUND CELL BACKEND : appends to the results `round cell backend rate cost loss`, rate in
# MB/s or kpps, cost in dom0's ms per MB or us per packet
measure() {
    local spent work=${MEGABYTES}M line
    [ "${2%%-*}" = tcp ] || work=$PACKETS
    if ! timed "$2" "${pair[$3]}" "$work" /run/iperf3 || ! line=$(received /run/iperf3); then
        cat /run/iperf3
        fail "$2 on $3"
    fi
    awk -v start="$1 $2 $3" -v megabytes="$MEGABYTES" -v spent=$((spent - base["$2 $3"])) '{
            if ($2 > 0) printf "%s %.3f %.3f %s\n", start, $1 / 8 / 64, spent / $2 / 1e3, $3
            else printf "%s %.3f %.3f 0\n", start, $1 / 8e3, spent / 1e6 / (megabytes * 1.048576)
        }' <<<"$line" >>"$results"
    report_last
}

report_last() {
    local cell backend rate cost loss
    read -r _ cell backend rate cost loss < <(tail -n 1 "$results")
    if [ "${cell%%-*}" = tcp ]; then
        say "$(printf '%-14s %-9s %8.1f MB/s  dom0 %6.2f ms/MB' "$cell" "$backend" "$rate" "$cost")"
    else
        say "$(printf '%-14s %-9s %8.2f kpps  dom0 %6.1f us/packet, %.0f %% lost' "$cell" "$backend" \
            "$rate" "$cost" "$(awk -v x="$loss" 'BEGIN { print x * 100 }')")"
    fi
}

measure_all() {
    local round cell backend order
    for cell in "${cells[@]}"; do
        for backend in netback unetback; do calibrate "$cell" "$backend"; done
    done
    for ((round = 1; round <= ROUNDS; round++)); do
        order='netback unetback'
        [ $((round % 2)) = 1 ] || order='unetback netback'
        say "round $round of $ROUNDS, $order"
        for cell in "${cells[@]}"; do
            for backend in $order; do measure "$round" "$cell" "$backend"; done
        done
    done
}

# --- the table -----------------------------------------------------------------------------------

# Medians over the rounds.  A ratio is the median of the ratios within each round; behind it, where
# there are rounds, the least and the greatest.
table() {
    awk -v second="$BACKEND" -v cells="${cells[*]}" '
        function median(list, n,    sorted) {
            asort(list, sorted)
            return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
        }
        function column(values, cell, backend,    list, r) {
            for (r = 1; r <= rounds; r++) list[r] = values[r, cell, backend]
            return median(list, rounds)
        }
        function ratio(values, cell,    list, sorted, r) {
            for (r = 1; r <= rounds; r++)
                list[r] = values[r, cell, "unetback"] / values[r, cell, "netback"]
            asort(list, sorted)
            spread = rounds > 1 ? sprintf("(%.2f-%.2f)", sorted[1], sorted[rounds]) : ""
            return sprintf("%.2f %-11s", median(list, rounds), spread)
        }
        { rate[$1, $2, $3] = $4; cost[$1, $2, $3] = $5; loss[$1, $2, $3] = $6; if ($1 > rounds) rounds = $1 }
        END {
            line = "%-14s %10s %10s  %-17s%11s %10s  %-17s%s\n"
            printf line, "", "netback", second, "ratio", "netback", second, "ratio", "lost"
            printf line, "", "MB/s, kpps", "", "", "dom0 ms/MB", "or us/p", "", ""
            n = split(cells, cell, " ")
            for (i = 1; i <= n; i++) {
                c = cell[i]
                printf line, c, sprintf("%.2f", column(rate, c, "netback")),
                    sprintf("%.2f", column(rate, c, "unetback")), ratio(rate, c),
                    sprintf("%.2f", column(cost, c, "netback")),
                    sprintf("%.2f", column(cost, c, "unetback")), ratio(cost, c),
                    c ~ /udp/ ? sprintf("%.0f%% / %.0f%%", 100 * column(loss, c, "netback"),
                        100 * column(loss, c, "unetback")) : ""
            }
        }' "$results"
}

show() {
    say "what Open vSwitch has"
    ovs-vsctl show
    say "xen-netback has vif$(xl domid n1).0 and vif$(xl domid n2).0; unetbackd has"
    unetback list || fail "unetback list"
    say "unetback show vif$(xl domid u1).0"
    unetback show "vif$(xl domid u1).0" || fail "unetback show"
}

say "dom0 is up: Xen $(xl info xen_version), Linux $(uname -r), $(ovs-vsctl --version | head -n 1)"
start_bridge || fail "bridge br0"
(eval "$receive_buffers")
iperf3 -s -D
create_guests || fail "guests"
right_drivers || fail "a vif is on the wrong backend: $(ls -l /sys/bus/xen-backend/devices/*/driver)"
ping_all || fail "ping"
if [ "$SHOW" = 1 ] && [ "$BACKEND" = unetback ]; then show; fi
say "iperf3: $MEGABYTES MiB a TCP test, $PACKETS packets of 64 bytes a UDP test"
measure_all
echo
table
echo "MB/s, kpps: what the receiver got. dom0: CPU time of all of dom0, per MB or packet received."
