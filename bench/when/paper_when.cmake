# `make bench-paper-when`: intervals on failures that happened, with rates that are known, wrong, and learnt on the way.
add_executable(paper_when EXCLUDE_FROM_ALL when/paper_when.c)
target_link_libraries(paper_when PRIVATE sk_schedule m)
add_custom_target(bench-paper-when
  COMMAND paper_when --memories json=${CMAKE_BINARY_DIR}/paper-when.json ${SAIKAI_DATA}/failures/lanl-1996-2005.csv.xz
  DEPENDS paper_when USES_TERMINAL)

# `make bench-scale`: what the ranks of large jobs, whose node services are played, cost their launcher.
if(TARGET saikaid)
  add_executable(scale EXCLUDE_FROM_ALL when/scale.c)
  target_link_libraries(scale PRIVATE sk_daemon sk_backbone dep_ZMQ)
  add_custom_target(bench-scale
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/when/scale.sh $<TARGET_FILE:saikai> $<TARGET_FILE:scale> 1000 16
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/when/scale.sh $<TARGET_FILE:saikai> $<TARGET_FILE:scale> 10000 150
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/when/scale.sh $<TARGET_FILE:saikai> $<TARGET_FILE:scale> 100000 1500
    DEPENDS saikai saikaid scale USES_TERMINAL)
  # `make bench-setup`: what services add to the beginning and the end of a job, and what these times are made of.
  foreach(mpi ${SAIKAI_MPIS})
    list(APPEND setups COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/when/setups.sh ${PROJECT_BINARY_DIR} ${mpi} ${CMAKE_BINARY_DIR}/paper-when)
  endforeach()
  add_custom_target(bench-setup ${setups} DEPENDS saikai saikaid USES_TERMINAL)
  # `make bench-setup-nodes`: the same up to 128 nodes, with a program without MPI (root; ten minutes or more).
  add_executable(still EXCLUDE_FROM_ALL when/still.c)
  target_link_libraries(still PRIVATE sk_base)
  foreach(nodes 8 32 128)
    list(APPEND growth COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/when/setup.sh ${PROJECT_BINARY_DIR} mpich ${nodes} 2 5 $<TARGET_FILE:still>)
  endforeach()
  add_custom_target(bench-setup-nodes ${growth} DEPENDS saikai saikaid still USES_TERMINAL)
endif()
