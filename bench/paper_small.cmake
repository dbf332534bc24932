# The figures of the 2015 wavelet paper (docs/paper-small.md).
add_executable(paper_small EXCLUDE_FROM_ALL paper_small.c paper_small_measure.c paper_small_plot.c
                                            shallow_water.c)
target_link_libraries(paper_small PRIVATE sk_codec)
add_custom_target(bench-paper-small
  COMMAND paper_small --json ${CMAKE_BINARY_DIR}/paper-small.json --svg ${PROJECT_SOURCE_DIR}/docs/figures
          ${SAIKAI_DATA}/arrays
  DEPENDS paper_small USES_TERMINAL)
sk_test(shallow_water_test SOURCES shallow_water.c LIBS m)
