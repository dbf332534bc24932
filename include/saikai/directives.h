/* What `#pragma MICP` and `#pragma chk` become: saikaicc, saikaicxx and saikaifort write calls of these (saikaicc --show prints them).
 * A program that has no directives has no use for this header; saikai.h is the interface to write by hand.
 *
 *     #pragma MICP init                          saikai_loop_init(…)
 *     #pragma MICP enable i, u(0:n-1)            saikai_loop_begin, a saikai_loop_variable for each, saikai_loop_restore
 *     for (i = 0; i < n; i++) {                  saikai_loop_next in each turn
 *         #pragma MICP ckpt                      saikai_loop_candidate
 *     }                                          saikai_loop_end
 *     #pragma MICP fini                          saikai_loop_fini
 *
 * All of them use the default handle. Errors end the program as those of saikai_protect do. */
#ifndef SAIKAI_DIRECTIVES_H
#define SAIKAI_DIRECTIVES_H

#pragma GCC system_header /* what is wrong with a directive is told where that stands, not here */

#ifdef __cplusplus
#include <saikai/saikai.hpp>
#else
#include <saikai/saikai.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One run of an enabled loop. Its memory is the program's, from saikai_loop_begin to saikai_loop_end. */
struct saikai_loop {
    int resume;       /* n > 0: this turn goes on behind the loop's place n - 1; what comes before it is passed over */
    int skipped;      /* 1: the restored state is that of a later loop, so this one is not run */
    int open;         /* the library's from here on */
    int turned;
    unsigned first;
    long every, forced;
};

/* saikai_init over comm; MPI_Init before, if the program has not called it. Collective. Returns what saikai_init does. */
int saikai_loop_init(MPI_Comm comm, const char *config, const char *mpi_of_header);
/* saikai_finalize, and MPI_Finalize if saikai_loop_init has called MPI_Init. Collective. */
int saikai_loop_fini(void);

/* A loop begins: which is its name for messages and for finding it again, the same in each start of the program. every: at least in each
 * turn of which the number is a multiple of it a checkpoint is made, 0: when it is due. All ranks run their loops in the same order, and one at a time.
 * SAIKAI_ESTATE: before saikai_loop_init, or inside of another loop. */
int saikai_loop_begin(struct saikai_loop *loop, const char *which, long every);
/* Protect x[0]…: elements of `bytes` bytes and of a type (SAIKAI_U8 with bytes > 1: without a meaning of their own). shape: counts of ndims
 * dimensions, then how many bytes neighbours are apart in each. global: NULL, or nglobal sizes of the global array and nglobal
 * offsets of this block in it. bound: "" or an attribute of saikai_set, used for floating-point numbers only. Local. */
int saikai_loop_variable(const char *name, void *data, enum saikai_type type, size_t bytes, int ndims, const ptrdiff_t shape[],
                         int nglobal, const long global[], const char *bound);
/* All variables are told: give them what the newest generation has, if it was made in this run of this loop. Collective. */
int saikai_loop_restore(struct saikai_loop *loop);
/* A turn of the loop begins. Local. */
void saikai_loop_next(struct saikai_loop *loop);
/* Place number `place` of this turn, 0 to 63. Collective in that all ranks call it. */
void saikai_loop_candidate(struct saikai_loop *loop, int place);
/* The loop is left, in whichever way: its variables are protected no more. Local. */
void saikai_loop_end(struct saikai_loop *loop);

#define SAIKAI_LOOP_LEFT __attribute__((cleanup(saikai_loop_end)))

#ifdef __cplusplus
}

