# Outside libraries. All are Debian and Ubuntu packages; `ci/setup --list` names them.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(CURL REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libgit2 REQUIRED IMPORTED_TARGET libgit2)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)

# Implicit conversions of nlohmann/json turn 3.9 into 3 without a word: off everywhere.
add_compile_definitions(JSON_USE_IMPLICIT_CONVERSIONS=0)

# One program for several distributions: what has another name in each of them goes inside (libgit2 with what it needs,
# pcre2); libcurl, libpq and OpenSSL 3 have the same names everywhere and stay outside.
option(NIGHTGATE_PORTABLE "link libgit2 and pcre2 statically, as releases do" OFF)
if(NIGHTGATE_PORTABLE)
  foreach(name libgit2 pcre2)
    set(archives)
    foreach(library ${${name}_STATIC_LIBRARIES})
      find_library(archive_${library} NAMES lib${library}.a REQUIRED)
      list(APPEND archives ${archive_${library}})
    endforeach()
    set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives}")
  endforeach()
  # Debian's libgit2 uses Kerberos without saying so; libcurl and libpq bring the same library along anyway.
  find_library(kerberos NAMES gssapi_krb5 libgssapi_krb5.so.2)
  if(kerberos)
    set_property(TARGET PkgConfig::libgit2 APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${kerberos})
  endif()
endif()
