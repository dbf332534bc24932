# The figures of the 2015 wavelet paper (docs/paper-small.md).
add_executable(paper_small EXCLUDE_FROM_ALL small/paper_small.c small/paper_small_measure.c small/paper_small_plot.c
                                            small/shallow_water.c)
target_link_libraries(paper_small PRIVATE sk_codec)
add_custom_target(bench-paper-small
  COMMAND paper_small --json ${CMAKE_BINARY_DIR}/paper-small.json --svg ${PROJECT_SOURCE_DIR}/docs/figures
          ${SAIKAI_DATA}/arrays
  DEPENDS paper_small USES_TERMINAL)
sk_test(small/shallow_water_test SOURCES small/shallow_water.c LIBS m)
