#!/bin/bash
# Daemon manners: options, pid file, log, control socket, signals, and the command line tool, with a
# program that has nothing else (daemon_probe.c), built with ASan and LeakSanitizer.
# shellcheck disable=SC2317	# test_that calls the functions
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/system/tap.sh
. tests/system/tap.sh

probe=$PWD/build/asan/tests/system/daemon_probe
tool=$PWD/build/asan/unetback
work=$(mktemp -d)
export OVS_RUNDIR=$work/run OVS_LOGDIR=$work/log
mkdir "$OVS_RUNDIR" "$OVS_LOGDIR"
trap 'stop_probe; rm -rf "$work"' EXIT

pid() { cat "$OVS_RUNDIR/daemon_probe.pid" 2>/dev/null; }
gone() { [ ! -e "/proc/$1" ]; }
call() { ovs-appctl -t daemon_probe --timeout=10 "$@"; }
stop_probe() {
	local pid
	pid=$(pid) && kill "$pid" 2>/dev/null && become "the probe gone" gone "$pid"
}
start_probe() { "$probe" --detach --log-file -vconsole:off "$@"; }

help_is_ours_and_ovs() {
	local text
	text=$("$probe" --help)
	for word in --hang=MS --fail --detach --pidfile --monitor --no-chdir --log-file --unixctl \
		--verbose --version "$OVS_RUNDIR/daemon_probe.pid"; do
		contains "$text" "$word"
	done
	case $text in *--user*) echo "offers --user"; return 1 ;; esac
}

version_is_two_lines() {
	same "$("$probe" -V | head -n 1)" "daemon_probe (unetback) 0.1"
	contains "$("$probe" --version)" "Open vSwitch Library"
}

bad_options_are_one_line() {
	local output
	fails_with 1 "$probe" --hang=x
	same "$output" "daemon_probe: --hang is 'x', must be milliseconds from 1 to 60000"
	fails_with 1 "$probe" --nonsense
	contains "$output" "unrecognized option"; one_line "$output"
	fails_with 1 "$probe" extra
	contains "$output" "'extra' is not an option"; one_line "$output"
	fails_with 1 "$probe" --user=nobody
	contains "$output" "--user=nobody is not possible"; one_line "$output"
}

life_with_detach() {
	local pid
	start_probe
	pid=$(pid)
	same "$(readlink "/proc/$pid/cwd")" /
	contains "$(call version)" "daemon_probe 0.1"
	[ -S "$OVS_RUNDIR/daemon_probe.$pid.ctl" ]
	call exit
	become "gone" gone "$pid"
	[ ! -e "$OVS_RUNDIR/daemon_probe.pid" ]
	[ ! -e "$OVS_RUNDIR/daemon_probe.$pid.ctl" ]
	contains "$(cat "$OVS_LOGDIR/daemon_probe.log")" "|unetback|INFO|ending in good order"
}

# Foreground, so that the exit status is to be had: 0 and no leak.
signal_ends_in_good_order() {
	local name=$1 status=0 job
	"$probe" -vconsole:info >"$work/out" 2>&1 &
	job=$!
	become "the socket" test -S "$OVS_RUNDIR/daemon_probe.$job.ctl"
	become "an answer" call version
	call probe/report >/dev/null
	fails_with 2 call probe/echo bad
	kill -s "$name" "$job"
	wait "$job" || status=$?
	same "$status" 0
	contains "$(cat "$work/out")" "ending in good order"
	[ -z "$(ls "$OVS_RUNDIR")" ]
}

second_daemon_is_refused() {
	local output first
	start_probe
	first=$(pid)
	fails_with 1 "$probe" -vconsole:off
	same "$output" "daemon_probe: $OVS_RUNDIR/daemon_probe.pid: already running as pid $first, aborting"
	fails_with 1 "$probe" --detach -vconsole:off
	one_line "$output"
	same "$(pid)" "$first"
	call version >/dev/null
	stop_probe
}

stale_pid_file_is_replaced() {
	echo 999999 >"$OVS_RUNDIR/daemon_probe.pid"
	start_probe
	[ "$(pid)" != 999999 ]
	stop_probe
}

missing_run_folder() {
	local output
	fails_with 1 env OVS_RUNDIR="$work/nowhere" "$probe" --detach
	same "$output" "daemon_probe: the run folder $work/nowhere cannot be written; make it, or name \
another by OVS_RUNDIR in the environment (No such file or directory)"
}

