# shellcheck shell=bash disable=SC2034,SC2154 # whoever reads it in uses them
# What bench, demo and profile measure: two guests on xen-netback and two on $BACKEND in the same boot and
# bridge, and six cells, TCP and 64-byte UDP in three directions between two guests and dom0.  Runs in
# dom0, after lib.sh.

switch=10.0.0.254
declare -A address=([n1]=10.0.0.1 [n2]=10.0.0.2 [u1]=10.0.0.3 [u2]=10.0.0.4)
declare -A pair=([netback]=n [unetback]=u)
# Small frames fill a socket of the default size after some fifty, while the receiver's CPU is not
# even scheduled; what is lost shall be the backend's loss.
receive_buffers='cd /proc/sys/net/core && echo 8388608 >rmem_max && echo 8388608 >rmem_default'
cells=(tcp-to-dom0 tcp-from-dom0 tcp-to-guest udp-to-dom0 udp-from-dom0 udp-to-guest)

fail() { echo "not ok - $*"; exit 1; }

# create_pair LETTER NUMBER : two guests, with the addresses above
create_pair() {
    local i name
    for i in 1 2; do
        name=$1$i
        domu_create "$name" -a "lab.ip=${address[$name]}/24" "$(vif_line $(($2 + i)))" || return
        domu "$name" "$receive_buffers; iperf3 -s -D" || return
        say "guest $name is up: domain $(xl domid "$name"), ${address[$name]}"
    done
}

# Nobody claims a vif by itself: netback gets its guests' by hand, unetbackd takes the others.
create_guests() {
    local claim
    echo 0 >/sys/bus/xen-backend/drivers_autoprobe
    modprobe xen-netback || return
    netback_claim &
    claim=$!
    say "two guests on xen-netback"
    create_pair n 0 || return
    say "two guests on $BACKEND"
    if [ "$BACKEND" = unetback ]; then
        kill $claim
        unetbackd_start --except="$(xl domid n1),$(xl domid n2)" || return
        create_pair u 2
    else
        create_pair u 2 || return
        kill $claim
    fi
}

# Whether each vif has the driver that it should have.
right_drivers() {
    local name device
    for name in n1 n2 u1 u2; do
        device=/sys/bus/xen-backend/devices/vif-$(xl domid "$name")-0
        [ -e "$device" ] || return
        case $name/$BACKEND in
            u*/unetback) [ ! -e "$device/driver" ] || return ;;
            *) [ -e "$device/driver" ] || return ;;
        esac
    done
}

# client CELL LETTER WORK : the iperf3 command, in $client, and where it runs, in $where; WORK in
# iperf3's words.  A UDP test cannot run in reverse: it would wait for packets that were lost.
client() {
    local first=${1%%-*} options="-i 0 -f k"
    where=${2}1 client="iperf3 -c $switch"
    case $1 in
        tcp-from-dom0) client+=' -R' ;;
        udp-from-dom0) where=dom0 client="iperf3 -c ${address[${2}1]}" ;;
        *-to-guest) client="iperf3 -c ${address[${2}2]}" ;;
    esac
    if [ "$first" = udp ]; then options+=" -u -b 0 -l 64 -k $3"; else options+=" -n $3"; fi
    client+=" $options"
}