namespace saikai {
namespace directives {

template <class T> struct is_number : std::integral_constant<bool, std::is_arithmetic<T>::value || std::is_enum<T>::value> {};
template <> struct is_number<std::complex<float>> : std::true_type {};
template <> struct is_number<std::complex<double>> : std::true_type {};

/* The dimensions of an array into shape, from `at` on; how many. */
template <class T> struct inner {
    static_assert(!std::is_pointer<T>::value, "what is saved is a pointer, or has elements that are: tell a section of what it points to, "
                                              "as in p(0:n-1), or call saikai_protect for each");
    static constexpr int rank = 0;
    using base = typename std::remove_cv<T>::type;
    static void dims(std::ptrdiff_t *, std::ptrdiff_t *) {}
};
template <class T, std::size_t N> struct inner<T[N]> {
    static constexpr int rank = 1 + inner<T>::rank;
    using base = typename inner<T>::base;
    static void dims(std::ptrdiff_t *count, std::ptrdiff_t *stride)
    {
        *count = static_cast<std::ptrdiff_t>(N);
        *stride = static_cast<std::ptrdiff_t>(sizeof(T));
        inner<T>::dims(count + 1, stride + 1);
    }
};

template <class T>
int put(const char *name, T &x, bool bytes, int outer, const std::ptrdiff_t *counts, const std::ptrdiff_t *strides, int nglobal,
        const long *global, const char *bound)
{
    using base = typename inner<T>::base;
    static_assert(std::is_trivially_copyable<base>::value, "the bytes of this type are not all there is to it: call saikai_protect_stream");
    const int n = outer + inner<T>::rank;
    std::ptrdiff_t shape[2 * SAIKAI_MAX_DIMS + 16] = {0}, inner_counts[SAIKAI_MAX_DIMS + 1], inner_strides[SAIKAI_MAX_DIMS + 1];
    static_assert(inner<T>::rank <= SAIKAI_MAX_DIMS, "too many dimensions");
    inner<T>::dims(inner_counts, inner_strides);
    for (int d = 0; d < n; d++) {
        shape[d] = d < outer ? counts[d] : inner_counts[d - outer];
        shape[n + d] = d < outer ? strides[d] : inner_strides[d - outer];
    }
    return saikai_loop_variable(name, const_cast<void *>(static_cast<const volatile void *>(&x)), bytes ? SAIKAI_U8 : element<base>::type,
                                sizeof(base), n, shape, nglobal, global, bound);
}

template <class T>
int variable(const char *name, T &x, int outer, const std::ptrdiff_t *counts, const std::ptrdiff_t *strides, int nglobal,
             const long *global, const char *bound)
{
    static_assert(std::is_pointer<typename inner<T>::base>::value || is_number<typename inner<T>::base>::value,
                  "not numbers: whether a class has pointers cannot be seen. Write bytes(x) when it has none, else call "
                  "saikai_protect_stream");
    return put(name, x, false, outer, counts, strides, nglobal, global, bound);
}

template <class T, class A>
int variable(const char *name, std::vector<T, A> &v, int, const std::ptrdiff_t *, const std::ptrdiff_t *, int nglobal, const long *,
             const char *bound)
{
    static_assert(is_number<T>::value, "the elements of the vector are no numbers: call saikai_protect_stream");
    if (nglobal)
        return saikai_refuse("a std::vector cannot be a block of a global array: tell a section of it, as in v(0:n-1)");
    int rc = protect(name, v);
    return rc < 0 || !*bound || !std::is_floating_point<T>::value ? rc : saikai_set(name, "bound", bound);
}

} // namespace directives
} // namespace saikai

#define SAIKAI_LOOP_VARIABLE(name, x, outer, counts, strides, nglobal, global, bound) \
    saikai::directives::variable(name, x, outer, counts, strides, nglobal, global, bound)
#define SAIKAI_LOOP_BYTES(name, x, outer, counts, strides, nglobal, global) \
    saikai::directives::put(name, x, true, outer, counts, strides, nglobal, global, "")

#define SAIKAI_LOOP_ROW(x) \
    static_assert(!std::is_pointer<typename std::remove_reference<decltype(x)>::type>::value, \
                  "a section of several dimensions, the rows of which are pointers: call saikai_protect for each row")

#else /* C: the type is the compiler's knowledge, too */

/* As a pointer to its first element: of an array or a pointer itself, of a number its address. */
#define SAIKAI_LOOP_NUMBERS(p) \
    _Bool: p, char: p, signed char: p, unsigned char: p, short: p, unsigned short: p, int: p, unsigned: p, long: p, \
    unsigned long: p, long long: p, unsigned long long: p, float: p, double: p, long double: p, float _Complex: p, \
    double _Complex: p, long double _Complex: p
#define SAIKAI_LOOP_AT(x) _Generic((x), SAIKAI_LOOP_NUMBERS(&(x)), default: (x))
#define SAIKAI_LOOP_IS_POINTER(x) __builtin_types_compatible_p(__typeof__(x), __typeof__(&SAIKAI_LOOP_AT(x)[0]))
#define SAIKAI_LOOP_IS_NUMBER(x) _Generic((x), SAIKAI_LOOP_NUMBERS(1), default: 0)
#define SAIKAI_LOOP_SIGNED(x, s, u) ((__typeof__(x))-1 < (__typeof__(x))1 ? (s) : (u))
#define SAIKAI_LOOP_INTEGER(size) ((size) == 1 ? SAIKAI_I8 : (size) == 2 ? SAIKAI_I16 : (size) == 4 ? SAIKAI_I32 : SAIKAI_I64)
#define SAIKAI_LOOP_NATURAL(size) ((size) == 1 ? SAIKAI_U8 : (size) == 2 ? SAIKAI_U16 : (size) == 4 ? SAIKAI_U32 : SAIKAI_U64)
#define SAIKAI_LOOP_TYPE(x) \
    _Generic((x), _Bool: SAIKAI_U8, char: (char)-1 < 0 ? SAIKAI_I8 : SAIKAI_U8, signed char: SAIKAI_I8, unsigned char: SAIKAI_U8, \
             short: SAIKAI_I16, unsigned short: SAIKAI_U16, int: SAIKAI_I32, unsigned: SAIKAI_U32, \
             long: SAIKAI_LOOP_INTEGER(sizeof(long)), unsigned long: SAIKAI_LOOP_NATURAL(sizeof(long)), long long: SAIKAI_I64, \
             unsigned long long: SAIKAI_U64, float: SAIKAI_F32, double: SAIKAI_F64, float _Complex: SAIKAI_C64, \
             double _Complex: SAIKAI_C128, default: SAIKAI_U8)

