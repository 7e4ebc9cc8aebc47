# Writes the files of `railbed tour` into one C++ file, as raw strings: examples/sick-pair, and below sound/ the two machines
# that it changes. Tree files hold no `)tour"`, which would end one.
set(tour_text "#include \"cli/tour_files.h\"\n\nnamespace railbed {\nnamespace {\n\nconstexpr TourFile kFiles[] = {\n")
foreach(entry cluster.yaml=examples/sick-pair/cluster.yaml gpu01.tree=examples/sick-pair/gpu01.tree
              gpu02.tree=examples/sick-pair/gpu02.tree measurements.json=examples/sick-pair/measurements.json
              sound/gpu01.tree=tests/machines/h100-cx7/gpu01.tree sound/gpu02.tree=tests/machines/h100-cx7/gpu02.tree)
  string(REGEX MATCH "^[^=]+" name "${entry}")
  string(REGEX REPLACE "^[^=]+=" "" source "${entry}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${source})
  file(READ ${CMAKE_SOURCE_DIR}/${source} content)
  string(REPLACE "../../tests/machines/h100-cx7/" "sound/" content "${content}")
  string(LENGTH "${content}" bytes)  # clang gives up counting them by itself
  string(APPEND tour_text "    {\"${name}\", {R\"tour(${content})tour\", ${bytes}}},\n")
endforeach()
string(APPEND tour_text "};\n\n}  // namespace\n\nstd::span<const TourFile> tour_files() { return kFiles; }\n\n}  // namespace railbed\n")
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/tour_files.cc PROPERTIES
                            COMPILE_OPTIONS -Wno-overlength-strings SKIP_UNITY_BUILD_INCLUSION ON)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tour_files.cc CONTENT "${tour_text}" @ONLY)
