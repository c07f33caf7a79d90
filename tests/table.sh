# For scripts that try the book in many ways and print a table, a row for each. A script sets `logs`, a folder, reads this
# file, and exits with `status`.
status=0

not_here() { echo "not here: $*"; exit 77; }

# try NAME COMMAND...: prints one row: ok and the seconds it took, the reason why it cannot be tried here, or the last lines
# of its output, which is in $logs/NAME
try() {
    local name=$1 log=$logs/$1 result=0 start=$SECONDS
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
