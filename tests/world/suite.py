#!/usr/bin/env python3
"""A test suite of MPI's (MPICH's test/mpi) against the MPI that is installed, as it is and through the layer: the layer must change no result.

    suite.py --tests DIR [--build BUILD] [--work DIR] [--directories pt2pt,coll] [--ways plain,body] [--match REGEX]

DIR is the folder test/mpi of MPICH's sources. Its configure is not needed: the settings of Debian 12's Open MPI stand below. What does not compile (it
is for another version of MPI) is counted, and left out. Programs and results stay in --work: a second call goes on with what is missing there.
A test passes when it says "No Errors" and ends with 0, or as its list says otherwise. What does not pass without the layer says nothing about it, and is
not run with it. Exit code 1: a test passes plainly and not through the layer; 77: there is no suite."""
import argparse, json, os, re, shutil, signal, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

C_DIRECTORIES = 'pt2pt comm coll topo errhan attr datatype group info init'.split()
F_DIRECTORIES = [f'{f}/{d}' for f in ('f77', 'f08') for d in 'pt2pt coll comm attr topo'.split()]
WAYS = {  # how a test is started: options of `saikai run`, and whether what it does is the body of saikai_in_place
    'plain': (None, False),
    'idle': ([], False),
    'body': ([], True),
    'warm': (['--warm', '1'], True),
    'logging': (['--protocol', 'logging'], True),
    'replication': (['--protocol', 'replication'], False),
}
CONFIGURATION = '''#define HAVE_STDARG_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_STRINGS_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_GETRUSAGE 1
#define HAVE_MPI_INIT_THREAD 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_SPAWN 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_LONG_INT 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_LONG_DOUBLE__COMPLEX 1
#define HAVE_INT8_T 1
#define HAVE_INT16_T 1
#define HAVE_INT32_T 1
#define HAVE_INT64_T 1
#define HAVE_UINT8_T 1
#define HAVE_UINT16_T 1
#define HAVE_UINT32_T 1
#define HAVE_UINT64_T 1
#define HAVE__BOOL 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define USE_STRICT_MPI 1
#define POINTERINT_t long
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
'''


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--tests', default=os.environ.get('SAIKAI_MPI_TESTS'), help="the folder test/mpi of MPICH's sources ($SAIKAI_MPI_TESTS)")
    p.add_argument('--build', type=os.path.abspath, default=str(Path(__file__).resolve().parents[2] / 'build'))
    p.add_argument('--mpi', default='openmpi')
    p.add_argument('--work', default='suite', help='where programs and results are kept')
    p.add_argument('--directories', default=','.join(C_DIRECTORIES + F_DIRECTORIES))
    p.add_argument('--ways', default=','.join(WAYS))
    p.add_argument('--match', default='', help='of tests whose line in the list matches')
    p.add_argument('--limit', type=int, default=60, help='seconds for a test')
    p.add_argument('--most-ranks', type=int, default=8, help='tests on more processes are left out')
    p.add_argument('--again', action='store_true', help='run what has a result already')
    return p.parse_args()


# ---- building ----

def makefile_of(folder):
    """Of programs with a source of another name, or with definitions: {program: ([sources], [options])}."""
    text = (folder / 'Makefile.am').read_text() if (folder / 'Makefile.am').exists() else ''
    text = re.sub(r'\\\n', ' ', text)
    made = {}
    for name, what, value in re.findall(r'^(\w+)_(SOURCES|CPPFLAGS)\s*=\s*(.*)$', text, re.M):
        entry = made.setdefault(name, [[], []])
        words = value.split()
        entry[what == 'CPPFLAGS'].extend([w for w in words if not w.startswith('$(')])
    return made


