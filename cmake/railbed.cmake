# How every target of the project is built: flags, third-party libraries, and the one way to add a room.

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Threads REQUIRED)
find_package(tl-expected QUIET)
find_path(TL_EXPECTED_DIR tl/expected.hpp REQUIRED)
find_path(VERBS_DIR infiniband/verbs.h REQUIRED)
find_path(CURL_DIR curl/curl.h REQUIRED)

# The release binary must run on machines that have none of our libraries, so the static archive is preferred.
find_library(YAML_CPP_ARCHIVE libyaml-cpp.a)
add_library(third_party_yaml INTERFACE)
if(YAML_CPP_ARCHIVE)
  target_link_libraries(third_party_yaml INTERFACE ${YAML_CPP_ARCHIVE})
else()
  target_link_libraries(third_party_yaml INTERFACE yaml-cpp)
endif()

# cmake/fmt.cc fits these versions; others are used header-only, which costs nothing but time.
add_library(third_party_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt.cc)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 11)
  get_target_property(FMT_INCLUDE fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(third_party_fmt SYSTEM PUBLIC ${FMT_INCLUDE})
else()
  target_link_libraries(third_party_fmt PUBLIC fmt::fmt-header-only)
endif()

add_library(railbed_options INTERFACE)
target_compile_options(railbed_options INTERFACE -Wall -Wextra -Wpedantic -Werror)
# An index beyond a vector's end or a look into an empty optional ends the program instead of printing what is there by
# chance.
target_compile_definitions(railbed_options INTERFACE _GLIBCXX_ASSERTIONS)
# A program takes from a room what it uses: the agent is a fifth of railbed.
target_compile_options(railbed_options INTERFACE $<$<CONFIG:Release>:-ffunction-sections;-fdata-sections>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns falsely about `"text" + std::string` when it optimizes (GCC bug 105651).
  target_compile_options(railbed_options INTERFACE $<$<CONFIG:Release>:-Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # A dashboard, embedded as one string, is longer than the 64 KiB that every compiler has to take.
  target_compile_options(railbed_options INTERFACE -Wno-overlength-strings)
endif()
target_include_directories(railbed_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_include_directories(railbed_options SYSTEM INTERFACE ${TL_EXPECTED_DIR})
target_link_libraries(railbed_options INTERFACE third_party_fmt nlohmann_json::nlohmann_json Threads::Threads)
set(RAILBED_SANITIZED 0)
if(RAILBED_SANITIZE)
  set(RAILBED_SANITIZED 1)
  target_compile_options(railbed_options INTERFACE -fsanitize=${RAILBED_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Functions of libraries that are opened at run time are called by our own declarations of their types.
    target_compile_options(railbed_options INTERFACE -fno-sanitize=function)
  endif()
  target_link_options(railbed_options INTERFACE -fsanitize=${RAILBED_SANITIZE})
endif()

# What a program has that forks while it has threads.
add_library(railbed_program INTERFACE)
if(RAILBED_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 17)
  target_sources(railbed_program INTERFACE ${CMAKE_SOURCE_DIR}/cmake/sanitized_fork.cc)
endif()

# The preset `alone` parses what is not ours once, and each of our files by itself: what a file uses of those headers is
# held by tests/uses_test.py. clang instantiates their templates once, too, which halves the time that GCC takes.
if(RAILBED_ALONE)
  set(PARSED ${CMAKE_BINARY_DIR}/third_party.h)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/third_party.h ${PARSED} COPYONLY)
  add_custom_command(OUTPUT ${PARSED}.pch DEPENDS ${PARSED}
                     COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -fpch-instantiate-templates
                             -x c++-header ${PARSED} -o ${PARSED}.pch)
  add_custom_target(third_party_parsed DEPENDS ${PARSED}.pch)
  target_compile_options(railbed_options INTERFACE -fpch-instantiate-templates -include-pch ${PARSED}.pch)
endif()

# Every room's library, and no program: what the preset `alone` checks, file by file.
add_custom_target(rooms)

# railbed_embed(TARGET FOLDER): makes each style sheet, script, page, dashboard (JSON) and file of alerts (YAML) below
# src/FOLDER a string literal that its sources may include as "FOLDER/NAME.text". It begins with a newline and then has
# the file as it is.
function(railbed_embed target folder)
  set(source ${CMAKE_SOURCE_DIR}/src)
  file(GLOB_RECURSE assets CONFIGURE_DEPENDS ${source}/${folder}/*.css ${source}/${folder}/*.html ${source}/${folder}/*.js
                                             ${source}/${folder}/*.json ${source}/${folder}/*.yaml)
  foreach(asset ${assets})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${asset})
    file(READ ${asset} text)
    file(RELATIVE_PATH name ${source} ${asset})
    set(literal ${CMAKE_BINARY_DIR}/embedded/${name}.text)
    set(text "R\"embedded(\n${text})embedded\"\n")
    set(before "")
    if(EXISTS ${literal})
      file(READ ${literal} before)
    endif()
    if(NOT text STREQUAL before)
      file(WRITE ${literal} "${text}")
    endif()
  endforeach()
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/embedded)
endfunction()

# railbed_room(NAME [COLD] USES room... LIBRARIES target...): every .cc below the folder that is not a test becomes one
# static library; every x_test.cc goes into one GoogleTest binary NAME_test. A COLD room runs once a command, on little
# data: it is compiled with -Os, which takes a quarter less time than -O2 and makes a third less code. Every node gets a
# copy of the program, so its size counts.
function(railbed_room name)
  cmake_parse_arguments(ROOM "COLD" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main|/agent_main|/testing/[^/]*)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(railbed_${name} STATIC ${sources})
  list(TRANSFORM ROOM_USES PREPEND railbed_)
  target_link_libraries(railbed_${name} PUBLIC railbed_options ${ROOM_USES} PRIVATE ${ROOM_LIBRARIES})
  add_dependencies(rooms railbed_${name})
  railbed_embed(railbed_${name} ${name})
  if(TARGET third_party_parsed)
    add_dependencies(railbed_${name} third_party_parsed)
  endif()
  if(ROOM_COLD)
    target_compile_options(railbed_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  if(RAILBED_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    if(RAILBED_SANITIZE)
      # clang spends more than half of its time on the tests of a sanitized build in optimizing what runs once. Rooms are
      # optimized there: otherwise railbed, which is pushed to nodes, has twice the size.
      target_compile_options(${name}_test PRIVATE $<$<CONFIG:Debug>:-O0>)
    endif()
    target_link_libraries(${name}_test PRIVATE railbed_program railbed_${name} ${ROOM_LIBRARIES} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE RAILBED_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                    RAILBED_SANITIZED=${RAILBED_SANITIZED})
    set_property(GLOBAL APPEND PROPERTY RAILBED_TEST_TARGETS ${name}_test)
  endif()
endfunction()
