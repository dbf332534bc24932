# How a room of src/ is built, and how its tests are.

# sk_room(NAME SOURCES a.c b.c [LIBS room… dep_X…]): static library sk_NAME. Libraries named dep_X that were not found
# are left out; the sources see HAVE_X when they were.
function(sk_room name)
  cmake_parse_arguments(R "" "" "SOURCES;LIBS" ${ARGN})
  add_library(sk_${name} STATIC ${R_SOURCES})
  target_include_directories(sk_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                                               ${PROJECT_BINARY_DIR}/include)
  foreach(lib ${R_LIBS})
    if(lib MATCHES "^dep_" AND NOT TARGET ${lib})
      continue()
    endif()
    target_link_libraries(sk_${name} PUBLIC ${lib})
  endforeach()
endfunction()

# All programs that `ctest -L unit` runs are built by the target unit_tests.
function(saikai_unit_test name)
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)
  endif()
  add_dependencies(unit_tests ${name})
endfunction()

# Whether one of the SOURCES starts threads: these tests have the label `threads` and the target thread_tests, and
# `make check-tsan` runs them once more under the thread sanitizer.
function(saikai_threaded result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(source ${ARGN})
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${source} lines REGEX "sk_loop_run|pthread_|threads")
    if(lines)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# NO_MEMORY: allocations of our own code may be made to fail (src/base/host/no_memory_testing.h).
# sk_test([FOLDER/]NAME [SWEEP] [NO_MEMORY] [SOURCES …] [LIBS …] [TIMEOUT s] [ENV A=b …]): a cmocka unit test NAME.c beside the code, run by ctest
# with a hard time limit (60 s unless told; what may take long is begun first), three times as long, since the limit is for what
# hangs and not for a machine that is busy. Exit code 77 means skipped. SWEEP: it does the
# same hundreds of times; under the sanitizers it is run by `make check-sweeps` instead of `make check`.
function(sk_test file)
  get_filename_component(name ${file} NAME)
  if(NOT BUILD_TESTING OR NOT TARGET dep_CMOCKA)
    return()
  endif()
  cmake_parse_arguments(T "SWEEP;NO_MEMORY" "TIMEOUT" "SOURCES;LIBS;ENV" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  set(begun_first ${T_TIMEOUT})
  math(EXPR T_TIMEOUT "3 * ${T_TIMEOUT}")
  if(SAIKAI_TSAN) # five to fifteen times slower
    math(EXPR T_TIMEOUT "10 * ${T_TIMEOUT}")
  endif()
  add_executable(${name} ${file}.c ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} dep_CMOCKA)
  if(T_NO_MEMORY) # src/base/host/no_memory_testing.h
    foreach(call malloc calloc realloc aligned_alloc strdup)
      target_link_options(${name} PRIVATE -Wl,--wrap=${call})
    endforeach()
  endif()
  saikai_unit_test(${name})
  add_test(NAME ${name} COMMAND ${name})
  set(labels unit)
  if(T_SWEEP)
    list(APPEND labels sweep)
  endif()
  saikai_threaded(threaded ${file}.c ${T_SOURCES})
  if(threaded)
    list(APPEND labels threads)
    if(NOT TARGET thread_tests)
      add_custom_target(thread_tests)
    endif()
    add_dependencies(thread_tests ${name})
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} COST ${begun_first} SKIP_RETURN_CODE 77 LABELS "${labels}"
                       ENVIRONMENT "SAIKAI_DATA=${SAIKAI_DATA};SAIKAI_SOURCE_DIR=${PROJECT_SOURCE_DIR};${T_ENV}")
endfunction()

# sk_fuzz(NAME LIBS …): NAME.c defines LLVMFuzzerTestOneInput. With SAIKAI_FUZZ it becomes a libFuzzer program;
# otherwise a driver runs it over its corpus (tests/corpus/NAME) and over random damage to each file of it, as a test.
function(sk_fuzz file)
  get_filename_component(name ${file} NAME)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  if(SAIKAI_FUZZ)
    add_executable(${name} ${file}.c ${T_SOURCES})
    target_link_libraries(${name} PRIVATE ${T_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    return()
  endif()
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${file}.c ${T_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz_driver.c)
  target_link_libraries(${name} PRIVATE ${T_LIBS})
  saikai_unit_test(${name})
  add_test(NAME ${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/corpus/${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 500 SKIP_RETURN_CODE 77 LABELS "unit;fuzz")
endfunction()