absolute_names_need_no_run_folder() {
	local folder=$work/elsewhere pid
	mkdir "$folder"
	env OVS_RUNDIR="$work/nowhere" "$probe" --detach -vconsole:off --pidfile="$folder/x.pid" \
		--unixctl="$folder/x.ctl"
	pid=$(cat "$folder/x.pid")
	contains "$("$tool" --target="$folder/x.ctl" list)" "vif10.0"
	kill "$pid"
	become "gone" gone "$pid"
	[ -z "$(ls "$folder")" ]
}

unwritable_run_folder() {
	local output
	[ "$(id -u)" -eq 0 ] || return 0
	mkdir -p "$work/readonly" && chmod 755 "$work" "$work/readonly"
	cp "$probe" "$work/probe"
	fails_with 1 env OVS_RUNDIR="$work/readonly" setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$work/probe"
	contains "$output" "the run folder $work/readonly cannot be written"
	contains "$output" "(Permission denied)"
	one_line "$output"
}

unusable_socket() {
	local output
	fails_with 1 "$probe" --unixctl="$work/nowhere/x.ctl" -vconsole:off
	contains "$output" "$work/nowhere/x.ctl: could not initialize control socket"
	one_line "$output"
}

failed_start_is_seen() {
	local output
	fails_with 1 "$probe" --detach --fail -vconsole:warn
	contains "$output" "cannot start: told to fail"
	[ -z "$(ls "$OVS_RUNDIR")" ]
}

commands_are_listed() {
	local text
	start_probe
	text=$(call list-commands)
	for word in "probe/echo              [--format=text|json] [WORD]" vlog/set vlog/reopen exit version \
		coverage/show; do
		contains "$text" "$word"
	done
	stop_probe
}

arguments_are_checked() {
	local output
	start_probe
	fails_with 2 call probe/echo a b c
	contains "$output" "takes at most"
	fails_with 2 call probe/log --format=json
	contains "$output" "probe/log takes 1 to 1 arguments, not 0"
	fails_with 2 call probe/echo a b
	contains "$output" "probe/echo takes 0 to 1 arguments, not 2"
	fails_with 2 call probe/echo --format=xml
	contains "$output" "--format must be text or json"
	fails_with 2 call probe/echo bad
	contains "$output" "'bad' is bad"
	same "$(call probe/echo --format=text x)" "said: x"
	stop_probe
}

