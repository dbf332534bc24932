/* Saikai for C++ (11 or later): the functions of saikai.h, and forms of saikai_protect that know the type.
 *
 *     std::vector<double> u(n);
 *     saikai::protect("u", u);          // may grow, shrink and move; its length comes back, too
 *     saikai::protect("step", step);    // a number, or any other value without pointers
 *
 * What is protected must stay what and where it is (the vector itself, not its elements) until saikai_unprotect or
 * saikai_finalize. They return what saikai_protect does. */
#ifndef SAIKAI_SAIKAI_HPP
#define SAIKAI_SAIKAI_HPP

#include <saikai/saikai.h>

#include <array>
#include <complex>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <vector>

namespace saikai {

/* How a value of type T is saved: as width numbers of a type; what is none of them, as its bytes. */
template <class T> struct element {
    static_assert(std::is_trivially_copyable<T>::value, "Saikai saves the bytes of a value: a type that owns memory, or is more "
                                                        "than its bytes, needs saikai_protect_stream");
    static_assert(!std::is_pointer<T>::value, "an address means nothing after a restart");
    static constexpr saikai_type type = !std::is_integral<T>::value || std::is_same<T, bool>::value ? SAIKAI_U8
                                        : sizeof(T) == 1 ? (std::is_signed<T>::value ? SAIKAI_I8 : SAIKAI_U8)
                                        : sizeof(T) == 2 ? (std::is_signed<T>::value ? SAIKAI_I16 : SAIKAI_U16)
                                        : sizeof(T) == 4 ? (std::is_signed<T>::value ? SAIKAI_I32 : SAIKAI_U32)
                                                         : (std::is_signed<T>::value ? SAIKAI_I64 : SAIKAI_U64);
    static constexpr std::size_t width = type == SAIKAI_U8 ? sizeof(T) : 1;
};
template <> struct element<float> {
    static constexpr saikai_type type = SAIKAI_F32;
    static constexpr std::size_t width = 1;
};
template <> struct element<double> {
    static constexpr saikai_type type = SAIKAI_F64;
    static constexpr std::size_t width = 1;
};
template <> struct element<std::complex<float>> {
    static constexpr saikai_type type = SAIKAI_C64;
    static constexpr std::size_t width = 1;
};
template <> struct element<std::complex<double>> {
    static constexpr saikai_type type = SAIKAI_C128;
    static constexpr std::size_t width = 1;
};
template <class T, std::size_t N> struct element<std::array<T, N>> {
    static constexpr saikai_type type = element<T>::type;
    static constexpr std::size_t width = N * element<T>::width;
};

/* A value that stays where it is. */
template <class T> int protect(const char *name, T &value)
{
    const std::size_t width = element<T>::width;
    return saikai_protect(name, static_cast<void *>(&value), element<T>::type, width == 1 ? 0 : 1, &width);
}

/* A vector of numbers, or of values without pointers. */
template <class T, class A> int protect(const char *name, std::vector<T, A> &v)
{
    static_assert(!std::is_same<T, bool>::value, "the elements of a std::vector<bool> have no addresses: use std::vector<char>");
    using vector = std::vector<T, A>;
    return saikai_protect_resizable(
        name,
        [](void *arg, void **data, std::size_t *count) {
            vector *own = static_cast<vector *>(arg);
            *data = own->data();
            *count = own->size();
            return 0;
        },
        [](void *arg, std::size_t count, void **data) {
            vector *own = static_cast<vector *>(arg);
            try {
                own->resize(count);
            } catch (const std::exception &) {
                return 1;
            }
            *data = own->data();
            return 0;
        },
        &v, element<T>::width, element<T>::type);
}

} // namespace saikai

#endif
