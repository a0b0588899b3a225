# shellcheck shell=bash
# Checks for the scripts of the lab: one line each, counted.  Runs in dom0, after lib.sh.
passed=0 failed=0

# check TEXT COMMAND... : `ok - TEXT`, or `not ok - TEXT` and below it what the command printed
check() {
    local text=$1 output
    shift
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
        echo "ok - $text"
    else
        failed=$((failed + 1))
        echo "not ok - $text"
        printf '%s\n' "$*" "$output" | uniq | tail -n 40 | sed 's/^/#   /'
        return 1
    fi
}

# checks_end : the summary; fails if a check did
checks_end() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ] && [ $passed -gt 0 ]
}

# --- traffic ---------------------------------------------------------------------------------

# start_servers NAME... : iperf3 servers in these guests
start_servers() {
    local name
    for name; do domu "$name" 'iperf3 -s -D' || return; done
}

# tcp NAME ADDRESS AMOUNT [OPTION...] : that much from the guest to ADDRESS (-R: from there)
tcp() {
    local name=$1 address=$2 amount=$3
    shift 3
    domu "$name" "iperf3 -c $address -n $amount -i 0 -f k $*" 120
}

# ping_guest NAME ADDRESS : three times, none lost
ping_guest() { domu "$1" "ping -c 3 -i 0.3 -W 5 $2" 30; }

# load NAME ADDRESS : traffic both ways between dom0 and the guest, which has an iperf3 server at
# ADDRESS, until `unload`.  dom0's end is a server of its own: when a client dies without a word, its
# server stays busy for minutes.
load() {
    iperf3 -s -p 5202 >/dev/null 2>&1 &
    load_jobs=($!)
    iperf3 -c "$2" -t 600 -i 0 >/dev/null 2>&1 &
    load_jobs+=($!)
    domu "$1" 'iperf3 -c 10.0.0.254 -p 5202 -t 600 -i 0 >/dev/null 2>&1 &'
}

unload() { kill "${load_jobs[@]}"; }

# traffic_flows DEVICE : more bytes each way than a second ago
traffic_flows() {
    local folder=/sys/class/net/$1/statistics rx tx
    rx=$(cat "$folder/rx_bytes") tx=$(cat "$folder/tx_bytes")
    pause 1
    [ "$(cat "$folder/rx_bytes")" -gt $((rx + 100000)) ] && [ "$(cat "$folder/tx_bytes")" -gt $((tx + 100000)) ]
}

# attach_vif NAME VIF : xl network-attach, which wants the parts of a vif line one by one
attach_vif() {
    local parts
    IFS=, read -ra parts <<<"$2"
    xl network-attach "$1" "${parts[@]}"
}

# --- counters ---------------------------------------------------------------------------------

# stats NAME FILTER : what jq makes of the stats of the queues of the guest's vif
stats() {
    unetback --format=json stats "vif$(xl domid "$1").0" |
        jq -e "[.[] | to_entries[] | select(.key | startswith(\"queue-\")) | .value] | $2"
}

# --- nothing left ----------------------------------------------------------------------------
# Each fails, and prints what is there, when something is left of a guest or a vif.

# no_device [NAME] : no net device vif* (or not this one)
no_device() { ! ip -br link show | grep "^${1:-vif}"; }

# no_port [NAME] : no port vif* in Open vSwitch
no_port() { ! ovs-vsctl --bare --columns=name find Interface | grep "^${1:-vif}"; }

# no_node : XenStore knows no vif and no domain but dom0
no_node() {
    ! {
        xenstore-ls -f /local/domain/0/backend/vif 2>/dev/null | grep '/vif/[0-9]'
        xenstore-ls -f /local/domain/0/error 2>/dev/null | grep /vif/
        xenstore-list /libxl 2>/dev/null | grep -v '^0$'
        xenstore-list /local/domain | grep -v '^0$'
    }
}

# no_vif_node DOMID HANDLE : XenStore knows nothing of this vif, at either end
no_vif_node() {
    ! {
        xenstore-ls -f "/local/domain/0/backend/vif/$1/$2" 2>/dev/null
        xenstore-ls -f "/local/domain/$1/device/vif/$2" 2>/dev/null
        xenstore-ls -f "/libxl/$1/device/vif/$2" 2>/dev/null
    } | grep .
}

# no_process : no instance runs
no_process() { ! pgrep -a -f /unetback-instance; }

# no_domain : Xen itself knows no domain but dom0: a granted page that somebody still maps keeps
# its dead guest in memory, invisible in XenStore
no_domain() { ! domain-cpu | grep -v '^0 '; }

# grants_held DOMID : prints how many pages of that guest are in use by dom0 (mapped or being
# copied), less those of its console and XenStore, which are grants 0 to 7
grants_held() {
    xl dmesg -c >/dev/null
    xl debug-keys g
    xl dmesg | awk -v domain="d$1" '
        /grant-table for remote/ { inside = index($0, "remote " domain " ") }
        inside && /\[0x[0-9a-f]+\]/ && !/\[0x00[0-7]\]/ { count++ }
        END { print count + 0 }'
}

# holds_grants DOMID : at least the two rings; the proof that no_grants_of_own can fail
holds_grants() { local held; held=$(grants_held "$1"); echo "$held"; [ "$held" -ge 2 ]; }

# no_grants_of_own : dom0 has let go of all pages that it granted itself for its buffers
no_grants_of_own() { cat /sys/module/xen_gntalloc/refcnt; [ "$(cat /sys/module/xen_gntalloc/refcnt)" = 0 ]; }

# descriptors : how many files unetbackd has open
descriptors() { find "/proc/$(unetbackd_pid)/fd" -mindepth 1 | wc -l; }

# as_many_descriptors NUMBER
as_many_descriptors() { ls -l "/proc/$(unetbackd_pid)/fd"; [ "$(descriptors)" = "$1" ]; }

# check_nothing_left WHEN [DESCRIPTORS] : all of it
check_nothing_left() {
    check "$1: no net device" wait_for 10 no_device
    check "$1: no port in Open vSwitch" no_port
    check "$1: no node in XenStore" no_node
    check "$1: no domain, so no page of a guest is held" wait_for 10 no_domain
    [ "$BACKEND" = unetback ] || return 0
    check "$1: no instance" wait_for 10 no_process
    check "$1: no granted page of dom0's own" no_grants_of_own
    [ -z "${2-}" ] || check "$1: unetbackd has as many files open as at first" as_many_descriptors "$2"
}

# --- complaints ------------------------------------------------------------------------------

complaints='BUG|WARNING|Call Trace|Oops|segfault|protection fault|hung task|[Oo]ut of memory'
complaints+='|g\.e\.|still in use|gntdev|gntalloc|xenbus.*(fail|error)|(vif|eth|netfront|tun).*([Ff]ail|[Ee]rror'
complaints+='|[Ii]nvalid|[Bb]ad |Need more|[Bb]roken|mis-?match|[Tt]imed? ?out|[Uu]nderflow)'

# quiet_log MODULE : stdin is a kernel log; fails with the lines that complain, or when the log does
# not even say that MODULE was loaded
quiet_log() {
    cat >/run/kernel-log
    ! grep -E "$complaints" /run/kernel-log && grep -q "$1" /run/kernel-log
}

quiet_dom0() { dmesg | quiet_log 'tun: Universal TUN/TAP'; }
quiet_guest() { domu "$1" dmesg | quiet_log 'xen_netfront: Initialising'; }
