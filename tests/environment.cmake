# Read by ctest before it starts any test (TEST_INCLUDE_FILES): what all of them have in their environment.
# No test learns from the failures of others, nor writes into anybody's home; those of saikai run have a place of their own (common.sh).
set(ENV{SAIKAI_FAILURE_DATABASE} none)
