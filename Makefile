# A thin front to CMake. The two that matter: `make demo` and `make check`. Both install what is missing (as root or
# with sudo) and build.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
ifdef SAIKAI_DATA
CMAKE_FLAGS += -DSAIKAI_DATA=$(abspath $(SAIKAI_DATA))
endif

.PHONY: all bootstrap bootstrap-tests bootstrap-debian13 build demo check check-sanitized check-sweeps check-tsan check-debian13 check-debian13-short check-mpi-suite mutate bench bench-codec bench-paper score score-archive score-lossless score-steady install uninstall fuzz format clean

all: build

bootstrap:
	@scripts/bootstrap.sh

# What only some tests use, too.
bootstrap-tests: bootstrap
	@scripts/bootstrap.sh tests

# What makes a Debian 13 in a folder.
bootstrap-debian13:
	@scripts/bootstrap.sh debian13

build: bootstrap
	@scripts/build.sh $(JOBS) $(CMAKE_FLAGS)

# Runs a real MPI program, kills one of its ranks, and shows that it comes back with the right answer.
demo: bootstrap
	@cmake --preset dev $(CMAKE_FLAGS) > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@cmake --build build -j$(JOBS) --target saikai saikaid heat_$$(scripts/default_mpi.sh build) -- --no-print-directory -s
	@scripts/demo.sh build

# All tests.
check: build bootstrap-tests
	@cmake --build build -j$(JOBS) --target benches -- --no-print-directory -s
	@scripts/check.sh build

# The unit tests under the address and undefined-behaviour sanitizers.
check-sanitized: build bootstrap-tests
	@scripts/check_sanitized.sh build

# The unit tests that do the same hundreds of times, at one in three operations (SAIKAI_TEST_SWEEP=all: at each), and more cases of tests
# with processes.
check-sweeps: build bootstrap-tests
	@scripts/check_sweeps.sh build

# The unit tests that start threads, under the thread sanitizer.
check-tsan: bootstrap
	@scripts/check_tsan.sh

# `make check` on Debian 13, in a root folder that debootstrap makes (as root); scripts/debian13.sh
check-debian13: bootstrap-debian13
	@scripts/debian13.sh check

# Of these what is another matter there, with Open MPI 5 and MPICH 4.2: the whole build, and the tests of recovery in place but for further ones of logging.
check-debian13-short: bootstrap-debian13
	@scripts/debian13.sh --run sh -c 'make -s build bootstrap-tests > build.log 2>&1 || { tail -n 40 build.log; exit 1; }; scripts/check.sh build -R "^world_|^in_place_test|^launcher_test|^cluster_in_place_one" -E "^world_logging_(cg|halo|later|later_cancel|between.*|duplicates.*|memory|often_later|often_tasks)$$"'

# MPICH's test suite without the layer between program and MPI and through it in each way. TESTS=DIR: the folder test/mpi of MPICH's sources, else nothing is done;
# SUITE="--directories pt2pt,coll --ways plain,body …": more arguments (tests/world/suite.py). About an hour.
check-mpi-suite: build
	@nice -n 5 python3 tests/world/suite.py --build build --work build-mpi-suite $(if $(TESTS),--tests '$(abspath $(TESTS))') $(SUITE) || [ $$? = 77 ]

# Whether the unit tests notice small mistakes in a room's code: mutants of its files, at random, in a copy of the sources.
# COUNT (25), SEED, FILES='retention.c'; MUTATE='--json FILE --again FILE --without REGEX …': more arguments.
ROOM ?= lib
COUNT ?= 25
mutate: bootstrap
	@nice -n 5 python3 scripts/mutation/mutate.py --room $(ROOM) --count $(COUNT) --jobs $(JOBS) \
		$(if $(SEED),--seed $(SEED)) $(if $(FILES),--files '$(FILES)') $(MUTATE)

bench: build
	@scripts/bench.sh build

bench-codec: build
	@scripts/bench.sh build codec

# The error-bounded codec on arrays that nobody tuned to, made anew. PEERS=DIR: a folder with sz3, qoz, sperr2d, sperr3d;
# SCORE="part=scored quiet=1 …": more arguments (bench/codec/score.c).
score: build
	@cmake --build build -j$(JOBS) --target score -- --no-print-directory -s
	@cd build && bench/score $(if $(PEERS),peers=$(abspath $(PEERS))) $(SCORE)

# What the error-bounded codec's user expects whatever the values are: spikes, pieces, looser bounds, scales, decibels, phases modulo 1; figures also
# to build/score_steady.json. PEERS=DIR: a folder with sz3; SCORE="bar=spikes part=made …": more arguments (bench/codec/steady.c).
score-steady: build
	@cmake --build build -j$(JOBS) --target steady -- --no-print-directory -s
	@cd build && bench/steady json=score_steady.json $(if $(PEERS),peers=$(abspath $(PEERS))) $(SCORE)

# The lossless codecs on the part of the same arrays that is only scored, beside the libraries that people use.
# PEERS=DIR: a folder with pcodec and openzl (bench/codec/peers/README.md).
score-lossless: build
	@cmake --build build -j$(JOBS) --target codec_lossless -- --no-print-directory -s
	@cd build && bench/codec_lossless scored json=score_lossless.json $(if $(PEERS),peers=$(abspath $(PEERS))) $(SCORE)

# Archives beside gzip, zstd and xz on sets of files that are made anew; figures also to build/score_archive.json.
# SCORE="part=seen set=foam,gro best=0 …": more arguments (bench/archive/score.py).
score-archive: build
	@cmake --build build -j$(JOBS) --target archive_sets -- --no-print-directory -s
	@python3 bench/archive/score.py build json=build/score_archive.json $(SCORE)

# The figures of the papers that Saikai builds on, one after the other. A benchmark that fails, or is not built here, does
# not stop the others, and is said at the end. `make bench-paper-far` takes SERIES=DIR, folders of runs, of
# which each has folders of checkpoint sets (Fig. 9); LIMIT=SECONDS of each of its programs (1800), what is left out then is said.
ifdef SERIES
override SERIES := $(abspath $(SERIES))
export SERIES
endif
PAPERS ?= bench-paper-small bench-paper-when bench-paper-safe bench-paper-back bench-paper-far
bench-paper: build
	@skipped=; for t in $(PAPERS); do echo "== $$t"; \
		cmake --build build -j$(JOBS) --target $$t -- --no-print-directory -s || skipped="$$skipped $$t"; done; \
	[ -z "$$skipped" ] || { echo "Failed or not built here:$$skipped"; exit 1; }

# One of the other benchmarks alone, such as bench-capture, bench-redundancy, bench-run or bench-paper-safe.
bench-%: build
	@cmake --build build -j$(JOBS) --target $@ -- --no-print-directory -s

install: bootstrap
	cmake --preset release -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) $(CMAKE_FLAGS)
	cmake --build build-release -j$(JOBS)
	cmake --install build-release

# Removes what the last `make install` from here put there; directories that are empty then go, too.
uninstall:
	@scripts/uninstall.sh build-release/install_manifest.txt

# libFuzzer (clang), FUZZ_SECONDS for each target.
fuzz: bootstrap
	@scripts/fuzz.sh

# The lines that were changed since the last commit.
format:
	@git clang-format --extensions c,h HEAD || true

clean:
	rm -rf build build-asan build-tsan build-release build-fuzz build-mpi-suite
