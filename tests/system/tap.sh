# tap.sh - for shell tests: counting, conditions, clean-up.  To be sourced.
#
# A test is a function; `test_that "what should hold" FUNCTION` runs it in a subshell with -e and prints
# `ok` or `not ok`.  `become WHAT COMMAND...` polls a condition and gives up after BECOME_SECONDS; tests
# wait for nothing else.
# shellcheck shell=bash

BECOME_SECONDS=${BECOME_SECONDS-20}
test_count=0 test_failed=0

test_that() {
	local what=$1 output status
	shift
	test_count=$((test_count + 1))
	output=$(set -euo pipefail; "$@" 2>&1)	# not in a condition: bash would forget the -e
	status=$?
	if [ $status -eq 0 ]; then
		echo "ok $test_count - $what"
	else
		echo "not ok $test_count - $what"
		echo "# ${output//$'\n'/$'\n# '}"
		test_failed=$((test_failed + 1))
	fi
}

# Ends the script with the status that its tests deserve.
tests_done() {
	echo "1..$test_count"
	exit $((test_failed > 0))
}

# Waits until COMMAND succeeds.
become() {
	local what=$1 deadline=$((SECONDS + BECOME_SECONDS))
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $deadline ]; then
			echo "did not become: $what" >&2
			return 1
		fi
		read -rt 0.02 <> <(:) || true	# a pause without a process
	done
}

# Fails, with both texts, unless they are the same.
same() {
	[ "$1" = "$2" ] || { printf 'got:    %s\nwanted: %s\n' "$1" "$2"; return 1; }
}

# Fails, with the text, unless it contains the words.
contains() {
	case $1 in *"$2"*) ;; *) printf 'got:    %s\nwanted to find: %s\n' "$1" "$2"; return 1 ;; esac
}

# Runs a command that has to fail with status $1; its output is in $output.
fails_with() {
	local wanted=$1 status=0
	shift
	output=$("$@" 2>&1) || status=$?
	[ "$status" -eq "$wanted" ] ||
		{ echo "status $status, not $wanted, of: $*"; echo "$output"; return 1; }
}

# One line, not more.
one_line() {
	[ "$(wc -l <<<"$1")" -eq 1 ] || { echo "more than one line:"; echo "$1"; return 1; }
}