class Builder:
    def __init__(self, o):
        self.o, self.tests, self.work = o, Path(o.tests).resolve(), Path(o.work).resolve()
        self.include = self.work / 'include'
        self.c, self.f = f'mpicc.{o.mpi}', f'mpif90.{o.mpi}'
        self.flags = ['-O1', '-w', '-DHAVE_CONFIG_H', f'-I{self.include}', f'-I{self.tests}/include', f'-I{self.tests}/dtpools/include']
        self.log = self.work / 'build.log'

    def prepare(self):
        self.include.mkdir(parents=True, exist_ok=True)
        (self.include / 'mpitestconf.h').write_text(CONFIGURATION)
        (self.include / 'mtest_mpix.h').write_text('')
        (self.work / 'dtpoolsconf.h').write_text(CONFIGURATION)  # "../dtpoolsconf.h" as seen from include
        common = []
        for source in sorted((self.tests / 'dtpools/src').glob('*.c')) + [self.tests / 'util' / f'{n}.c' for n in
                                                                           ('mtest', 'mtest_common', 'mtest_single', 'dtypes')]:
            out = self.work / 'util' / (source.stem + '.o')
            out.parent.mkdir(exist_ok=True)
            if not out.exists() and source.exists() and not self.run([self.c, *self.flags, '-c', source, '-o', out]):
                sys.exit(f'{source} does not compile: see {self.log}')
            if out.exists():
                common.append(str(out))
        self.common = common

    def run(self, command, cwd=None):
        with open(self.log, 'a') as log:
            print(*command, file=log, flush=True)
            return subprocess.run([str(c) for c in command], stdout=log, stderr=log, cwd=cwd, stdin=subprocess.DEVNULL).returncode == 0

    def fortran(self, folder, name, out):
        form = folder.parts[0]
        source = next((s for s in (self.tests / folder / (name + e) for e in ('.f90', '.f')) if s.exists()), None)
        if not source:
            return False
        there = out.parent / ('in_' + name)
        there.mkdir(exist_ok=True)
        for h in (self.tests / folder).glob('*.h.in'):  # address-sized integers
            text = h.read_text().replace('@F77_MPI_ADDRESS@', 'integer (kind=MPI_ADDRESS_KIND)')
            (there / h.name[:-3]).write_text(re.sub(r'@F77_MPI_\w+@', 'integer*8', text))
        util = self.tests / 'util' / {'f77': 'mtest_f77.f', 'f90': 'mtest_f90.f90', 'f08': 'mtest_f08.f90'}[form]
        extra = [s for s in (self.tests / folder).glob('utils*.f*')]
        extra += [s for s in (self.tests / folder).glob('dummy*.f*')]
        return self.run([self.f, '-O1', '-w', '-fallow-argument-mismatch', f'-I{there}', f'-I{self.tests}/f77/include', '-o', out, util, *extra,
                         source], cwd=there)

    def program(self, folder, name):
        """The path of a test's program, None when it does not compile."""
        folder = Path(folder)
        out = self.work / 'bin' / folder / name
        failed = out.with_name(name + '.failed')
        if out.exists() or failed.exists():
            return out if out.exists() else None
        out.parent.mkdir(parents=True, exist_ok=True)
        if folder.parts[0] in ('f77', 'f90', 'f08'):
            done = self.fortran(folder, name, out)
        else:
            sources, flags = makefile_of(self.tests / folder).get(name, ([], []))
            paths = [self.tests / folder / s for s in sources or [name + '.c'] if s.endswith('.c')]
            done = all(p.exists() for p in paths) and self.run([self.c, *self.flags, *flags, f'-I{self.tests / folder}', *paths, *self.common, '-o', out,
                                                                '-lm'])
        if not done:
            failed.write_text('')
        return out if done else None


# ---- the lists ----

def tests_of(o, folder):
    """[(name, ranks, arguments, what it says when it passes)], each once: settings of MPICH's own make no difference here."""
    found, lists = {}, [Path(o.tests) / folder / n for n in ('testlist', 'testlist.in')]
    for line in '\n'.join(p.read_text() for p in lists if p.exists()).splitlines():
        words = line.split('#')[0].split()
        if len(words) < 2 or '@' in line or not words[1].isdigit():
            continue
        said = dict(w.split('=', 1) for w in words[2:] if '=' in w and not w.startswith('arg='))
        if float(said.get('mem', 0)) > 2:
            continue
        arguments = [w[4:] for w in words[2:] if w.startswith('arg=')]
        test = (words[0], int(words[1]), tuple(arguments), said.get('resultTest', ''))
        if test[1] <= o.most_ranks and re.search(o.match, ' '.join([folder + '/' + words[0], words[1], *arguments])):
            found[test[:3]] = test
    return list(found.values())


# ---- running ----

def ours(mark):
    """Processes of this run, known by a variable that only they have."""
    for p in Path('/proc').glob('[0-9]*'):
        try:
            if mark in (p / 'environ').read_bytes():
                yield int(p.name)
        except OSError:
            pass


def end(process, mark):
    """All that the run has started, MPI's own processes in other groups as well."""
    for sig, wait in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
        pids = list(ours(mark))
        for pid in pids if sig == signal.SIGKILL else [process.pid]:
            try:
                os.kill(pid, sig)
            except OSError:
                pass
        until = time.time() + wait
        while time.time() < until and list(ours(mark)):
            time.sleep(0.1)
    process.wait()


