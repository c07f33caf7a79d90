#!/usr/bin/env bash
# Compiles the sources only for their warnings: with each compiler, for each processor level, at each optimization
# level. Nothing is linked and no object is kept.
#
#   tests/compilers.sh [OPTIONS] [COMPILER...]
#
#   COMPILER...      use these compilers, which must all be installed (default: those of g++-12, g++-14, clang++-14,
#                    clang++-19 and aarch64-linux-gnu-g++ that are)
#   --levels L,...   x86-64 levels v2, v3, v4, and native (default: all four)
#   --optimize N,... 1, 3, or read (syntax only, which takes half the time). Without these two options, v4 is combined
#                    with 1 and 3, the others with read
#   --changed        compile what the last commit and uncommitted changes touch, and what includes it
#   --at-most N      compile only the N sources that are nearest to the change
#
# GCC's optimizer warns, too. Clang warns before it optimizes, so it only reads, once for each level; so does the compiler
# for arm64, once. After a compiler's first row, only sources that depend on the processor are read. Twins with
# Real = double, and the code that judges the exercises, are compiled once per compiler, in its first row.
#
# GCC 14 and Clang 19 are Debian 13's: call this script in such a system, for example the one that tests/machines.sh makes.
set -euo pipefail
unset CDPATH
export LC_ALL=C
cd -P "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

die() { printf 'compilers.sh: %s\n' "$*" >&2; exit 2; }

compilers=() installed=() levels='' optimize='' changed='' most=1000000
while [ $# -gt 0 ]; do
    case $1 in
    --levels) levels=${2//,/ }; shift ;;
    --optimize) optimize=${2//,/ }; shift ;;
    --at-most) most=${2:?}; shift ;;
    --changed) changed=1 ;;
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' tests/compilers.sh; exit ;;
    -*) die "unknown option $1; see --help" ;;
    *) command -v "$1" >/dev/null || die "$1 is not installed"; compilers+=("$1") ;;
    esac
    shift
done
for name in g++-12 g++-14 clang++-14 clang++-19 aarch64-linux-gnu-g++; do
    ! command -v "$name" >/dev/null || installed+=("$name")
