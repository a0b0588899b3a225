#!/bin/bash
# The rules of the house that a program can check: who may include whom (design.md section 5), how long
# things may get, what must not be written (style.md section 4).
#
# usage: tests/lint/lint.sh [--only RULE]
#
# Each rule is a function `rule_NAME` that prints the places that break it, and nothing if there are
# none, and a function `break_NAME` that adds such a place to a tree: a rule that cannot fail proves
# nothing, so each is tried on a broken tree before it is believed.
#
# One line a rule; the last line is `N passed, N failed`.
# shellcheck disable=SC2034	# the text_ variables are used by their names
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

FUNCTION_LINES_MAX=80
FILE_LINES_MAX=600
# What ovs-glue/ may see of backend/.
GLUE_SEES='port port_device hash frame verdict log clock pages arena'

# --- what there is ------------------------------------------------------------------------------

c_files() { find "$@" -name build -prune -o -type f -name '*.[ch]' -print 2>/dev/null | sort; }

shell_files() {
	find "$@" \( -name build -o -name .git \) -prune -o -type f -print 2>/dev/null | sort |
		while read -r file; do
			case $file in
			*.sh) echo "$file" ;;
			*.*) ;;
			*) head -n 1 "$file" | grep -aqE '^#!.*\b(ba|da)?sh\b' && echo "$file" ;;
			esac
		done
}

# The folders' quoted includes: FILE:LINE TARGET, the target as a path from the root.
includes() {
	c_files "$@" | xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
		awk -F: '{
			split($3, quoted, "\"")
			count = split($1, at, "/")
			n = 0
			for (i = 1; i < count; i++) path[++n] = at[i]
			count = split(quoted[2], to, "/")
			for (i = 1; i <= count; i++) {
				if (to[i] == ".." && n > 0) n--
				else if (to[i] != ".") path[++n] = to[i]
			}
			target = path[1]
			for (i = 2; i <= n; i++) target = target "/" path[i]
			print $1 ":" $2 " " target
		}'
}

# --- who includes whom ----------------------------------------------------------------------------

text_backend="backend/ sees no OVS header and nothing of ovs-glue/, except the mains"
rule_backend() {
	includes backend |
		grep -vE '^backend/(unetbackd[a-z_]*\.[ch]|instance_main\.c):[0-9]+ ovs-glue/' |
		grep -vE ' backend/[a-z_]+\.h$'
	c_files backend | xargs -r grep -HnE '#[[:space:]]*include[[:space:]]*<(config\.h|openvswitch/|lib/|ovs)'
}
break_backend() { echo '#include "../ovs-glue/ports.h"' >backend/instance.c; }

text_glue="ovs-glue/ sees of backend/ only: $GLUE_SEES"
rule_glue() {
	includes ovs-glue | grep -E ' (backend|tools|tests)/' |
		grep -vE " backend/(${GLUE_SEES// /|})\.h$"
}
break_glue() { echo '#include "../backend/ring.h"' >ovs-glue/tap.c; }

text_cli="tools/unetback.c sees only the control protocol (ovs-glue/control_client.h)"
rule_cli() {
	[ ! -e tools/unetback.c ] || includes tools/unetback.c | grep -v ' ovs-glue/control_client\.h$'
}
break_cli() { echo '#include "../backend/vif_state.h"' >tools/unetback.c; }

text_protocol="tests named in docs/protocol.md exist"
rule_protocol() {
	local name file
	[ -e docs/protocol.md ] || return
	# shellcheck disable=SC2016	# Markdown's quotes
	grep -oE '`(test|fuzz|check)_[a-z_0-9]+(\.sh)?(:[a-z_0-9]+)?`' docs/protocol.md | tr -d '`' | sort -u |
		while IFS=: read -r file name; do
			find tests -name "${file%.sh}.*" -print -quit | grep -q . || { echo "no tests/*/$file"; continue; }
			[ -z "$name" ] || grep -rqsw "$name" --include="$file*" tests || echo "$file: no $name"
		done
}
break_protocol() { echo "\`test_vif_keys:no_such_test\`" >docs/protocol.md; }

text_sim="nothing outside tests/ sees the simulator, except the bench"
rule_sim() { includes backend ovs-glue tools | grep ' tests/' | grep -v '^tools/unetback-bench'; }
break_sim() { echo '#include "../tests/sim/world.h"' >backend/ring.c; }

text_shared="memory shared with the guest is dereferenced in backend/ring.[ch] only"
rule_shared() {
	c_files backend ovs-glue tools | grep -vE '^backend/ring\.[ch]$' | xargs -r grep -Hn 'shared->'
}
break_shared() { echo 'int f(struct s *r) { return r->shared->req_prod; }' >backend/guest_tx.c; }

# --- sizes ----------------------------------------------------------------------------------------

text_functions="functions have at most $FUNCTION_LINES_MAX lines"
rule_functions() {
	c_files backend ovs-glue tools tests |
		ctags --languages=C --kinds-C=f --fields=nePF --output-format=u-ctags -L - -f - 2>/dev/null |
		awk -F'\t' -v max="$FUNCTION_LINES_MAX" '{
			for (i = 4; i <= NF; i++) {
				if ($i ~ /^line:/) first = substr($i, 6)
				if ($i ~ /^end:/) last = substr($i, 5)
			}
			if (last - first + 1 > max)
				print $2 ":" first " " $1 "() has " last - first + 1 " lines"
		}'
}
break_functions() {
	{ echo 'int f(void) {'; yes '	g();' | head -n "$FUNCTION_LINES_MAX"; echo '}'; } >backend/vif.c
}

