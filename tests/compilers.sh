#!/usr/bin/env bash
# Compiles the sources only for their warnings: with each compiler, for each processor level, at each optimization
# level. Nothing is linked and no object is kept; a second call compiles only what has changed since.
#
#   tests/compilers.sh [OPTIONS] [COMPILER...] [FILE...]
#
#   COMPILER...      use these compilers, which must all be installed (default: those of g++-12, g++-14, clang++-14,
#                    clang++-19 and aarch64-linux-gnu-g++ that are)
#   FILE...          compile only these sources (names with a slash), even one that no program uses
#   --levels L,...   x86-64 levels v2, v3, v4, and native (default: all four)
#   --optimize N,... 1, 3, own (the programs' own level), or read (syntax only, which takes half the time). Without
#                    these two options, v4 is combined with 1 and 3, the others with read. After a compiler's first
#                    row, only sources that depend on the processor are read
#   --changed [REV]  compile what has changed since REV, and what includes it (default: since this branch left
#                    origin's main, or on main itself, since the last commit but one)
#   --at-most N      compile only the N sources that are nearest to the change
#   --jobs N         number of compilers to run at once (default: one per core)
#   --system DIR     use the compilers of another system, installed in DIR (as root)
#
# GCC's optimizer warns, too. Clang warns before it optimizes, so it only reads, once for each level. Twins with
# Real = double, and the code that judges the exercises, are compiled once per compiler, in its first row.
#
# GCC 14 and Clang 19 are Debian 13's:
#   debootstrap --variant=minbase --include=g++-14,clang-19,cmake,ninja-build,libeigen3-dev,libfmt-dev,\
#   libcli11-dev,nlohmann-json3-dev,libboost-context-dev,libsentencepiece-dev,libutf8proc-dev,zlib1g-dev,catch2,\
#   libbenchmark-dev,libopenmpi-dev,libdnnl-dev,python3 trixie /srv/trixie
#   tests/compilers.sh --system /srv/trixie g++-14 clang++-19
# The programs for arm64 (g++-aarch64-linux-gnu) also run on this processor, in Debian's qemu-user.
set -euo pipefail
unset CDPATH
export LC_ALL=C
cd -P "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
root=$PWD

die() { printf 'compilers.sh: %s\n' "$*" >&2; exit 2; }