done
[ ${#compilers[@]} -gt 0 ] || compilers=("${installed[@]}")
combinations=(v4:1 v4:3 v2:read v3:read native:read)
if [ -n "$levels$optimize" ]; then
    combinations=()
    for level in ${levels:-v4 v2 v3 native}; do
        for o in ${optimize:-1 3}; do combinations+=("$level:$o"); done
    done
fi

# ---- How each source is compiled: one line "NAME<tab>flags SOURCE" in units; NAME ends in .double for Real = double
out=build/compilers tree=build/compilers/tree
mkdir -p "$out"
env -u CMAKE_CXX_COMPILER_LAUNCHER cmake -S . -B "$tree" -G Ninja -DABH_TESTS=ON -DABH_JUDGE=ON \
    -DABH_CUDA=EMULATED >"$out/configure.log" 2>&1 || { cat "$out/configure.log" >&2; die "CMake could not set up the build"; }
ninja -C "$tree" -t targets all | sed -n 's/^\(.*\.o\): .*/\1/p' | xargs -d '\n' ninja -C "$tree" -t commands |
    grep -e ' -c ' | sed -E 's/^[^ ]+ //; s/ -MD -MT .* -c / -c /; s/ -march=[^ ]*//' |
    awk -v root="$PWD/" '{
        name = $0; sub(/.* -c /, "", name); gsub(/["\\\047]/, "", name); name = substr(name, length(root) + 1)
        if (/-DABH_DOUBLE /) name = name ".double"
        sub(/ -c /, " ")
        if (!seen[name]++) print name "\t" $0
    }' >"$out/units"
# Sources that no program here uses are compiled like the library, and answers as the judge does.
for file in lib/cuda/absent.cpp chapters/14_on_many_machines/ranks/mpi_absent.cpp chapters/*/exercises/*/{answer,call}.cpp; do
    if [ -f "$file" ] && ! grep -q "^$file	" "$out/units"; then
        case $file in */exercises/*) like=lib/tensor.cpp.double ;; *) like=lib/tensor.cpp ;; esac
        sed -nE "\|^$like	|{s|^[^	]*|$file|; s|lib/tensor\.cpp([\"']?)$|$file\1|; p; q}" "$out/units" >>"$out/added"
    fi
done
[ ! -f "$out/added" ] || { cat "$out/added" >>"$out/units"; rm "$out/added"; }

# ---- Which sources
# reached FILES: prints the sources among them, then those that include one of them, the nearest first
reached() {
    local found=$1 names
    : >"$out/seen"
    while [ -n "$found" ]; do
        printf '%s\n' "$found" >>"$out/seen"
        grep -E '\.(cpp|cu)$' <<<"$found" || true
        names=$(grep -E '\.(hpp|cuh|h)$' <<<"$found" | sed 's|.*/||; s/[.+]/\\&/g' | paste -sd '|') || true
        [ -n "$names" ] || break
        found=$(grep -rlE "#include \"(.*/)?($names)\"" bench chapters judge lib tests | sort | grep -vxFf "$out/seen") || true
    done
}
# units_of: prints the units of the sources whose names it reads, in their order
units_of() { while read -r name; do grep -F -e "$name	" -e "$name.double	" "$out/units" | grep "^$name" || true; done; }
if [ -n "$changed" ]; then
    reached "$(git diff --name-only --diff-filter=d HEAD~1 --; git ls-files --others --exclude-standard)" | units_of >"$out/wanted"
else
    cp "$out/units" "$out/wanted"
fi
[ -s "$out/wanted" ] || { echo "no source has changed"; exit 0; }
# The sources that depend on the processor; reading the others for another one would find nothing new.
asking=$(grep -rlE '^ *#.*(__(AVX|SSE|FMA|F16C|ARM|aarch64|x86_64)|EIGEN_VECTORIZE)' bench chapters judge lib tests \
    --include='*.[chH]*')
reached "$asking" | units_of | grep -xFf "$out/wanted" >"$out/asking" || true

# ---- Compiling
export said='^[^ ].*: (warning|error|fatal error): '
# Warnings about GCC's own headers are not ours; its AVX-512 header gives a false one at -O1. For its library only two kinds
# are ignored, which GCC gives at -O3 for correct strings and functions.
export theirs='^/usr/lib/gcc(-cross)?/|^/usr/([^/]+/)?include/c\+\+/.*\[-W(restrict|maybe-uninitialized)\]'
# compile NAME<tab>CALL: prints the name and the first warning, if there is one
compile() {
    local first
    first=$(sh -c "${1#*	}" 2>&1 | grep -E "$said" | grep -vE "$theirs" | head -n 1)
    [ -z "$first" ] || printf '    %s: %s\n' "${1%%	*}" "$first"
}
export -f compile

# check COMPILER LEVEL OPTIMIZE: prints a row about the units that it reads, and below it their warnings
check() {
    local units how='-S -o /dev/null' march="-march=x86-64-$2" own="s/ -O[0-3s]( |$)/ -O$3\1/g" found
    case $3 in read) how=-fsyntax-only own='' ;; esac
    case $1 in clang*) how+=' -Wno-unknown-warning-option' ;; aarch64*) march='' ;; esac
    case $2 in native) march=-march=native ;; esac
    units=$(sed "${most}q" | sed -E "$own; s|	(.*)|	$1 \1 $march -Wall -Wextra -Wconversion -Wshadow $how|")
    [ -n "$units" ] || return 0
    found=$(xargs -d '\n' -n 1 -P "$(nproc)" bash -c 'compile "$1"' bash <<<"$units")
    printf '%-24s%-8s%-5s%7d  %s\n' "$1" "$2" "$3" "$(wc -l <<<"$units")" "$([ -n "$found" ] && echo FAILED || echo ok)"
    [ -z "$found" ] || { printf '%s\n' "$found"; status=1; }
}

status=0
printf '%-24s%-8s%-5s%7s\n' compiler for -O sources
for compiler in "${compilers[@]}"; do
    case $compiler in
    aarch64*) rows=(arm64:read) ;;
    clang*) mapfile -t rows < <(printf '%s:read\n' "${combinations[@]%:*}" | awk '!seen[$0]++') ;;
    *) rows=("${combinations[@]}") ;;
    esac
    once='^$'
    for row in "${rows[@]}"; do
        from=$out/wanted
        [ "$once:${row#*:}" = '^$:read' ] || [ "${row#*:}" != read ] || from=$out/asking
        check "$compiler" "${row%:*}" "${row#*:}" < <(grep -vE "$once" "$from")
        once='^[^	]*\.double	|^judge/|^[^	]*/exercises/|^tests/fuzz/'
    done
done
exit $status
