# The packages that the book is built with. One that the system has is used; any other is fetched, and
# pinned by its hash.
include_guard(GLOBAL)
include(FetchContent)

# abh_find(PACKAGE TARGET URL SHA256 [COMPONENTS...]): makes TARGET available and sets PACKAGE_VERSION
function(abh_find package target url hash)
  find_package(${package} QUIET ${ARGN})
  if(NOT TARGET ${target})
    message(STATUS "${package} is not installed; fetching it")
    set(BUILD_TESTING OFF)
    FetchContent_Declare(${package} SYSTEM URL ${url} URL_HASH SHA256=${hash})
    FetchContent_MakeAvailable(${package})
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${package} is not installed and could not be fetched; see ./book --help")
  endif()
  set(${package}_VERSION ${${package}_VERSION} PARENT_SCOPE)  # empty if it was fetched
endfunction()

abh_find(Eigen3 Eigen3::Eigen
  https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
  8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72)
abh_find(fmt fmt::fmt
  https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz
  1250e4cc58bf06ee631567523f48848dc4596133e163f02615c97f78bab6c811)
abh_find(CLI11 CLI11::CLI11
  https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz
  73b7ec52261ce8fe980a29df6b4ceb66243bb0b779451dbd3d014cfec9fdbb58)
abh_find(nlohmann_json nlohmann_json::nlohmann_json
  https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
# Debian's utf8proc brings no files for find_package.
find_path(ABH_UTF8PROC_HEADERS utf8proc.h)
find_library(ABH_UTF8PROC utf8proc)
mark_as_advanced(ABH_UTF8PROC_HEADERS ABH_UTF8PROC)
if(ABH_UTF8PROC_HEADERS AND ABH_UTF8PROC)
  add_library(utf8proc UNKNOWN IMPORTED)
  set_target_properties(utf8proc PROPERTIES IMPORTED_LOCATION ${ABH_UTF8PROC}
    INTERFACE_INCLUDE_DIRECTORIES ${ABH_UTF8PROC_HEADERS})
endif()
abh_find(utf8proc utf8proc
  https://github.com/JuliaStrings/utf8proc/archive/refs/tags/v2.7.0.tar.gz
  4bb121e297293c0fd55f08f83afab6d35d48f0af4ecc07523ad8ec99aa2b12a1)
if(ABH_TESTS)  # versions 2 and 3 both work, see tests/catch.hpp
  abh_find(Catch2 Catch2::Catch2
    https://github.com/catchorg/Catch2/archive/refs/tags/v2.13.10.tar.gz
    d54a712b7b1d7708bc7a819a8e6e47b2fde9536f487b89ccbca295072a7d9943)
  if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
    set(ABH_CATCH 3)
  else()
    set(ABH_CATCH 2)
  endif()
endif()
find_package(Threads REQUIRED)

# Large matrix products by oneDNN (libdnnl-dev). AUTO: if it is installed, and where it is faster, which
# lib/fast/matmul.fast.cpp decides. ON: on every processor.
set(ABH_ONEDNN AUTO CACHE STRING "use oneDNN for large matrix products: AUTO, ON, OFF")
set(ABH_HAS_ONEDNN OFF)
if(NOT ABH_ONEDNN STREQUAL OFF)
  find_package(dnnl QUIET)
  find_package(OpenMP QUIET COMPONENTS CXX)  # tells oneDNN how many threads to use: one
  if(TARGET DNNL::dnnl AND OpenMP_CXX_FOUND)
    set(ABH_HAS_ONEDNN ON)
  elseif(ABH_ONEDNN STREQUAL ON)
    message(FATAL_ERROR "ABH_ONEDNN is ON, but oneDNN (package libdnnl-dev) or the OpenMP that it needs is not found (GCC includes OpenMP; Clang needs the libomp-dev of its version)")
  endif()
endif()

# The device: a CUDA compiler, or the emulator, which needs Boost.Context; see docs/how_to_run.md.
set(ABH_CUDA AUTO CACHE STRING "compile kernels for a device: AUTO (ON if there is a CUDA compiler), ON, OFF, EMULATED")
set_property(CACHE ABH_CUDA PROPERTY STRINGS AUTO ON OFF EMULATED)
if(NOT ABH_CUDA MATCHES "^(AUTO|ON|OFF|EMULATED)$")
  message(FATAL_ERROR "ABH_CUDA is ${ABH_CUDA}, expected AUTO, ON, OFF or EMULATED")
endif()
set(ABH_DEVICE absent)  # what implements lib/cuda/runtime.hpp: runtime, emulator, absent
if(ABH_CUDA STREQUAL EMULATED)
  set(ABH_DEVICE emulator)
  set(BOOST_INCLUDE_LIBRARIES context)
  abh_find(Boost Boost::context
    https://github.com/boostorg/boost/releases/download/boost-1.84.0/boost-1.84.0.tar.xz
    2e64e5d79a738d0fa6fb546c6e5c2bd28f88d268a2a080546f74e5ff98f29d0e COMPONENTS context)
elseif(NOT ABH_CUDA STREQUAL OFF)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(CMAKE_CUDA_ARCHITECTURES STREQUAL native)  # with which CMake fails where it sees no device
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
        OUTPUT_VARIABLE capability ERROR_QUIET)
      string(REGEX MATCH "[0-9]+\\.[0-9]" capability "${capability}")
      string(REPLACE "." "" CMAKE_CUDA_ARCHITECTURES "${capability}")
      if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)
        message(STATUS "nvidia-smi names no device: the kernels are compiled for sm_90")
      endif()
    elseif(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)  # the last one as PTX too, for newer devices
    endif()
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc supports C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0)
      find_package(CUDAToolkit 12.0 REQUIRED)
      set(ABH_DEVICE runtime)
    endif()
  endif()
  if(ABH_CUDA STREQUAL ON AND NOT ABH_DEVICE STREQUAL "runtime")
    message(FATAL_ERROR "ABH_CUDA is ON, but no CUDA compiler of version 12 or newer is found; put nvcc on PATH, or set CMAKE_CUDA_COMPILER")
  endif()
endif()
