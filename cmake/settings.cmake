# ng_settings: how everything is compiled. ng_warnings: what is not let through.
add_library(ng_settings INTERFACE)
target_compile_features(ng_settings INTERFACE cxx_std_20)
target_compile_definitions(ng_settings INTERFACE NIGHTGATE_VERSION="${PROJECT_VERSION}")
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()

target_compile_options(ng_settings INTERFACE -fstack-protector-strong -fno-omit-frame-pointer)
target_link_options(ng_settings INTERFACE -Wl,-z,relro,-z,now)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT NIGHTGATE_SANITIZE)
  target_compile_definitions(ng_settings INTERFACE _FORTIFY_SOURCE=2)
endif()
if(NIGHTGATE_SANITIZE)
  target_compile_options(ng_settings INTERFACE -fsanitize=${NIGHTGATE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(ng_settings INTERFACE -fsanitize=${NIGHTGATE_SANITIZE})
endif()
if(NIGHTGATE_FUZZ)  # libFuzzer steers by the coverage of the rooms, not only of the target's own file
  target_compile_options(ng_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()

add_library(ng_warnings INTERFACE)
target_compile_options(ng_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wcast-align -Wunused -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op $<$<CONFIG:Release>:-Wno-restrict> -Wnull-dereference>)
# GCC 12 sees overlapping copies inside its own std::string at -O3 (its bug 105651): -Wrestrict is off there.
if(NIGHTGATE_DEV)
  target_compile_options(ng_warnings INTERFACE -Werror)
endif()