text_files="files have at most $FILE_LINES_MAX lines"
rule_files() {
	{ c_files backend ovs-glue tools tests; shell_files tools tests; } |
		while read -r file; do
			lines=$(wc -l <"$file")
			[ "$lines" -le "$FILE_LINES_MAX" ] || echo "$file has $lines lines"
		done
}
break_files() { yes '/* */' | head -n $((FILE_LINES_MAX + 1)) >backend/vif.c; }

# --- what must not be written -----------------------------------------------------------------------

# The pause of a polling loop is no wait: `until COND; do sleep 0.1; done` on one line, or a line that
# ends in "# polling".
text_sleep="tests wait for conditions: no sleep"
rule_sleep() {
	shell_files tests | grep -v '^tests/lint/' | xargs -r grep -HnE '^[^#]*\b(u|nano)?sleep[[:space:]]' |
		grep -vE '# polling$|\b(until|while) .*; do sleep 0?\.[0-9]+; done'
	c_files tests | xargs -r grep -HnE '\b(u|nano|clock_nano)?sleep[[:space:]]*\('
}
break_sleep() { printf '#!/bin/sh\nsleep 1\n' >tests/sim/demo; }

text_dead="no dead code: no #if 0"
rule_dead() { c_files backend ovs-glue tools tests | xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*if[[:space:]]+0\b'; }
break_dead() { printf '#if 0\n#endif\n' >backend/vif.c; }

text_todo="what is left to do has the number of an issue: TODO(#7)"
rule_todo() {
	{ c_files backend ovs-glue tools tests; shell_files tools tests; echo Makefile; } |
		grep -v '^tests/lint/' | xargs -r grep -HnE '\b(TODO|FIXME|XXX)\b' 2>/dev/null |
		grep -vE '\b(TODO|FIXME|XXX)\(#[0-9]+\)'
}
break_todo() { echo '/* TODO: more */' >backend/vif.c; }

text_tabs="C is indented by tabs"
rule_tabs() { c_files backend ovs-glue tools tests | xargs -r grep -HnE '^ +[^ *]|^	* {8}'; }
break_tabs() { printf 'int f(void)\n{\n    return 0;\n}\n' >backend/vif.c; }

text_typedef="structs have no typedef"
rule_typedef() { c_files backend ovs-glue tools tests | xargs -r grep -HnE '^[[:space:]]*typedef[[:space:]]+struct'; }
break_typedef() { echo 'typedef struct vif vif_t;' >backend/vif.c; }

text_opening="a file opens by saying what it is: /* NAME - ..."
rule_opening() {
	c_files backend ovs-glue tools tests | while read -r file; do
		head -n 1 "$file" | grep -qF "/* $(basename "$file") - " || echo "$file:1"
	done
}
break_opening() { echo '#include <stdio.h>' >backend/vif.c; }

# --- other checkers -------------------------------------------------------------------------------

text_shellcheck="shellcheck is content with every shell script"
rule_shellcheck() {
	shell_files .ci tools tests | xargs -r shellcheck -x -P SCRIPTDIR -P . --format=gcc 2>&1
}
# shellcheck disable=SC2016
break_shellcheck() { printf '#!/bin/sh\nrm -rf $1\n' >tools/install; }

text_man="man pages are without fault"
rule_man() {
	local page
	find docs/man -name '*.[1-9]' 2>/dev/null | sort | while read -r page; do
		# w: "all" leaves out undefined macros
		{ MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings=w -l "$page" >/dev/null; } 2>&1
		! command -v mandoc >/dev/null || mandoc -T lint -W warning "$page"
		grep -q '^\.SH EXAMPLES' "$page" || echo "$page: has no section EXAMPLES"
	done
}
break_man() { printf '.TH X 8\n.SH NAME\nx \\- y\n.SH EXAMPLES\n.nosuchmacro\n' >docs/man/x.8; }

RULES='backend glue cli sim protocol shared functions files sleep dead todo tabs typedef opening shellcheck man'

# --- running --------------------------------------------------------------------------------------

passed=0 failed=0

report() {
	local text=$1 faults=$2
	if [ -z "$faults" ]; then
		echo "ok - $text"
		passed=$((passed + 1))
	else
		echo "not ok - $text"
		head -n 40 <<<"$faults" | sed 's/^/    /'
		failed=$((failed + 1))
	fi
}

# What is wrong with a rule itself: it must be content with a clean tree and find a broken place.
distrust() {
	local name=$1 tree
	tree=$(mktemp -d)
	(
		cd "$tree" || exit
		mkdir -p backend ovs-glue tools tests/sim docs/man .ci
		touch Makefile
		[ -z "$("rule_$name")" ] || echo "complains of an empty tree"
		"break_$name"
		[ -n "$("rule_$name")" ] || echo "does not see: $(head -c 200 "$(find . -newer Makefile -type f | head -n 1)")"
	)
	rm -rf "$tree"
}

check() {
	local name=$1 text
	text=text_$name
	report "${!text}" "$(cd "$root" && "rule_$name")"
	report "the rule '$name' can fail" "$(distrust "$name")"
}

only=$RULES
[ "${1-}" != --only ] || only=${2-}
for tool in ctags shellcheck man; do
	command -v $tool >/dev/null || report "$tool is installed" "no $tool; \`make deps\` installs it"
done
for name in $only; do
	case " $RULES " in
	*" $name "*) check "$name" ;;
	*) echo "lint.sh: no rule '$name'; there are: $RULES" >&2; exit 1 ;;
	esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
