# The numbered SQL files become part of the program, so that it never looks for them at run time.
# As a script (cmake -DFILES=.. -DOUT=.. -P migrations.cmake) it writes the .cpp; included, it adds that to ng_store.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Made by cmake/migrations.cmake from store/migrations.\n#include \"store/migrations.hpp\"\n\n")
  string(APPEND text "namespace nightgate::store {\nconst std::vector<Migration>& migrations() {\n  static const std::vector<Migration> all = {\n")
  string(REPLACE "|" ";" FILES "${FILES}")
  foreach(file ${FILES})
    get_filename_component(name "${file}" NAME_WE)
    string(REGEX MATCH "^[0-9]+" number "${name}")
    math(EXPR number "1${number} - 10000")
    file(READ "${file}" sql)
    string(APPEND text "      {${number}, \"${name}\", R\"nightgate(${sql})nightgate\"},\n")
  endforeach()
  string(APPEND text "  };\n  return all;\n}\n}  // namespace nightgate::store\n")
  file(WRITE "${OUT}" "${text}")
  return()
endif()

file(GLOB migration_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/store/migrations/[0-9][0-9][0-9][0-9]_*.sql")
list(SORT migration_files)
list(JOIN migration_files "|" migration_list)
set(migrations_cpp "${CMAKE_BINARY_DIR}/generated/migrations.cpp")
add_custom_command(OUTPUT ${migrations_cpp}
  COMMAND ${CMAKE_COMMAND} "-DFILES=${migration_list}" "-DOUT=${migrations_cpp}" -P ${CMAKE_SOURCE_DIR}/cmake/migrations.cmake
  DEPENDS ${migration_files} ${CMAKE_SOURCE_DIR}/cmake/migrations.cmake VERBATIM)
target_sources(ng_store PRIVATE ${migrations_cpp})
