# `make bench-paper-when`: intervals on failures that happened, with rates that are known, wrong, and learnt on the way.
add_executable(paper_when EXCLUDE_FROM_ALL when/paper_when.c)
target_link_libraries(paper_when PRIVATE sk_schedule m)
add_custom_target(bench-paper-when
  COMMAND paper_when --memories json=${CMAKE_BINARY_DIR}/paper-when.json ${SAIKAI_DATA}/failures/lanl-1996-2005.csv.xz
  DEPENDS paper_when USES_TERMINAL)
