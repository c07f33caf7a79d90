# Libraries that unpack and split real text, for chapter 13 and what builds on it: zlib and SentencePiece.
include_guard(GLOBAL)

find_package(ZLIB QUIET)
find_path(ABH_SENTENCEPIECE_HEADERS sentencepiece_trainer.h)
find_library(ABH_SENTENCEPIECE sentencepiece)
find_library(ABH_SENTENCEPIECE_TRAIN sentencepiece_train)
mark_as_advanced(ABH_SENTENCEPIECE_HEADERS ABH_SENTENCEPIECE ABH_SENTENCEPIECE_TRAIN)
if(NOT (ZLIB_FOUND AND ABH_SENTENCEPIECE_HEADERS AND ABH_SENTENCEPIECE AND ABH_SENTENCEPIECE_TRAIN))
  message(FATAL_ERROR "chapter 13 needs zlib and SentencePiece (on Debian, zlib1g-dev and libsentencepiece-dev); any chapter before it builds by itself, as in cmake -S chapters/12_where_the_time_goes -B build/ch12")
endif()
add_library(abh_text INTERFACE)
target_include_directories(abh_text SYSTEM INTERFACE ${ABH_SENTENCEPIECE_HEADERS})
target_link_libraries(abh_text INTERFACE ${ABH_SENTENCEPIECE_TRAIN} ${ABH_SENTENCEPIECE} ZLIB::ZLIB)

# abh_use_text(LIBRARY): links a chapter's library, and its double twin, with these.
function(abh_use_text library)
  foreach(real "" _double)
    if(TARGET ${library}${real})
      target_link_libraries(${library}${real} PUBLIC abh_text)
    endif()
  endforeach()
endfunction()
