# For scripts that try the book in many ways and print a table, a row for each. A script reads this file, then its options,
# and exits with `status`.
status=0

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

# options KNOWN DEFAULT ARGUMENT...: reads a script's options into `work`, a folder, and `cases`, which are those of DEFAULT
# if none is given; --all stands for all that are KNOWN
options() {
    local known=$1 default=$2
    work='' cases=()
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in
        --work) work=${2:?}; shift ;;
        --all) read -ra cases <<<"$known" ;;
        -h | --help) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit ;;
        *) case " $known " in *" $1 "*) cases+=("$1") ;; *) die "unknown case $1; see --help" ;; esac ;;
        esac
        shift
    done
    [ ${#cases[@]} -gt 0 ] || read -ra cases <<<"$default"
    [ -n "$work" ] || { work=$(mktemp -d); trap '[ $status -ne 0 ] || rm -rf "$work"' EXIT; }
    mkdir -p "$work/log"
    work=$(readlink -f -- "$work")
}

not_here() { echo "not here: $*"; exit 77; }

# try NAME COMMAND...: prints one row: ok and the seconds it took, the reason why it cannot be tried here, or the last lines
# of its output, which is in $work/log/NAME
try() {
    local name=$1 log=$work/log/$1 result=0 start=$SECONDS
    shift
    set +e
    (set -e; "$@") >"$log" 2>&1 </dev/null
    result=$?
    set -e
    case $result in
    0) printf '%-12s%5d s  ok\n' "$name" $((SECONDS - start)) ;;
    77) printf '%-12s         %s\n' "$name" "$(tail -n 1 "$log")" ;;
    *)
        printf '%-12s%5d s  FAILED; all that it printed is in %s\n' "$name" $((SECONDS - start)) "$log"
        tail -n 5 "$log" | sed 's/^/    /'
        status=1 ;;
    esac
}
