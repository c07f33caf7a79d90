# What most files include of the standard library, compiled once for all of them. Off wherever a file must show that
# it includes itself what it uses, and where a compiler cache would not take it.
foreach(light "" _light)
  set(target abh_precompiled${light})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${ABH_ROOT}/cmake/precompiled.cpp)
  target_link_libraries(${target} PRIVATE abh_flags)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <chrono> <cmath> <filesystem> <fstream>
    <functional> <limits> <map> <memory> <numeric> <optional> <set> <span> <stdexcept> <string> <thread> <vector>)
endforeach()
abh_light(abh_precompiled_light)

# abh_precompiled(FOLDER): all targets of the folder and of those below it use them. GCC does not know any more that
# these headers are the system's, and warns of what its optimizer sees in them.
function(abh_precompiled folder)
  set(seen array-bounds dangling-pointer free-nonheap-object nonnull restrict stringop-overflow stringop-overread
    uninitialized use-after-free)
  list(TRANSFORM seen PREPEND -Wno-)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(kind ${target} TYPE)
    if(kind MATCHES "EXECUTABLE|STATIC_LIBRARY|OBJECT_LIBRARY" AND NOT target MATCHES "^abh_precompiled")
      get_target_property(light ${target} ABH_LIGHT)
      if(light)
        target_precompile_headers(${target} REUSE_FROM abh_precompiled_light)
      else()
        target_precompile_headers(${target} REUSE_FROM abh_precompiled)
      endif()
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${seen}>")
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    abh_precompiled(${below})
  endforeach()
endfunction()