def command_of(o, way, ranks, program, arguments):
    how, in_body = WAYS[way]
    if how is None:
        return [f'mpiexec.{o.mpi}', '--oversubscribe', '-n', str(ranks), program, *arguments]
    if in_body:
        shim = f'{o.build}/tests/world/libin_body_{o.mpi}.so'
        program, arguments = 'sh', ['-c', f'LD_PRELOAD="{shim}:$LD_PRELOAD" exec "$@"', 'sh', program, *arguments]
    return [f'{o.build}/src/cli/saikai', 'run', '--recovery', 'process=in-place', *how, '-n', str(ranks), '--', program, *arguments]


def verdict(rc, out, expected):
    clean = 'No Errors' in out or 'No errors' in out
    if expected in ('TestStatus', 'TestErrFatal'):
        return 'pass' if rc and not clean else 'fail'
    return 'pass' if rc == 0 and clean and not re.search(r'Found \d+ errors', out) else 'fail'


def run(o, way, test, program):
    name, ranks, arguments, expected = test
    with tempfile.TemporaryDirectory(prefix='saikai-suite-', dir='/dev/shm' if os.access('/dev/shm', os.W_OK) else None) as there:
        mark = f'SAIKAI_SUITE_RUN={os.getpid()}.{os.path.basename(there)}'
        env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', SAIKAI_STORE_LOCAL=there + '/local',
                   SAIKAI_STORE_PREFIX=there + '/store', XDG_CONFIG_HOME=there, XDG_STATE_HOME=there + '/state', SAIKAI_RUN_NO_PROGRESS='1',
                   SAIKAI_SUITE_RUN=mark.split('=')[1], SAIKAI_JOB_NAME='suite')
        begun = time.time()
        with open(there + '/out', 'w+b') as out, open(there + '/err', 'w+b') as err:
            p = subprocess.Popen(command_of(o, way, ranks, str(program), list(arguments)), cwd=there, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=err, start_new_session=True)
            try:
                rc, how = p.wait(o.limit), None
            except subprocess.TimeoutExpired:
                rc, how = None, 'timeout'
            end(p, mark.encode())
            out.seek(0)
            err.seek(0)
            said, told = out.read(200000).decode(errors='replace'), err.read(200000).decode(errors='replace')
        return {'how': how or verdict(rc, said, expected), 'rc': rc, 'seconds': round(time.time() - begun, 1), 'out': said[-1500:], 'err': told[-2500:]}


def main():
    o = options()
    if not o.tests or not (Path(o.tests) / 'util/mtest.c').exists():
        print(f'skip: no test suite of MPI in {o.tests or "--tests DIR"}')
        sys.exit(77)
    b = Builder(o)
    b.prepare()
    (b.work / 'results').mkdir(exist_ok=True)
    ways, counts, differs, not_built, total = o.ways.split(','), {}, [], 0, 0
    for folder in o.directories.split(','):
        tests = tests_of(o, folder)
        with ThreadPoolExecutor(2) as two:
            names = sorted({t[0] for t in tests})
            programs = dict(zip(names, two.map(lambda n: b.program(folder, n), names)))
        for test in tests:
            total += 1
            if not programs[test[0]]:
                not_built += 1
                continue
            label = f'{folder}/{" ".join([test[0], str(test[1]), *test[2]])}'
            row = {}
            for way in ways:
                kept = b.work / 'results' / (re.sub(r'\W+', '_', label) + '.' + way + '.json')
                if row.get('plain', 'pass') != 'pass':  # it says nothing about the layer
                    row[way] = '-'
                    continue
                if o.again or not kept.exists():
                    kept.write_text(json.dumps(dict(run(o, way, test, programs[test[0]]), test=label)))
                row[way] = json.loads(kept.read_text())['how']
                counts.setdefault(folder, {}).setdefault(way, {}).setdefault(row[way], 0)
                counts[folder][way][row[way]] += 1
            worse = [w for w in ways if row.get('plain') == 'pass' and row[w] != 'pass']
            differs += [(label, w, row[w]) for w in worse]
            print(f'{label:60}', *(f'{row[w]:8}' for w in ways), '<-- differs' if worse else '', flush=True)
    report(ways, counts, differs, total, not_built)
    sys.exit(1 if differs else 0)


def report(ways, counts, differs, total, not_built):
    print(f'\n{total} tests, {not_built} not compiled\npassed      ', *(f'{w:>12}' for w in ways))
    for folder in [*counts, None]:
        cells = []
        for w in ways:
            some = [counts[f].get(w, {}) for f in counts if folder in (f, None)]
            cells.append(f'{sum(s.get("pass", 0) for s in some)}/{sum(sum(s.values()) for s in some)}')
        print(f'{folder or "all":12}', *(f'{c:>12}' for c in cells))
    for label, way, how in differs:
        print(f'passes plainly, {how} with {way}: {label}')


if __name__ == '__main__':
    main()
