/* Random walkers that split and die, in C++: each rank's std::vector changes its length all the time. Now and then the ranks
 * compare what was born and has died with who is left.
 * usage: walkers [-p PIDFILE] [WALKERS STEPS]
 * The lines that end in "saikai" are all that it takes to survive faults. */
#include "example.h"

#include <saikai/saikai.hpp> // saikai
#include <vector>

namespace {

struct walker {
    double x;
    std::uint64_t luck;
};

struct counts {
    long born, died;
};

std::uint64_t draw(std::uint64_t &state)
{
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void advance(std::vector<walker> &all, std::vector<double> &track, counts &c)
{
    std::vector<walker> next;
    double sum = 0;
    for (walker w : all) {
        w.x += static_cast<double>(draw(w.luck) >> 11) / 9007199254740992.0 - 0.5;
        sum += w.x;
        const std::uint64_t fate = draw(w.luck) % 100;
        if (fate == 0) {
            c.died++;
            continue;
        }
        next.push_back(w);
        if (fate == 1) {
            next.push_back({w.x, draw(w.luck)});
            c.born++;
        }
    }
    all.swap(next); // the vector has other memory now: nobody needs to be told
    track.push_back(sum);
}

int simulate(long walkers, long steps)
{
    std::vector<walker> all;
    std::vector<double> track;
    counts c = {0, 0};
    for (long i = example_rank; i < walkers; i += example_ranks)
        all.push_back({0.0, static_cast<std::uint64_t>(i) * 77});
    c.born = static_cast<long>(all.size());

    long it = 0;
    if (saikai_init(MPI_COMM_WORLD, nullptr) < 0 ||                                                        // saikai
        saikai::protect("walkers", all) < 0 || saikai::protect("track", track) < 0 ||                       // saikai
        saikai::protect("counts", c) < 0 || saikai_restart(&it) < 0)                                        // saikai
        example_fail("walkers", saikai_error_text());                                                       // saikai
    while (it < steps) {
        advance(all, track, c);
        it++;
        MPI_Barrier(MPI_COMM_WORLD);
        if (saikai_checkpoint(it) < 0)                                                                      // saikai
            std::fprintf(stderr, "walkers: %s\n", saikai_error_text());                                     // saikai
    }
    long mine[2] = {c.born - c.died - static_cast<long>(all.size()), static_cast<long>(all.size())}, sum[2];
    MPI_Allreduce(mine, sum, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    const bool right = sum[0] == 0 && track.size() == static_cast<std::size_t>(steps);
    std::uint64_t hash = example_mix(track.data(), track.size(), 0);
    for (const walker &w : all)
        hash ^= example_mix(&w.x, 1, w.luck);
    hash = example_xor(hash);
    if (example_rank == 0)
        std::printf("%ld walkers, %ld steps: checksum %016llx, %ld walkers left: %s\n", walkers, steps,
                    static_cast<unsigned long long>(hash), sum[1], right ? "verified" : "WRONG");
    saikai_finalize();                                                                                      // saikai
    return right ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    long arguments[2] = {5000, 2000};
    if (example_begin(&argc, &argv, arguments, 2) || arguments[0] < 0 || arguments[1] < 0)
        return example_usage("walkers [-p PIDFILE] [WALKERS STEPS]");
    const int rc = simulate(arguments[0], arguments[1]);
    MPI_Finalize();
    return rc;
}
