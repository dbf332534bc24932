/* Values of made variables, and bytes of made files: of every kind that a plan tells apart. */
#ifndef SK_ARCHIVE_PLAN_VALUES_TESTING_H
#define SK_ARCHIVE_PLAN_VALUES_TESTING_H

#include "archive/plan/made_testing.h"

/* ---- values ---- */

MADE double wave(size_t z, size_t y, size_t x, double a, double b, double c)
{
    return sin(a * (double)z + 0.3) + cos(b * (double)y) + sin(c * (double)x + 0.1);
}

/* Which grid: the fields of each are others. */
MADE double grid;

MADE double density(size_t z, size_t y, size_t x)
{
    return 5 + grid + wave(z, y, x, 0.31, 0.22, 0.13) + 1e-7 * (double)((z * 31 + y * 17 + x * 7919) % 101);
}
MADE double energy(size_t z, size_t y, size_t x)
{
    return 9 + wave(z, y, x, 0.11, 0.35, 0.21) + 1e-7 * (double)((z * 13 + y * 19 + x * 104729) % 97);
}
MADE double hydrogen(size_t z, size_t y, size_t x)
{
    return 0.76 * density(z, y, x);
}
MADE double velocity_x(size_t z, size_t y, size_t x)
{
    return wave(z, y, x, 0.5, 0.4, 0.3) + 1e-7 * (double)((z * 7 + y * 11 + x * 1299709) % 89);
}
MADE double velocity_y(size_t z, size_t y, size_t x)
{
    return wave(z, y, x, 0.2, 0.6, 0.1) + 1e-7 * (double)((z * 3 + y * 23 + x * 15485863) % 83);
}
MADE double total(size_t z, size_t y, size_t x)
{
    double u = velocity_x(z, y, x), v = velocity_y(z, y, x);
    return energy(z, y, x) + 0.5 * u * u + 0.5 * v * v;
}
MADE double weight(size_t z, size_t y, size_t x)
{
    return 2 + 0.5 * wave(z, y, x, 0.17, 0.27, 0.37) + 1e-7 * (double)((z * 5 + y * 29 + x * 32452843) % 79);
}
MADE double temperature(size_t z, size_t y, size_t x)
{
    return energy(z, y, x) * weight(z, y, x) / (density(z, y, x) + 2 * velocity_x(z, y, x));
}
MADE double rotated(size_t z, size_t y, size_t x)
{
    double angle = 0.1 * (double)x + 0.7 * (double)y;
    return cos(angle) * velocity_x(z, y, x) + sin(angle) * velocity_y(z, y, x);
}
/* Each value for itself; nothing beside it tells it. */
MADE double rough(size_t z, size_t y, size_t x)
{
    uint64_t h = (z * 131 + y) * 137 + x + (uint64_t)grid;
    h = (h ^ h >> 7) * 0x9e3779b97f4a7c15u;
    return 1 + (double)(h >> 40) / (1 << 24);
}
MADE double quotient(size_t z, size_t y, size_t x)
{
    return rough(z, y, x) * weight(z, y, x) / (density(z, y, x) + 2 * energy(z, y, x));
}
MADE double growth(size_t z, size_t y, size_t x)
{
    return exp(0.31 * (double)z + 0.27 * (double)y + 0.23 * (double)x) * (1 + 1e-9 * rough(z, y, x));
}
MADE double of_plane(size_t z, size_t y, size_t x)
{
    return rough(0, y, x) + 1e-8 * (double)z;
}
MADE double square(size_t z, size_t y, size_t x)
{
    double u = rough(z, y, x), v = rough(x, z, y);
    return 3 * u * u + v * v - 0.25 * weight(z, y, x);
}
MADE double rough_too(size_t z, size_t y, size_t x)
{
    return rough(x, z, y);
}
MADE double masked(size_t z, size_t y, size_t x)
{
    return (x + y) % 40 < 15 ? 0 : density(z, y, x);
}
MADE double linear(size_t z, size_t y, size_t x)
{
    return (double)(3 * z + 5 * y + 2 * x);
}
MADE double counting(size_t z, size_t y, size_t x)
{
    return (double)(z * 1000000 + y * 1000 + x);
}
MADE double few(size_t z, size_t y, size_t x)
{
    static const double of[] = {0.1, 2.25, 1e9, -3.3};
    return of[(z * 7 + y * 3 + x * x) % 4];
}
MADE double particle(size_t z, size_t y, size_t x)
{
    (void)z;
    return x == 0 ? (double)y : x == 1 ? 1e-3 * (double)(y * 7919 % 1013) : x == 2 ? 4.5 : sin((double)y);
}
MADE double noise_value(size_t z, size_t y, size_t x)
{
    (void)z, (void)y, (void)x;
    return 1 + (double)made_noise() / (1 << 24);
}

