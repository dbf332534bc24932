# The compression figures of the mcrEngine paper of 2012 (docs/paper-far.md).
add_executable(paper_far EXCLUDE_FROM_ALL paper_far.c)
target_link_libraries(paper_far PRIVATE sk_archive_hdf5)
add_custom_target(bench-paper-far
  COMMAND paper_far ${SAIKAI_DATA}/checkpoints ${PROJECT_SOURCE_DIR}/docs/figures
  DEPENDS paper_far USES_TERMINAL)