# ---- The options
compilers=() files=() levels=() optimize=() changed='' since='' most=1000000 jobs=$(nproc) all=("$@")
while [ $# -gt 0 ]; do
    case $1 in
    --levels) IFS=, read -ra levels <<<"${2:?}"; shift ;;
    --optimize) IFS=, read -ra optimize <<<"${2:?}"; shift ;;
    --at-most) most=${2:?}; shift ;;
    --jobs) jobs=${2:?}; shift ;;
    --changed)
        changed=1
        if [ $# -gt 1 ] && git rev-parse --quiet --verify "$2^{commit}" >/dev/null; then since=$2; shift; fi ;;
    --system)
        system=$(readlink -f "${2:?}")
        for at in "${!all[@]}"; do [ "${all[at]:-}" != --system ] || unset "all[at]" "all[at+1]"; done
        mkdir -p "$system/mnt/book"
        exec unshare --mount sh -c 'mount --bind . "$0/mnt/book" && mount -t proc proc "$0/proc" &&
            exec chroot "$0" /mnt/book/tests/compilers.sh "$@"' "$system" "${all[@]}" ;;
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;;
    -*) die "unknown option $1; see --help" ;;
    */*) files+=("$(realpath --relative-to=. "$1")") ;;
    *) compilers+=("$1") ;;
    esac
    shift
done
combinations=(v4:1 v4:3 v2:read v3:read native:read)
if [ ${#levels[@]} -gt 0 ] || [ ${#optimize[@]} -gt 0 ]; then
    [ ${#levels[@]} -gt 0 ] || levels=(v4 v2 v3 native)
    [ ${#optimize[@]} -gt 0 ] || optimize=(1 3)
    combinations=()
    for level in "${levels[@]}"; do
        for o in "${optimize[@]}"; do combinations+=("$level:$o"); done
    done
fi
absent=2
if [ ${#compilers[@]} = 0 ]; then
    compilers=(g++-12 g++-14 clang++-14 clang++-19 aarch64-linux-gnu-g++) absent=0
fi

# ---- How each source is compiled: one line "NAME flags -c SOURCE" in units; NAME ends in .double for Real = double
out=$root/build/compilers/$(. /etc/os-release && echo "${VERSION_CODENAME:-$ID}")
tree=$out/tree
mkdir -p "$out"
if [ -f "$tree/build.ninja" ]; then
    set -- ninja -C "$tree" build.ninja  # configures again if something has changed
else
    bench=OFF
    [ ! -e /usr/include/benchmark/benchmark.h ] || bench=ON
    for name in c++ "${compilers[@]}"; do ! command -v "$name" >/dev/null || { export CXX=$name; break; }; done
    set -- env -u CMAKE_CXX_COMPILER_LAUNCHER cmake -S . -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release -DABH_TESTS=ON \
        -DABH_JUDGE=ON -DABH_BENCH=$bench -DABH_CUDA=EMULATED -DABH_PRECOMPILED=OFF
fi
"$@" >"$out/configure.log" 2>&1 || { cat "$out/configure.log" >&2; die "CMake could not set up the build"; }
ninja -C "$tree" -t targets all | sed -n 's/^\(.*\.o\): .*/\1/p' | xargs -d '\n' ninja -C "$tree" -t commands |
    grep -e ' -c ' | sed -E 's/^[^ ]+ //; s/ -MD -MT .* -c / -c /; s/ -march=[^ ]*//;
        s/ -include ("[^"]*"|[^ ]*)cmake_pch[^ ]*//' |
    awk -v root="$root/" '{
        name = $0; sub(/.* -c /, "", name); gsub(/["\\\047]/, "", name); name = substr(name, length(root) + 1)
        if (/-DABH_DOUBLE /) { if (!twin[name]++) twins[++count] = name "\t" $0 } else if (!single[name]++) print name "\t" $0
    } END {
        for (i = 1; i <= count; ++i) {
            name = twins[i]; sub(/\t.*/, "", name)
            if (name in single) sub(/\t/, ".double\t", twins[i])
            print twins[i]
        }
    }' >"$out/units"

# add SOURCE: compiles a source that no program here uses like the library, and an answer as the judge does
add() {
    local like=lib/tensor.cpp
    ! grep -qF "$1	" "$out/units" || return 0
    case $1 in */exercises/*) like=lib/tensor.cpp.double ;; esac
    sed -n "/^${like//\//\\/}\t/{s|^[^\t]*|$1|; s|lib/tensor\.cpp\([\"']\{0,1\}\)$|$1\1|; p; q}" "$out/units" >"$out/added"
    cat "$out/added" >>"$out/units"
}
for file in "${files[@]}"; do
    case $file in ../*) die "$root/$file is not in the checkout" ;; esac
    [ -f "$file" ] || die "there is no file $file"
done
for file in lib/cuda/absent.cpp chapters/14_on_many_machines/ranks/mpi_absent.cpp chapters/*/exercises/*/{answer,call}.cpp "${files[@]}"; do
    [ ! -f "$file" ] || add "$file"
done

# ---- Which sources
# touched: prints the files that have changed
touched() {
    if [ -z "$since" ]; then
        since=$(git merge-base HEAD origin/main 2>/dev/null) || since=HEAD~1
        [ "$since" != "$(git rev-parse HEAD)" ] || since=HEAD~1
    fi
    { git diff --name-only --diff-filter=d "$since" -- && git ls-files --others --exclude-standard; } | sort -u
}

# reached FILES: prints the sources among them, then those that include one of them, the nearest first
reached() {
    local sources='\.(cpp|cu)$' headers='\.(hpp|cuh|h)$' found=$1 names
    : >"$out/seen"
    while [ -n "$found" ]; do
        printf '%s\n' "$found" >>"$out/seen"
        grep -E "$sources" <<<"$found" || true
        names=$(grep -E "$headers" <<<"$found" | sed 's|.*/||; s/[.+]/\\&/g' | paste -sd '|') || true
        [ -n "$names" ] || break
        found=$(grep -rlE "#include \"(.*/)?($names)\"" bench chapters judge lib tests | sort | grep -vxFf "$out/seen") || true
    done
}
cut -f 1 "$out/units" >"$out/names"
# named: prints the units of the sources whose names it reads
named() { while read -r name; do grep -xF -e "$name" -e "$name.double" "$out/names" || true; done; }
if [ ${#files[@]} -gt 0 ]; then
    printf '%s\n' "${files[@]}" >"$out/wanted"
elif [ -n "$changed" ]; then
    reached "$(touched)" | named >"$out/wanted"
else
    cp "$out/names" "$out/wanted"
fi
# The sources that depend on the processor; reading the others for another one would find nothing new.
asking=$(grep -rlE '^ *#.*(__(AVX|SSE|FMA|F16C|ARM|aarch64|x86_64)|EIGEN_VECTORIZE)' bench chapters judge lib tests \
    --include='*.[chH]*') || true
reached "$asking" | named | grep -xFf "$out/wanted" >"$out/asking" || true

# ---- Compiling, with a table as it goes
# check COMPILER LEVEL OPTIMIZE WITHOUT FILE: prints one row; ninja compiles what is not compiled yet. FILE has the names,
# of which those that match WITHOUT are left out
check() {
    local folder=$1/$2/$3 how='-S -o /dev/null' march="-march=x86-64-$2" own="s/ -O[0-3s]( |$)/ -O$3\1/g"
    local names name call failed=() count
    case $3 in read) how=-fsyntax-only own='' ;; esac
    case $1 in clang*) how+=' -Wno-unknown-warning-option' ;; esac
    case $2 in native) march=-march=native ;; -) march='' ;; esac
    case $3 in own) own='' ;; esac
    names=$(grep -v "$4" "$5" | sed -n "1,${most}p") || return 0
    count=$(wc -l <<<"$names")
    {
        # Warnings about GCC's own headers are not ours; its AVX-512 header gives a false one at -O1. For its library only two
        # kinds are ignored, which GCC gives at -O3 for correct strings and functions.
        printf '%s\n' "builddir = $folder" 'rule unit' '  deps = gcc' '  depfile = $out.d' "  command = rm -f \$out; { \$call -MMD -MF \$out.d -MT \$out; } \
>\$out.log 2>&1 && ! grep -E '${said//$/$$}' \$out.log | grep -qvE '$theirs' && touch \$out"
        sed -E "s/\\\$/\$\$/g; $own" "$out/units" | while IFS=$'\t' read -r name call; do
            printf 'build %s: unit\n  call = %s\n' "$folder/$name" "$1 ${call/ -c / } $march $warnings $how"
        done
        sed "s|^|build all: phony $folder/|; 2,\$s|^build all: phony||" <<<"$names" | paste -sd ' '
    } >"$out/$1.ninja"
    if ! ninja -C "$out" -k 0 -j "$jobs" -f "$1.ninja" all >"$out/$1.log" 2>&1; then
        while read -r name; do
            [ -f "$out/$folder/$name" ] || failed+=("$name")
        done <<<"$names"
        [ ${#failed[@]} -gt 0 ] || { cat "$out/$1.log" >&2; die "ninja failed"; }
    fi
    printf '%-24s%-8s%-5s%7d  %s\n' "$1" "$2" "$3" "$count" "$([ ${#failed[@]} = 0 ] && echo ok || echo "FAILED: ${#failed[@]}")"
    for name in "${failed[@]}"; do
        printf '    %s: %s\n' "$name" "$(grep -E "$said" "$out/$folder/$name.log" | grep -vE "$theirs" | head -n 1)"
        status=1
    done
}

warnings='-Wall -Wextra -Wconversion -Wshadow'
said='^[^ ].*: (warning|error|fatal error): '
theirs='^/usr/lib/gcc(-cross)?/|^/usr/([^/]+/)?include/c\+\+/.*\[-W(restrict|maybe-uninitialized)\]'
once='\.double$\|^judge/\|/exercises/\|^tests/fuzz/'
status=0
[ -s "$out/wanted" ] || { echo "no source has changed"; exit 0; }
printf '%-24s%-8s%-5s%7s\n' compiler for -O sources
for compiler in "${compilers[@]}"; do
    if ! command -v "$compiler" >/dev/null; then
        printf '%-24snot installed\n' "$compiler"
        [ $absent = 0 ] || status=$absent
        continue
    fi
    without='^$'
    case $compiler in
    aarch64*) rows=(-:own) ;;
    clang*) mapfile -t rows < <(printf '%s\n' "${combinations[@]%:*}" | awk '!seen[$0]++ { print $0 ":read" }') ;;
    *) rows=("${combinations[@]}") ;;
    esac
    for row in "${rows[@]}"; do
        from=$out/wanted
        [ "$without:${row#*:}" != "$once:read" ] || from=$out/asking
        check "$compiler" "${row%:*}" "${row#*:}" "$without" "$from"
        without=$once
    done
done
exit $status