/* ---- bytes ---- */

MADE uint8_t header(size_t i)
{
    return (uint8_t)("version 3 of a restart file; step 12; "[i % 38]);
}
MADE uint8_t dense(size_t i)
{
    (void)i;
    return (uint8_t)(made_noise() >> 16);
}
MADE uint8_t words(size_t i)
{
    uint32_t v = (uint32_t)(i / 4 * 3 + 100000);
    return (uint8_t)(v >> i % 4 * 8);
}
MADE uint8_t doubles(size_t i)
{
    double v = 1 + (double)(i / 8) * 1e-6;
    uint8_t b[8];
    memcpy(b, &v, 8);
    return b[i % 8];
}
MADE uint8_t long_words(size_t i)
{
    uint64_t v = (uint64_t)(i / 8) * 0x100000003 + (i / 8 % 5);
    return (uint8_t)(v >> i % 8 * 8);
}
MADE uint8_t prose(size_t i)
{
    static const char letters[] = "etaoin shrdlu ";
    uint32_t w = (uint32_t)(i / 6) * 2654435761u >> 23;
    return (uint8_t)(i % 6 == 5 ? ' ' : letters[(w * 7 + i % 6 * 3) % 14]);
}

enum { TENTHS = 10 };

/* Lines of numbers, so many tenths of which have been there a while ago. */
MADE void lines(struct sk_buf *out, size_t n, int tenths)
{
    enum { LINE = 40, BACK = 300 };
    made_seed = 22;
    while (out->len < n) {
        size_t at = out->len / LINE;
        if (at > BACK && (int)(made_noise() % TENTHS) < tenths) {
            char line[LINE];
            memcpy(line, out->data + (at - 1 - made_noise() % BACK) * LINE, LINE);
            sk_buf_put(out, line, LINE);
        } else {
            sk_buf_printf(out, "%8zu %.6f %.6f %10u\n", at, 1 + made_noise() * 0x1p-24, made_noise() * 0x1p-24, made_noise());
            while (out->len % LINE)
                sk_buf_put_u8(out, ' ');
        }
    }
}

/* ---- files ---- */

#define FIELD(name_, value_, nz, ny, nx) \
    made_variable(m, (struct made_variable){.name = name_, .type = SAIKAI_F64, .ndims = 3, .dims = {nz, ny, nx}, .value = value_})

MADE void physics(struct made *m, const char *file, const char *group, size_t n)
{
    char name[64];
    static const struct {
        const char *name;
        double (*value)(size_t z, size_t y, size_t x);
    } fields[] = {{"Density", density}, {"Energy", energy}, {"HI", hydrogen}, {"U", velocity_x}, {"V", velocity_y},
                  {"Total", total}, {"Weight", weight}, {"Temperature", temperature}, {"W", rotated}};
    made_file(m, file, "hdf5");
    made_bytes(m, 512, header);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(name, sizeof name, "%s/%s", group, fields[i].name);
        FIELD(name, fields[i].value, n, n + 2, n + 5);
    }
    made_bytes(m, 100, header);
}

