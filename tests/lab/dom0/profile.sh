# shellcheck shell=bash disable=SC2154,SC2153 # `run` sets BACKEND and the other capitals
# Runs in dom0, started by ../profile: each cell once with two guests on xen-netback and once with two
# on BACKEND, same boot and bridge, under `perf record`.  Leaves $OUT/CELL.BACKEND.data, and the
# kernel's symbols in $OUT/kallsyms.

# shellcheck source=SCRIPTDIR/cells.sh
. "$IN/cells.sh"

# record CELL BACKEND : in a shell of its own where a guest is asked, as perf needs a command
record() {
    local where client work=${MEGABYTES}M command
    [ "${1%%-*}" = tcp ] || work=$PACKETS
    client "$1" "${pair[$2]}" "$work"
    command="exec $client"
    [ "$where" = dom0 ] || command=". $IN/../lib.sh; domu $where '$client'"
    say "$1 on $2"
    timeout 120 perf record -q -a -g -e cpu-clock -F "$FREQUENCY" -o "$OUT/$1.$2.data" -- \
        bash -c "$command" >/run/iperf3 2>&1 || { cat /run/iperf3; fail "$1 on $2"; }
}

start_bridge || fail "bridge br0"
(eval "$receive_buffers")
iperf3 -s -D
create_guests || fail "guests"
right_drivers || fail "a vif is on the wrong backend"
echo 0 >/proc/sys/kernel/kptr_restrict
cp /proc/kallsyms "$OUT/"
for cell in "${cells[@]}"; do
    for backend in netback unetback; do record "$cell" "$backend"; done
done
