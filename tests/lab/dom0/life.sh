# shellcheck shell=bash disable=SC2154 # `run` sets IN and BACKEND
# Runs in dom0, started by ../life: what happens to a guest while it sends over one TCP connection to dom0. The
# connection is iperf3's; it has survived if iperf3 ends well and its last seconds moved bytes.
# shellcheck source=SCRIPTDIR/checks.sh
. "$IN/checks.sh"

# stream SECONDS : begins in g1, in the background; the server is a new one, as an old one may still wait
stream() {
    pkill -x iperf3
    stream_seconds=$1
    iperf3 -s -D &&
        domu g1 "(iperf3 -c 10.0.0.254 -t $1 -i 1 -f k >/stream 2>&1; echo status \$? >>/stream) &" || return
    wait_for 20 bytes_flow
}
# bytes_flow : more bytes reach dom0 than a second ago
bytes_flow() {
    local before
    before=$(cat /sys/class/net/br0/statistics/rx_bytes)
    pause 1
    [ "$(cat /sys/class/net/br0/statistics/rx_bytes)" -gt $((before + 100000)) ]
}
stream_has_ended() { domu g1 'tail -n 1 /stream' 10 | grep -q '^status'; }

# survived : the stream has ended well, and its receiver has said what it got
survived() {
    wait_for $((stream_seconds + 60)) stream_has_ended || { domu g1 'tail -n 30 /stream'; return 1; }
    domu g1 'tail -n 8 /stream'
    domu g1 'tail -n 1 /stream' | grep -qx 'status 0' && domu g1 'grep -q receiver /stream'
}

# --- what happens to it ----------------------------------------------------------------------------

# The driver lets go of the device and takes it again, which is what unloading and loading the module does; the
# module itself stays in use by what booted with it.
reload_driver() {
    domu g1 'echo vif-0 >/sys/bus/xen/drivers/vif/unbind && ! [ -e /sys/class/net/eth0 ]' 60 &&
        domu g1 'echo vif-0 >/sys/bus/xen/drivers/vif/bind' 60 &&
        domu g1 'until ip link set eth0 up 2>/dev/null; do sleep 0.1; done' 60 &&
        domu g1 'ip addr add 10.0.0.1/24 dev eth0'
}

pause_guest() { xl pause g1 && pause 3 && xl unpause g1; }

save_and_restore() {
    local before
    before=$(xl domid g1)
    xl save g1 /run/g1.save && wait_for 20 no_device "vif$before.0" && no_vif_node "$before" 0 &&
        xl restore /run/g1.save && rm /run/g1.save && [ "$(xl domid g1)" -gt "$before" ]
}

# To the same host, without ssh: the receiving xl is started by the sending one.
migrate() {
    local before
    before=$(xl domid g1)
    xl migrate -s '' g1 'xl migrate-receive' && [ "$(xl domid g1)" -gt "$before" ] &&
        wait_for 20 no_device "vif$before.0" && no_vif_node "$before" 0
}

# A guest that is paused takes no frames: what waits for it is told of, and nothing else happens to it. It has 256
# buffers before any frame waits.
stalls_while_paused() {
    local status=0
    xl pause g1 || return
    ping -q -i 0.005 -c 500 -W 1 10.0.0.1 || :
    wait_for 30 stalled && unetback list | grep "receive buffers in queue" || status=1
    xl unpause g1
    ping_guest g1 10.0.0.254 && wait_for 30 not_stalled && return "$status"
}
stalled() { stats g1 'any(.[]; .guest_rx_stalled == 1 and .guest_rx_stalls > 0)'; }
not_stalled() { ping -q -c 1 -W 5 10.0.0.1 && stats g1 'all(.[]; .guest_rx_stalled == 0)'; }
announced() { stats g1 'map(.announced) | add > 0'; }

kill_instance() { kill -KILL "$(pgrep -f "unetback-instance --guest=$(xl domid g1) ")"; }
restart_unetbackd() { unetbackd_stop && unetbackd_start; }
kill_unetbackd() {
    local pid
    pid=$(unetbackd_pid)
    kill -KILL "$pid" && wait_for 10 process_gone "$pid" && unetbackd_start
}

under_traffic() {	# WHAT SECONDS COMMAND
    check "$1: traffic flows" stream "$2" || return
    check "$1" "$3"
    check "$1: traffic flows again" wait_for 60 bytes_flow
    check "$1: the connection has survived" survived
    check "$1: g1 answers" ping_guest g1 10.0.0.254
}

crash() {
    local domid
    domid=$(xl domid g1)
    console_ask_prepare g1 && console_ask 'echo c >/proc/sysrq-trigger' 1
    console_close
    wait_for 60 domu_gone g1 && wait_for 20 no_device "vif$domid.0"
}

start_bridge && start_backend || exit 1
check "create g1" domu_create g1 -x 'on_crash = "destroy"' -a lab.ip=10.0.0.1/24 "$(vif_line 1)"
under_traffic "driver unload and reload" 15 reload_driver
under_traffic "pause and unpause" 10 pause_guest
under_traffic "save and restore" 25 save_and_restore
under_traffic "save and restore again" 25 save_and_restore
under_traffic "migration to the same host" 30 migrate
if [ "$BACKEND" = unetback ]; then
    check "the switch was told where g1 is" announced
    check "g1 stalls while it is paused, and that is all" stalls_while_paused
    under_traffic "the instance is killed" 10 kill_instance
    under_traffic "unetbackd ends and starts again" 10 restart_unetbackd
    under_traffic "unetbackd is killed and starts again" 10 kill_unetbackd
fi
check "g1 is quiet" quiet_guest g1
check "g1 crashes and is gone" crash
check_nothing_left "at the end"
check "dom0's kernel log is quiet" quiet_dom0
checks_end