/* All kinds of variables of one file, with others of the same group and shape between them. */
MADE void mixture(struct made *m, const char *file)
{
    made_file(m, file, "netcdf");
    made_bytes(m, 100, header);
    FIELD("a/smooth", density, 4, 30, 40);
    FIELD("a/masked", masked, 4, 30, 40);
    made_variable(m, (struct made_variable){.name = "a/big", .type = SAIKAI_F32, .big_endian = 1, .ndims = 3, .dims = {4, 30, 40}, .value = energy});
    made_variable(m, (struct made_variable){.name = "a/single", .type = SAIKAI_F32, .ndims = 3, .dims = {4, 30, 40}, .value = velocity_x});
    made_variable(m, (struct made_variable){.name = "flat", .type = SAIKAI_F64, .ndims = 1, .dims = {5000}, .value = linear});
    made_variable(m, (struct made_variable){.name = "few", .type = SAIKAI_F64, .ndims = 2, .dims = {50, 60}, .value = few});
    made_variable(m, (struct made_variable){.name = "random", .type = SAIKAI_F64, .ndims = 2, .dims = {50, 70}, .value = noise_value});
    made_bytes(m, 7, header);
    made_variable(m, (struct made_variable){.name = "ids", .type = SAIKAI_I32, .ndims = 1, .dims = {20000}, .value = counting});
    made_variable(m, (struct made_variable){.name = "long ids", .type = SAIKAI_I64, .big_endian = 1, .ndims = 1, .dims = {9000}, .value = counting});
    made_variable(m, (struct made_variable){.name = "particles", .type = SAIKAI_F64, .fields = 1, .ndims = 2, .dims = {900, 4}, .value = particle});
    /* at the bounds of what is worth a part of its own */
    made_variable(m, (struct made_variable){.name = "512", .type = SAIKAI_F64, .ndims = 1, .dims = {64}, .value = linear});
    made_variable(m, (struct made_variable){.name = "504", .type = SAIKAI_F64, .ndims = 1, .dims = {63}, .value = linear});
    made_variable(m, (struct made_variable){.name = "99", .type = SAIKAI_U8, .ndims = 1, .dims = {99}, .value = linear});
    made_variable(m, (struct made_variable){.name = "100", .type = SAIKAI_U8, .ndims = 1, .dims = {100}, .value = linear});
    made_variable(m, (struct made_variable){.name = "one", .type = SAIKAI_F64, .ndims = 1, .dims = {1}, .value = linear});
    /* equal names, which levels of a tree have */
    FIELD("b/x", energy, 1, 20, 30);
    FIELD("b/x", density, 1, 20, 30);
    FIELD("b/y", velocity_x, 1, 20, 30);
    FIELD("b/y", velocity_y, 1, 20, 30);
    made_bytes(m, 900, header);
}

MADE void records(struct made *m, size_t n, size_t length, uint8_t (*byte)(size_t i))
{
    struct sk_buf *out = &m->data[m->count - 1];
    for (size_t i = 0; i < n; i++) {
        sk_buf_put_u32(out, (uint32_t)length);
        made_bytes(m, length, byte);
        sk_buf_put_u32(out, (uint32_t)length);
    }
}

MADE void again(struct made *m, int file, size_t at, size_t n)
{
    struct sk_buf copy = {0};
    sk_buf_put(&copy, m->data[file].data + at, n);
    sk_buf_put(&m->data[m->count - 1], copy.data, n);
    sk_buf_free(&copy);
}

MADE void repeating(struct made *m)
{
    made_seed = 8;
    made_file(m, "first", "x");
    made_bytes(m, 50000, dense);
    made_variable(m, (struct made_variable){.name = "v", .type = SAIKAI_F64, .ndims = 2, .dims = {60, 70}, .value = noise_value});
    made_variable(m, (struct made_variable){.name = "w", .type = SAIKAI_F64, .ndims = 2, .dims = {60, 70}, .value = noise_value});
    again(m, 0, 1234, 30000);   /* within a file */
    made_bytes(m, 3000, dense);
    again(m, 0, 40000, 4095);   /* too short to be worth it */
    made_bytes(m, 200000, header); /* a word again and again */
    made_file(m, "second", "x");
    again(m, 0, 0, 50000);
    made_variable(m, (struct made_variable){.name = "v", .type = SAIKAI_F64, .ndims = 2, .dims = {60, 70}, .value = noise_value});
    made_bytes(m, 17, header);
    again(m, 0, 50000, 2 * 33600); /* both variables, under no name */
    made_file(m, "copy", "x");
    again(m, 0, 0, m->data[0].len);
    made_file(m, "tiny", NULL);
    made_bytes(m, 1, header);
    made_file(m, "tiny again", NULL);
    made_bytes(m, 1, header);
}

#endif
