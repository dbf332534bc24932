# `make score`: the error-bounded codec on arrays that nobody tuned to, beside peers.
add_executable(score EXCLUDE_FROM_ALL codec/score.c codec/unseen.c codec/unseen_fields.c codec/unseen_equations.c codec/codec_peers.c codec/peer_cache.c)
target_link_libraries(score PRIVATE sk_codec m)
# `make score-steady`: what the codec's user expects whatever the values are.
add_executable(steady EXCLUDE_FROM_ALL codec/steady.c codec/steady_fields.c codec/unseen.c codec/unseen_fields.c codec/unseen_equations.c)
target_link_libraries(steady PRIVATE sk_codec m)
