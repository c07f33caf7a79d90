#!/usr/bin/env bash
# Builds all programs, with warnings as errors, by each of these compilers that is installed, and prints a
# table. tests/compilers.sh [COMPILER...] takes those named, and all of them must be there.
#
# A newer compiler may stand in a folder with a newer system, here Debian 13 with GCC 14 (as root):
#   debootstrap --variant=minbase --include=g++-14,clang-19,cmake,ninja-build,libeigen3-dev,libfmt-dev,\
#   libcli11-dev,nlohmann-json3-dev,libboost-context-dev,libsentencepiece-dev,libutf8proc-dev,zlib1g-dev trixie /srv/trixie
#   mkdir /srv/trixie/mnt/book && mount --bind . /srv/trixie/mnt/book
#   chroot /srv/trixie /mnt/book/tests/compilers.sh g++-14 clang++-19
# arm64 needs a folder of its own, since Debian installs libsentencepiece-dev for one architecture at a time:
#   debootstrap --variant=minbase --include=cmake,ninja-build,libeigen3-dev,libfmt-dev,libcli11-dev,nlohmann-json3-dev \
#   trixie /srv/arm64; chroot /srv/arm64 dpkg --add-architecture arm64; chroot /srv/arm64 apt-get update
#   chroot /srv/arm64 apt-get install g++-aarch64-linux-gnu libboost-context-dev:arm64 libsentencepiece-dev:arm64 \
#   libutf8proc-dev:arm64 zlib1g-dev:arm64
# The programs then run on this processor too, in Debian's qemu-user:
#   qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu PROGRAM
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/compilers

# flags NAME: CMake's options for a compiler
flags() {
    case $1 in
    aarch64-*)  # fmt from its headers: the library that is installed is for this machine's processor
        mkdir -p $out/fmt
        printf '%s\n' 'add_library(fmt::fmt INTERFACE IMPORTED)' \
            'target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)' >$out/fmt/fmt-config.cmake
        echo -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -Dfmt_DIR="$PWD/$out/fmt" \
            -DABH_NATIVE=OFF -DABH_CUDA=OFF
        ;;
    *) echo -DABH_CUDA=EMULATED ;;
    esac
}

# build NAME: all that it prints is for the log
build() {
    local options
    read -ra options <<<"$(flags "$1")"
    cmake -S . -B "$out/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$1" \
        -DABH_WARNINGS=ON -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DABH_ONEDNN=OFF "${options[@]}" &&
        cmake --build "$out/$1" --target all bench_steps bench_gpu
}

if [ $# -gt 0 ]; then
    compilers=("$@") absent=1
else
    newest=$(compgen -c | grep -xE 'clang\+\+-[0-9]+' | sort -V | tail -n 1)
    compilers=(g++-12 g++-14 clang++-14 aarch64-linux-gnu-g++) absent=0
    [ "${newest:-clang++-14}" = clang++-14 ] || compilers+=("$newest")
fi

mkdir -p $out
status=0
for name in "${compilers[@]}"; do
    if ! command -v "$name" >/dev/null; then
        result='not installed'
        [ $absent = 0 ] || status=1
    elif build "$name" >"$out/$name.log" 2>&1; then
        result=ok
    else
        result="FAILED: $(grep -m 1 -E "error:|Error" "$out/$name.log" || tail -n 1 "$out/$name.log")"
        status=1
    fi
    printf '%-24s%s\n' "$name" "$result"
done
exit $status
