#!/usr/bin/env bash
# Builds and runs a quick part of the book under the conditions of readers' machines, and prints a table.
#
#   tests/machines.sh [--work DIR] [CASE...]       without CASE: all except the fresh systems
#
#   v2 v3 v4      compiled for this level of x86-64 (v2 has no FMA, v4 has AVX-512), then run beside a busy process on
#                 each core. v2 is built in a path with spaces and non-ASCII letters, v3 by a user who is not root and
#                 cannot become root, with umask 077, a read-only home, and no network.
#   link          called through a symbolic link to the checkout
#   locale-c locale-tr    LANG=C; LANG=tr_TR.UTF-8, which has a decimal comma and an i without its dot
#   one-core      on one core
#   debian-12 debian-13   in a fresh system (debootstrap, as root), which installs all packages
#
# The cases without a build of their own recompile one file in the first of the builds above, or build v2 for that.
# The last commit is tried in DIR, which is kept, or in a temporary folder.
set -euo pipefail
unset CDPATH
root=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${root%/*/*}
. "$root/tests/table.sh"
cases_here='v2 v3 v4 link locale-c locale-tr one-core'
options "$cases_here debian-12 debian-13" "$cases_here" "$@"

# ---- The quick part: these tests, and these runs with a line that each must print
targets=(test_00 test_03 test_04)
tests=(-R '^(00|03|04)_' -E '_double')
quick='
set -euo pipefail
expect() {
    local line=$1 out
    shift
    out=$("$@" 2>"$log.stderr") || { printf "%s failed:\n%s\n%s\n" "$*" "$out" "$(cat "$log.stderr")"; exit 1; }
    grep -qxF -e "$line" <<<"$out" || { printf "no line \"%s\" in the output of %s:\n%s\n" "$line" "$*" "$out"; exit 1; }
}
log=$(mktemp)
trap "rm -f $log*" EXIT
expect "  ./book --help           this text" "$0" --help
expect "pads hidden     0.090  0.245  0.665  0.000" "$0" run 03
expect "朋       6     3         3           0  1.000      0.385" "$0" run 04
expect "exp(x - max) / sum 0.665 0.245 0.090" "$0" run scaled_dot_product_attention
expect "Usage: scaled_dot_product_attention [OPTIONS]" "$0" run 04 --help'

chmod 755 "$work"
mkdir -p "$work/home"
chmod 555 "$work/home"

# ---- The cases; the output of each goes into its log
# unpack FOLDER: puts the last commit there
unpack() {
    mkdir -p "$1"
    git -C "$root" archive HEAD | (cd "$1" && tar x)
}

# place LEVEL: prints the folder where it is built
place() {
    case $1 in v2) echo "$work/two words, été 変形" ;; *) echo "$work/$1" ;; esac
}

# as_reader COMMAND...: runs it without root, network or a writable home
as_reader() {
    if [ "$(id -u)" = 0 ]; then
        unshare --net setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/home" CCACHE_DISABLE=1 "$@"
    else
        unshare --map-current-user --net env HOME="$work/home" "$@"
    fi
}

# busy COMMAND...: runs it beside a busy process on each core
busy() {
    local others=() core result=0
    for core in $(seq "$(nproc)"); do
        (while kill -0 $$ 2>/dev/null; do :; done) &  # until the script ends
        others+=($!)
    done
    "$@" || result=$?
    kill "${others[@]}"
    wait "${others[@]}" 2>/dev/null || true
    return $result
}

# compile LEVEL: configures once by hand for this level; ./book then continues with this build
compile() {
    cd "$(place "$1")"
    cmake --preset book -DABH_TESTS=ON -DABH_NATIVE=OFF "-DCMAKE_CXX_FLAGS=-march=x86-64-$1"
    cmake --build build/book --target masks scaled_dot_product_attention "${targets[@]}"
}
look() {
    cd "$(place "$1")"
    bash -c "$quick" ./book
    ctest --test-dir build/book --no-tests=error --output-on-failure "${tests[@]}"
}

# build LEVEL: the case v2, v3 or v4
build() {
    local folder
    folder=$(place "$1")
    /lib64/ld-linux-x86-64.so.2 --help | grep -qE "x86-64-$1 \(supported" || not_here "this processor has no x86-64-$1"
    unpack "$folder"
    export -f compile look place
    export work quick
    if [ "$1" = v3 ]; then
        [ "$(id -u)" != 0 ] || chown -R 65534:65534 "$folder"
        umask 077
        as_reader bash -euo pipefail -c "$(declare -p targets); compile v3"
        busy as_reader bash -euo pipefail -c "$(declare -p tests); look v3"
    else
        compile "$1"
        busy look "$1"
    fi
}

# within CONDITION: runs the quick part in the first build, with one file that must be compiled again
within() {
    touch "$folder/chapters/03_masks/main.cpp"
    case $1 in
    link) ln -sfn "$folder" "$work/link"; bash -c "$quick" "$work/link/book" ;;
    locale-c) LC_ALL='' LANG=C bash -c "$quick" "$folder/book" ;;
    locale-tr)
        localedef -i tr_TR -f UTF-8 "$work/tr_TR.UTF-8" || not_here "the package locales is not installed"
        LOCPATH=$work LC_ALL='' LANG=tr_TR.UTF-8 bash -c "$quick" "$folder/book" ;;
    one-core) taskset -c 0 bash -c "$quick" "$folder/book" ;;
    esac
}

# system SUITE: runs the quick part in a Debian with only what debootstrap installs
system() {
    local place=$work/$1
    [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || not_here "needs root and debootstrap"
    [ -d "$place/usr" ] || debootstrap --variant=minbase "$1" "$place"
    rm -rf "$place/book"
    unpack "$place/book"
    unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc"; cp /etc/resolv.conf "$0/etc/"; cd /
        exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash -c "$1" /book/book' "$place" "$quick"
}

# ---- The table
folder=''
for name in "${cases[@]}"; do
    case $name in v[234]) try "$name" build "$name" ;; esac
done
for level in v2 v3 v4; do
    [ ! -x "$(place "$level")/build/book/chapters/03_masks/masks" ] || folder=${folder:-$(place "$level")}
done
for name in "${cases[@]}"; do
    case $name in
    v[234]) ;;
    debian-12) try "$name" system bookworm ;;
    debian-13) try "$name" system trixie ;;
    *)
        [ -n "$folder" ] || { try v2 build v2; folder=$(place v2); }
        try "$name" within "$name" ;;
    esac
done
exit $status