reports_in_both_forms() {
	start_probe
	same "$(call probe/report)" "vif1.0:
  guest:           1
  hotplug_status:  -
  rings_connected: yes
  said:            caf?? ?[31m??
  features:        sg, gso-tcpv4
  nothing:         none
  queues:
    -
      frames: 18446744073709551615

last: one"
	same "$(call probe/report --format=json | jq -c '."vif1.0" | [.guest, .features, .said]')" \
		'[1,["sg","gso-tcpv4"],"caf?? ?[31m??"]'
	same "$(call probe/table)" "vif      guest  waiting_for
vif1.0   1      -
vif10.0  10     the frontend"
	stop_probe
}

log_goes_to_vlog() {
	local log=$OVS_LOGDIR/daemon_probe.log
	rm -f "$log"
	start_probe
	call probe/log first >/dev/null
	contains "$(cat "$log")" "|unetback|ERR|error first"
	contains "$(cat "$log")" "|unetback|WARN|warning first"
	contains "$(cat "$log")" "|unetback|INFO|info first"
	same "$(grep -c "debug first" "$log")" 0
	call vlog/set unetback:file:dbg
	call probe/log second >/dev/null
	contains "$(cat "$log")" "|unetback|DBG|debug second?forged line"
	mv "$log" "$log.1"
	call vlog/reopen
	call probe/log third >/dev/null
	contains "$(cat "$log")" "error third"
	stop_probe
}

monitor_restarts_it() {
	local first second
	start_probe --monitor
	first=$(pid)
	kill -ABRT "$first"		# ASan turns SEGV into an exit status
	become "gone" gone "$first"
	become "an answer" call version
	second=$(pid)
	[ "$first" != "$second" ]
	call exit
	become "gone" gone "$second"
}

# --- the command line tool ---

tool_without_daemon() {
	local output
	fails_with 1 "$tool" list
	same "$output" "unetback: unetbackd does not run (there is no $OVS_RUNDIR/unetbackd.pid); start it, \
or name its control socket with --target"
	echo 999999 >"$OVS_RUNDIR/unetbackd.pid"
	fails_with 1 "$tool" list
	contains "$output" "unetbackd does not run ($OVS_RUNDIR/unetbackd.pid is left over"
	one_line "$output"
	rm "$OVS_RUNDIR/unetbackd.pid"
	fails_with 1 "$tool" --target="$work/none.ctl" list
	contains "$output" "cannot connect to $work/none.ctl: No such file or directory"
	one_line "$output"
}

tool_usage() {
	local output
	for words in "shwo:did you mean 'show'?" "lst:did you mean 'list'?" "stat:did you mean 'stats'?" \
		"frobnicate:--help lists"; do
		fails_with 1 "$tool" "${words%%:*}"
		contains "$output" "unknown command '${words%%:*}'"
		contains "$output" "${words#*:}"
		one_line "$output"
	done
	fails_with 1 "$tool"
	contains "$output" "no command given"
	fails_with 1 "$tool" list vif1.0
	contains "$output" "'vif1.0' is one argument too many; usage: unetback list"
	fails_with 1 "$tool" show a b
	contains "$output" "'b' is one argument too many; usage: unetback show [VIF]"
	fails_with 1 "$tool" --format=yaml list
	same "$output" "unetback: --format is 'yaml', must be text or json"
	fails_with 1 "$tool" --timeout=0 list
	contains "$output" "--timeout is '0'"
	contains "$("$tool" --help)" "stats [VIF]"
	same "$("$tool" --version | head -n 1)" "unetback 0.1"
}

tool_asks() {
	local output
	start_probe
	contains "$("$tool" --target=daemon_probe list)" "vif10.0  10     the frontend"
	same "$("$tool" -t daemon_probe show vif1.0)" "said: vif1.0"
	same "$("$tool" -t daemon_probe show vif1.0 --format=json | jq -r .said)" vif1.0
	fails_with 1 "$tool" --target=daemon_probe show bad
	same "$output" "unetback: 'bad' is bad"
	fails_with 1 "$tool" --target=daemon_probe stats
	contains "$output" '"unetback/stats" is not a valid command'
	fails_with 1 bash -c "'$tool' -t daemon_probe list >/dev/full"
	contains "$output" "cannot write the answer"
	stop_probe
}

tool_gives_up() {
	local output
	start_probe --hang=5000
	call probe/hang >/dev/null
	fails_with 1 "$tool" --target=daemon_probe --timeout=1 list
	contains "$output" "within 1 s: Connection timed out"
	one_line "$output"
	kill -KILL "$(pid)"
	rm -f "$OVS_RUNDIR"/*
}

test_that "--help shows our options and those of an OVS daemon" help_is_ours_and_ovs
test_that "--version names us and the library" version_is_two_lines
test_that "wrong options: one clear line and status 1" bad_options_are_one_line
test_that "detaches, serves, exits on command, leaves nothing behind" life_with_detach
test_that "SIGTERM ends it in good order, without a leak" signal_ends_in_good_order TERM
test_that "SIGINT does as well" signal_ends_in_good_order INT
test_that "SIGHUP does as well" signal_ends_in_good_order HUP
test_that "a second daemon is refused and the first lives on" second_daemon_is_refused
test_that "a pid file left over from a crash is replaced" stale_pid_file_is_replaced
test_that "a missing run folder: one clear line" missing_run_folder
test_that "absolute names of pid file and socket need no run folder" absolute_names_need_no_run_folder
test_that "a run folder without permission: one clear line" unwritable_run_folder
test_that "a control socket that cannot be made: one clear line" unusable_socket
test_that "the parent's status tells a start that failed" failed_start_is_seen
test_that "list-commands has ours and vlog's" commands_are_listed
test_that "arguments of commands are checked" arguments_are_checked
test_that "reports are readable as text and valid as JSON" reports_in_both_forms
test_that "log.h goes to vlog, with levels and reopening" log_goes_to_vlog
test_that "--monitor starts a crashed daemon again" monitor_restarts_it
test_that "unetback without a daemon: one clear line" tool_without_daemon
test_that "unetback used wrongly: one clear line" tool_usage
test_that "unetback asks and prints" tool_asks
test_that "unetback gives up when told to" tool_gives_up
tests_done
