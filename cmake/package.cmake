# What is installed beside the program, and the .deb (ci/packaging/README.md says how it is made). Completions and the manual
# page come from the program itself.
set(texts_dir ${CMAKE_BINARY_DIR}/package)
set(systemd_dir ${CMAKE_SOURCE_DIR}/ci/systemd)
add_custom_command(OUTPUT ${texts_dir}/nightgate.1.gz
  COMMAND ${CMAKE_SOURCE_DIR}/ci/packaging/make-texts $<TARGET_FILE:nightgate> ${texts_dir} ${PROJECT_VERSION}
  DEPENDS nightgate ${CMAKE_SOURCE_DIR}/ci/packaging/make-texts VERBATIM)
add_custom_target(package_texts ALL DEPENDS ${texts_dir}/nightgate.1.gz)

install(FILES ${texts_dir}/nightgate.1.gz DESTINATION share/man/man1)
install(FILES ${texts_dir}/completion.bash DESTINATION share/bash-completion/completions RENAME nightgate)
install(FILES ${texts_dir}/completion.zsh DESTINATION share/zsh/vendor-completions RENAME _nightgate)
install(FILES ${texts_dir}/completion.fish DESTINATION share/fish/vendor_completions.d RENAME nightgate.fish)
install(FILES README.md ${texts_dir}/changelog.gz DESTINATION share/doc/nightgate)
install(FILES ci/packaging/copyright DESTINATION share/doc/nightgate)
install(FILES ci/systemd/README.md DESTINATION share/doc/nightgate RENAME README.systemd.md)
install(FILES config/README.md DESTINATION share/doc/nightgate RENAME README.config.md)
install(FILES config/keys.md DESTINATION share/doc/nightgate)
install(DIRECTORY ci/packaging/examples/ DESTINATION share/doc/nightgate/examples)
install(DIRECTORY config/schemas DESTINATION share/nightgate)

# The same files serve one project and, as templates, several.
foreach(unit nightgate-nightly.service nightgate-nightly.timer nightgate-watch.service nightgate-watch.timer)
  string(REPLACE "." "@." template ${unit})
  install(FILES ${systemd_dir}/${unit} DESTINATION lib/systemd/system)
  install(FILES ${systemd_dir}/${unit} DESTINATION lib/systemd/system RENAME ${template})
endforeach()
install(FILES ${systemd_dir}/nightgate-alert@.service DESTINATION lib/systemd/system)
install(FILES ${systemd_dir}/sysusers.d/nightgate.conf DESTINATION lib/sysusers.d)
install(FILES ${systemd_dir}/tmpfiles.d/nightgate.conf DESTINATION lib/tmpfiles.d)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME nightgate)
set(CPACK_PACKAGE_VENDOR nightgate)
set(CPACK_PACKAGE_CONTACT "the nightgate project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "performance-regression gate for servers")
set(CPACK_PACKAGE_DESCRIPTION "Measures a server every night, keeps the medians in PostgreSQL and calls\n\
a night bad only beyond noise; a second bad night trips. Then it measures\n\
the versions that every merge published and names the merge that made the\n\
server slower. The same core compares two versions.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "git, postgresql, wrk")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "docker.io | podman, linux-cpupower")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/ci/packaging/postinst ${CMAKE_SOURCE_DIR}/ci/packaging/prerm ${CMAKE_SOURCE_DIR}/ci/packaging/postrm)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
