#!/usr/bin/env bash
# Configures, compiles, links and runs the book in the configurations that its pages and presets name, and prints a table.
#
#   tests/configurations.sh [--work DIR] [--all | CASE...]      without CASE: off auto emulated release
#
#   off auto emulated   chapter 4 by itself, with this ABH_CUDA: its program, and its tests of the way plain. They share one
#                       tree and nearly all objects. auto: without nvcc, even if it is installed
#   release             the preset: the programs of all chapters
#   asan tsan           the preset: chapter 4's tests of the way plain
#   fuzz                the preset: each fuzzer for a second
#   gcc clang           like off, by g++-14 and by clang++-14, or others in the variables GCC and CLANG
#   arm64               like off, by aarch64-linux-gnu-g++, and run in qemu-user; needs arm64's libfmt-dev
#   nvcc                the preset cuda for sm_80, sm_90 and sm_120: all kernels compile, and all tests link. No device is
#                       needed; without one, chapter 4's program then says so in one line
#
# Everything is built in DIR, which is kept, or in a temporary folder.
set -euo pipefail
unset CDPATH
root=$(readlink -f -- "${BASH_SOURCE[0]}")
root=${root%/*/*}
. "$root/tests/table.sh"
quick='off auto emulated release'
options "$quick asan tsan fuzz gcc clang arm64 nvcc" "$quick" "$@"

needs() {
    local command
    for command in "$@"; do command -v "$command" >/dev/null || not_here "$command is not installed"; done
}

program=scaled_dot_product_attention
# look TREE PROGRAM: the tests of the way plain pass, and the program prints what the book shows; `run` runs a program
look() {
    ctest --test-dir "$1" --no-tests=error --output-on-failure -R '^04_plain$'
    speaks "$2"
}
speaks() { "${run[@]}" "$1" --way plain | grep -xF '朋       6     3         3           0  1.000      0.385'; }
run=()

# chapter TREE OPTIONS...: chapter 4 by itself
chapter() {
    local tree=$work/$1
    shift
    cmake -S "$root/chapters/04_$program" -B "$tree" -G Ninja -DABH_TESTS=ON "$@"
    rm -f "$tree/test_04" "$tree/$program"  # they are linked again
    cmake --build "$tree" --target test_04 $program
    look "$tree" "$tree/$program"
}

# without_device OPTIONS...: one tree for what differs in a file or two, and what a program without a device says
without_device() {
    chapter device "$@"
    ! "$work/device/$program" --way cuda 2>"$work/said" || die "the way cuda works without a device"
    [ "$(wc -l <"$work/said")" = 1 ] && grep -F 'ABH_CUDA=EMULATED' "$work/said"
}

# preset NAME TARGET... [-- OPTIONS...]: configures its preset in a tree of this script, and builds these targets there
preset() {
    local name=$1 targets=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1"); shift; done
    cd "$root"
    cmake --preset "$name" -B "$work/$name" "${@:2}"
    cmake --build "$work/$name" --target "${targets[@]}"
}

configuration() {
    case $1 in
    off) without_device -DABH_CUDA=OFF ;;
    auto) without_device -DABH_CUDA=AUTO -DCMAKE_CUDA_COMPILER=NOTFOUND ;;
    emulated)
        chapter device -DABH_CUDA=EMULATED
        "$work/device/$program" --way cuda >/dev/null ;;
    release)
        preset release all
        speaks "$work/release/chapters/04_$program/$program" ;;
    asan | tsan)
        [ "$1" = asan ] || needs clang++-14
        preset "$1" test_04 $program
        look "$work/$1" "$work/$1/chapters/04_$program/$program" ;;
    fuzz)
        needs clang++-14
        preset fuzz fuzzers -- -DABH_FUZZ_SECONDS=1
        ctest --test-dir "$work/fuzz" --no-tests=error --output-on-failure -L fuzz ;;
    gcc | clang)
        local compiler=${GCC:-g++-14}
        [ "$1" = gcc ] || compiler=${CLANG:-clang++-14}
        needs "$compiler"
        chapter "$1" -DABH_CUDA=OFF -DCMAKE_CXX_COMPILER="$compiler" ;;
    arm64)
        needs aarch64-linux-gnu-g++ qemu-aarch64
        [ -e /usr/lib/aarch64-linux-gnu/cmake/fmt ] || not_here "libfmt-dev:arm64 is not installed"
        run=(qemu-aarch64)
        chapter arm64 -DABH_CUDA=OFF -DABH_ONEDNN=OFF -DABH_NATIVE=OFF -DCMAKE_SYSTEM_NAME=Linux \
            -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
            -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64 ;;
    nvcc)
        needs nvcc
        preset cuda tests $program -- '-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real;120-real'
        if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then return; fi
        ! "$work/cuda/chapters/04_$program/$program" --way cuda 2>"$work/said" || die "the way cuda works without a device"
        [ "$(wc -l <"$work/said")" = 1 ] && grep -F 'no CUDA device' "$work/said" ;;
    esac
}

printf '%-12s%7s\n' configuration time
for name in "${cases[@]}"; do try "$name" configuration "$name"; done
exit $status
