# Libraries that unpack and split real text: zlib and SentencePiece. Only chapter 13 and what builds on it need
# them, so if one is missing, only this chapter is left out.
include_guard(GLOBAL)

find_package(ZLIB QUIET)
find_path(ABH_SENTENCEPIECE_HEADERS sentencepiece_trainer.h)
find_library(ABH_SENTENCEPIECE sentencepiece)
find_library(ABH_SENTENCEPIECE_TRAIN sentencepiece_train)
mark_as_advanced(ABH_SENTENCEPIECE_HEADERS ABH_SENTENCEPIECE ABH_SENTENCEPIECE_TRAIN)

set(ABH_TEXT_MISSING)  # Debian's packages
if(NOT ABH_SENTENCEPIECE_HEADERS OR NOT ABH_SENTENCEPIECE OR NOT ABH_SENTENCEPIECE_TRAIN)
  list(APPEND ABH_TEXT_MISSING libsentencepiece-dev)
endif()
if(NOT ZLIB_FOUND)
  list(APPEND ABH_TEXT_MISSING zlib1g-dev)
endif()
if(ABH_TEXT_MISSING)
  set(ABH_HAS_TEXT OFF)
else()
  set(ABH_HAS_TEXT ON)
  add_library(abh_text INTERFACE)
  target_include_directories(abh_text SYSTEM INTERFACE ${ABH_SENTENCEPIECE_HEADERS})
  target_link_libraries(abh_text INTERFACE
    ${ABH_SENTENCEPIECE_TRAIN} ${ABH_SENTENCEPIECE} ZLIB::ZLIB)
endif()

# abh_use_text(LIBRARY): links a chapter's library, and its double twin, with these.
function(abh_use_text library)
  foreach(real "" _double)
    if(TARGET ${library}${real})
      target_link_libraries(${library}${real} PUBLIC abh_text)
    endif()
  endforeach()
endfunction()

# abh_chapter_left_out(): replaces abh_chapter. Everything else builds; building this chapter's program, or the pages,
# says what is missing.
function(abh_chapter_left_out)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
  string(SUBSTRING ${folder} 0 2 number)
  string(SUBSTRING ${folder} 3 -1 name)
  list(JOIN ABH_TEXT_MISSING " " packages)
  set(missing "chapter ${number} is left out, because it needs these packages: ${packages}")
  message(STATUS "${missing}")
  add_custom_target(abh_${number}_built)
  add_custom_target(${name} COMMAND ${CMAKE_COMMAND} -E echo "${missing}" COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  if(ABH_BOOK)
    add_dependencies(book_programs ${name})
  endif()
endfunction()
