# shellcheck shell=bash
# checks.sh - for check_*.sh with a world of their own; to be sourced, after cd to the project's root
#
#	checks_begin DIR	network, /sys and named network namespaces of our own (the script is
#				started again in them: nothing of the machine is seen or touched), a
#				world in DIR with a run folder, DIR removed at the end
#	check NAME FUNCTION	a test; FUNCTION says on its output why it fails
#	checks_end		exits with the status that the tests deserve
#	unetbackd_start [OPTION]...	and until it answers
#	show VIF KEY		one value of `unetback show VIF`
#	PROGRAMS		folder of unetbackd (build/asan)
PROGRAMS=${PROGRAMS-$PWD/build/asan}
# shellcheck source=tests/sim/world.sh
. tests/sim/world.sh
check_number=0 check_failures=0

checks_begin() {
	if [ -z "${CHECKS_ISOLATED-}" ]; then
		CHECKS_ISOLATED=1 exec unshare --net --mount "$0"
	fi
	if ! { mkdir -p /run/netns && mount -t tmpfs netns /run/netns && mount -t sysfs sysfs /sys &&
		ip link set lo up; }; then
		echo "Bail out! no namespaces"
		exit 1
	fi
	CHECKS_DIRECTORY=$(mktemp -d "/tmp/$1.XXXXXX")
	trap checks_clean_up EXIT
	world_start "$CHECKS_DIRECTORY" || { echo "Bail out! the simulated host does not start"; exit 1; }
	export OVS_RUNDIR=$CHECKS_DIRECTORY/run
	mkdir "$OVS_RUNDIR"
}

checks_clean_up() {
	local pidfile
	for pidfile in "$CHECKS_DIRECTORY"/*.pid; do
		[ ! -e "$pidfile" ] || world_end "$(basename "$pidfile" .pid)" KILL || :
	done
	rm -rf "$CHECKS_DIRECTORY"
}

check() {
	check_number=$((check_number + 1))
	if "$2" >"$CHECKS_DIRECTORY/test.log" 2>&1; then
		echo "ok $check_number - $1"
	else
		echo "not ok $check_number - $1"
		check_failures=$((check_failures + 1))
		sed 's/^/# /' "$CHECKS_DIRECTORY/test.log" "$CHECKS_DIRECTORY/unetbackd.log"
	fi
}

checks_end() {
	echo "1..$check_number"
	[ "$check_failures" -eq 0 ]
	exit
}

say() { echo "$*"; false; }
same() { [ "$1" = "$2" ] || say "'$1' is not '$2'"; }
contains() { case $1 in *"$2"*) ;; *) say "'$1' does not contain '$2'" ;; esac; }

unetbackd_start() {
	[ ! -e "$WORLD/unetbackd.log" ] || cat "$WORLD/unetbackd.log" >>"$WORLD/unetbackd-before.log"
	world_run unetbackd "$PROGRAMS/unetbackd" --user-instance=nobody "$@"
	wait_for 20 "$PROGRAMS/unetback" list
}

show() { "$PROGRAMS/unetback" show "$1" | sed -n "s/^ *$2: *//p"; }

sanitizers_are_silent() {
	! grep -E "ERROR: .*Sanitizer|runtime error|exit status|signal 1?[1-8] " "$WORLD"/unetbackd*.log
}
