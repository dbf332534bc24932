# The figures of the mcrEngine paper of 2012 (docs/paper-far.md): compression, end to end at a shared
# file system of limited bandwidth, and what a program waits for there. `make bench-paper-far` runs
# all of it, one after the other; each program has options for parts.
list(TRANSFORM saikai_api PREPEND ${PROJECT_SOURCE_DIR}/src/lib/ OUTPUT_VARIABLE api)
set(wrapped -Wl,--wrap=open -Wl,--wrap=read -Wl,--wrap=write -Wl,--wrap=pread -Wl,--wrap=pwrite -Wl,--wrap=close)
add_executable(paper_far EXCLUDE_FROM_ALL far/paper_far.c far/paper_far_sets.c far/paper_far_table.c limit.c bars.c)
target_link_libraries(paper_far PRIVATE sk_archive sk_reader_hdf5 m)
add_executable(paper_far_end EXCLUDE_FROM_ALL far/paper_far_end.c far/paper_far_ways.c far/paper_far_sets.c
               far/paper_far_shared.c far/paper_far_model.c far/paper_far_steps.c limit.c bars.c)
target_link_libraries(paper_far_end PRIVATE sk_archive sk_reader_hdf5 m)
target_link_options(paper_far_end PRIVATE ${wrapped})
# with nodes that only aggregate
set(far_fetch far/paper_far_fetch.c far/paper_far_ways.c far/paper_far_sets.c far/paper_far_shared.c far/paper_far_model.c limit.c)
add_executable(paper_far_nodes EXCLUDE_FROM_ALL far/paper_far_nodes.c ${far_fetch} bars.c)
target_link_libraries(paper_far_nodes PRIVATE sk_archive sk_reader_hdf5 m)
target_link_options(paper_far_nodes PRIVATE ${wrapped})
# many writers and readers on a real file system, that of the build directory
add_executable(paper_far_disk EXCLUDE_FROM_ALL far/paper_far_disk.c far/paper_far_sets.c far/paper_far_model.c limit.c)
target_link_libraries(paper_far_disk PRIVATE sk_base m)
set(far_results ${CMAKE_CURRENT_BINARY_DIR}/paper_far.json)
set(far_figures ${PROJECT_SOURCE_DIR}/docs/figures)
set(far_limit --limit "$\${LIMIT:-1800}") # seconds of each program
set(far_steps
  COMMAND ${CMAKE_COMMAND} -E rm -f ${far_results}
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/far/paper_far_series.sh "$\${SERIES:-${CMAKE_CURRENT_BINARY_DIR}/far-series}"
  COMMAND paper_far --series "$\${SERIES:-${CMAKE_CURRENT_BINARY_DIR}/far-series}" ${far_limit} --svg ${far_figures} --json ${far_results} ${SAIKAI_DATA}/checkpoints
  COMMAND paper_far_end ${far_limit} --svg ${far_figures} --json ${far_results} ${SAIKAI_DATA}/checkpoints
  COMMAND paper_far_disk ${far_limit} --json ${far_results} ${CMAKE_CURRENT_BINARY_DIR}
  COMMAND paper_far_nodes ${far_limit} --svg ${far_figures} --json ${far_results} ${SAIKAI_DATA}/checkpoints)
set(far_programs paper_far paper_far_end paper_far_disk paper_far_nodes)
foreach(mpi ${SAIKAI_MPIS})
  # the library's own files in the program, so that its system calls pass the bucket, too
  set(program paper_far_program_${mpi})
  add_executable(${program} EXCLUDE_FROM_ALL far/paper_far_program.c far/paper_far_memory.c far/paper_far_sets.c far/paper_far_shared.c far/paper_far_model.c
                 ${api} ${PROJECT_SOURCE_DIR}/src/group/mpi.c)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(${program} PRIVATE sk_lib mpi_${mpi} m)
  target_link_options(${program} PRIVATE ${wrapped})
  if(mpi STREQUAL openmpi) # the default MPI's figures are the ones in the document
    find_program(far_mpiexec NAMES mpiexec.openmpi mpiexec)
    list(APPEND far_steps COMMAND ${CMAKE_COMMAND} -E env OMPI_ALLOW_RUN_AS_ROOT=1
      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ${far_mpiexec} --oversubscribe -n 2 $<TARGET_FILE:${program}>
      --bandwidths 20,100,400 --json ${far_results} ${SAIKAI_DATA}/checkpoints)
    list(APPEND far_programs ${program})
  endif()
endforeach()
add_custom_target(bench-paper-far ${far_steps} DEPENDS ${far_programs} USES_TERMINAL)
sk_test(far/paper_far_model_test SOURCES far/paper_far_model.c far/paper_far_shared.c LIBS sk_base m)
sk_test(far/paper_far_fetch_test SOURCES ${far_fetch} LIBS sk_archive m)
foreach(test paper_far_model_test paper_far_fetch_test)
  if(TARGET ${test})
    target_link_options(${test} PRIVATE ${wrapped})
  endif()
endforeach()
