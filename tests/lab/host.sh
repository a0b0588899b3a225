# shellcheck shell=bash disable=SC2034,SC2154 # the commands use lab_options and set here
# What the commands of this folder (demo, bench, profile, smoke, endurance,
# queues, life, soak) have in common on the
# host.  They set here=FOLDER_OF_THIS and call, in this order:
#   lab_option FLAG      for each option that getopts finds in "$lab_options..."
#   lab_run SCRIPT NAME=VALUE...    runs dom0/SCRIPT; replaces the shell

# Options they all have.  usage() of each prints its own head and lab_help.
lab_options=b:B:o:t:wvh
lab_help='
   -b  backend under test: unetback (default), or netback to try the script itself
   -B  folder with unetbackd, unetback-instance and unetback (../../build/release)
   -o  folder for results and the logs of Xen, Linux, xl, OVS and unetbackd
   -t  seconds after which all of it has failed (1100)
   -w  the wall clock instead of counted instructions: faster on an idle machine, less exact
   -v  show the console of Xen and dom0 too'
backend=unetback programs=$here/../../build/release run_options=() limit=1100 count=-i

# usage : prints the head of the command and the common options, and fails
usage() {
    sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0" >&2
    printf 'options of all:%s\n' "$lab_help" >&2
    exit 1
}

# lab_option FLAG : takes one of the common options, of getopts; fails on others
lab_option() {
    case $1 in
        b) backend=$OPTARG ;;
        B) programs=$OPTARG ;;
        o) run_options+=(-o "$OPTARG") ;;
        t) limit=$OPTARG ;;
        w) count='' ;;
        v) run_options+=(-c) ;;
        *) usage ;;
    esac
}

# lab_files : the programs to carry in, in $files; fails with what to do when one is missing
lab_files() {
    local name
    files=("$here"/dom0/*.sh)
    [ "$backend" = unetback ] || return 0
    for name in unetbackd unetback-instance unetback; do
        if [ ! -x "$programs/$name" ]; then
            echo "$0: no $programs/$name; type \`make\` first, or name the folder with -B" >&2
            exit 1
        fi
        files+=("$programs/$name")
    done
}

# lab_run SCRIPT [NAME=VALUE...] : runs dom0/SCRIPT in dom0 with these variables
lab_run() {
    local script=$here/dom0/$1 variable
    shift
    lab_files
    for variable in "BACKEND=$backend" "$@"; do run_options+=(-v "$variable"); done
    exec "$here/run" -t "$limit" ${count:+"$count"} "${run_options[@]}" "$script" "${files[@]}"
}
