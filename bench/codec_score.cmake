# `make score`: the error-bounded codec on arrays that nobody tuned to, beside peers.
add_executable(score EXCLUDE_FROM_ALL score.c unseen.c unseen_fields.c unseen_equations.c codec_peers.c)
target_link_libraries(score PRIVATE sk_codec m)
