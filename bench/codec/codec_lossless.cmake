# `make bench-codec`, the lossless part. zfp and blosc are measured beside ours where they are found.
add_executable(codec_lossless EXCLUDE_FROM_ALL codec/codec_lossless.c codec/unseen.c codec/unseen_fields.c codec/unseen_equations.c codec/codec_peers.c codec/strong_peers.c codec/peer_cache.c)
target_link_libraries(codec_lossless PRIVATE sk_codec m)
foreach(peer zfp blosc)
  string(TOUPPER ${peer} PEER)
  find_library(${PEER}_LIBRARY ${peer})
  find_path(${PEER}_INCLUDE_DIR ${peer}.h)
  if(${PEER}_LIBRARY AND ${PEER}_INCLUDE_DIR)
    foreach(bench codec_lossless codec_lossy score)
      target_link_libraries(${bench} PRIVATE ${${PEER}_LIBRARY})
      target_include_directories(${bench} PRIVATE ${${PEER}_INCLUDE_DIR})
      target_compile_definitions(${bench} PRIVATE HAVE_${PEER}=1)
    endforeach()
  endif()
endforeach()
foreach(peer zstd lzma)
  string(TOUPPER ${peer} PEER)
  find_library(${PEER}_LIBRARY ${peer})
  find_path(${PEER}_INCLUDE_DIR ${peer}.h)
  if(${PEER}_LIBRARY AND ${PEER}_INCLUDE_DIR)
    target_link_libraries(codec_lossless PRIVATE ${${PEER}_LIBRARY})
    target_include_directories(codec_lossless PRIVATE ${${PEER}_INCLUDE_DIR})
    target_compile_definitions(codec_lossless PRIVATE HAVE_${PEER}=1)
  endif()
endforeach()
add_custom_target(bench-codec-lossless COMMAND codec_lossless ${SAIKAI_DATA}/arrays json=codec_lossless.json
                  DEPENDS codec_lossless USES_TERMINAL)
# One after the other: side by side they would slow each other down.
add_custom_target(bench-codec
  COMMAND codec_lossy ${SAIKAI_DATA}/arrays json=codec_lossy.json
  COMMAND codec_lossless ${SAIKAI_DATA}/arrays json=codec_lossless.json
  DEPENDS codec_lossy codec_lossless USES_TERMINAL)
