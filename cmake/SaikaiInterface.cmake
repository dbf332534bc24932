# saikai_interface(LIB MAP): what users link with. Only the names of the symbol map leave it, and its SONAME is the number
# of the interface, not that of the version.
function(saikai_interface lib map)
  set_target_properties(${lib} PROPERTIES SOVERSION ${SAIKAI_INTERFACE_MAJOR}
    VERSION ${SAIKAI_INTERFACE_MAJOR}.${SAIKAI_INTERFACE_MINOR} LINK_DEPENDS ${map})
  target_link_options(${lib} PRIVATE -Wl,--version-script=${map} -Wl,--exclude-libs,ALL)
endfunction()
