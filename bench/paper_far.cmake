# The figures of the mcrEngine paper of 2012 (docs/paper-far.md): compression, and end to end at a
# shared file system of limited bandwidth.
add_executable(paper_far EXCLUDE_FROM_ALL paper_far.c paper_far_sets.c)
target_link_libraries(paper_far PRIVATE sk_archive_hdf5)
add_executable(paper_far_end EXCLUDE_FROM_ALL paper_far_end.c paper_far_sets.c paper_far_shared.c)
target_link_libraries(paper_far_end PRIVATE sk_archive_hdf5)
target_link_options(paper_far_end PRIVATE
  -Wl,--wrap=open -Wl,--wrap=read -Wl,--wrap=write -Wl,--wrap=pread -Wl,--wrap=pwrite)
add_custom_target(bench-paper-far
  COMMAND paper_far ${SAIKAI_DATA}/checkpoints ${PROJECT_SOURCE_DIR}/docs/figures
  COMMAND paper_far_end ${SAIKAI_DATA}/checkpoints ${PROJECT_SOURCE_DIR}/docs/figures
  DEPENDS paper_far paper_far_end USES_TERMINAL)