/* Said before the compiler says something else. */
#define SAIKAI_LOOP_CLASS(x) \
    _Static_assert(__builtin_classify_type(x) != 12 && __builtin_classify_type(x) != 13, \
                   "a struct or union: whether it has pointers cannot be seen. Write bytes(x) when it has none, else name its " \
                   "members, or call saikai_protect for what it points to")
/* The rows of a section with several dimensions: side by side, not elsewhere in memory. */
#define SAIKAI_LOOP_ROW(x) \
    _Static_assert(!SAIKAI_LOOP_IS_POINTER(x), "a section of several dimensions, the rows of which are pointers: call saikai_protect for each row")

/* One dimension further in: to is a pointer to the elements of *from, or to *from itself when that is a number. */
#define SAIKAI_LOOP_INTO(to, from) \
    SAIKAI_LOOP_CLASS(*from); \
    __typeof__(SAIKAI_LOOP_AT(*from)[0]) *to = SAIKAI_LOOP_AT(*from); \
    _Static_assert(!SAIKAI_LOOP_IS_POINTER(*from), \
                   "what is saved is a pointer, or has elements that are: tell a section of what it points to, as in p(0:n-1), or " \
                   "call saikai_protect for each of them"); \
    if (!SAIKAI_LOOP_IS_NUMBER(*from)) { \
        saikai_shape_[saikai_n_] = (ptrdiff_t)(sizeof *from / sizeof *to); \
        saikai_shape_[24 + saikai_n_++] = (ptrdiff_t)sizeof *to; \
    }
#define SAIKAI_LOOP_OUTER(outer, counts, strides) \
    ptrdiff_t saikai_shape_[48] = {0}; \
    int saikai_n_ = 0; \
    for (; saikai_n_ < (outer); saikai_n_++) { \
        saikai_shape_[saikai_n_] = (counts)[saikai_n_]; \
        saikai_shape_[24 + saikai_n_] = (strides)[saikai_n_]; \
    }
#define SAIKAI_LOOP_PUT(name, at, type, bytes, nglobal, global, bound) \
    for (int saikai_d_ = 0; saikai_d_ < saikai_n_; saikai_d_++) /* the strides follow the counts */ \
        saikai_shape_[saikai_n_ + saikai_d_] = saikai_shape_[24 + saikai_d_]; \
    saikai_loop_variable(name, (void *)(at), type, bytes, saikai_n_, saikai_shape_, nglobal, global, bound)
#define SAIKAI_LOOP_VARIABLE(name, x, outer, counts, strides, nglobal, global, bound) \
    do { \
        SAIKAI_LOOP_OUTER(outer, counts, strides) \
        __typeof__(x) *saikai_0_ = &(x); \
        SAIKAI_LOOP_INTO(saikai_1_, saikai_0_) \
        SAIKAI_LOOP_INTO(saikai_2_, saikai_1_) \
        SAIKAI_LOOP_INTO(saikai_3_, saikai_2_) \
        SAIKAI_LOOP_INTO(saikai_4_, saikai_3_) \
        SAIKAI_LOOP_INTO(saikai_5_, saikai_4_) \
        _Static_assert(SAIKAI_LOOP_IS_NUMBER(*saikai_5_), "too many dimensions, or no numbers: call saikai_protect"); \
        SAIKAI_LOOP_PUT(name, saikai_0_, SAIKAI_LOOP_TYPE(*saikai_5_), sizeof *saikai_5_, nglobal, global, bound); \
    } while (0)
#define SAIKAI_LOOP_BYTES(name, x, outer, counts, strides, nglobal, global) \
    do { \
        SAIKAI_LOOP_OUTER(outer, counts, strides) \
        _Static_assert(__builtin_classify_type(x) != 5 || sizeof(x) != sizeof(void *), \
                       "bytes of a pointer: tell a section of what it points to, as in bytes(p(0:n-1)), or call saikai_protect"); \
        SAIKAI_LOOP_PUT(name, &(x), SAIKAI_U8, sizeof(x), nglobal, global, ""); \
    } while (0)
#endif

#endif
