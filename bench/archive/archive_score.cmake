# `make score-archive`: archives beside gzip, zstd and xz on sets that are made anew.
add_executable(archive_sets EXCLUDE_FROM_ALL archive/sets.c archive/sets_text.c archive/sets_records.c archive/sets_hdf5.c codec/unseen_fields.c)
target_link_libraries(archive_sets PRIVATE sk_codec m)
if(HAVE_HDF5)
  target_link_libraries(archive_sets PRIVATE dep_HDF5)
endif()
