/* What levels tell where the ranks bring their parts one generation after the other. */
#include "lib/levels/level.h"

void sk_level_tell_newest(int64_t word[SK_LEVEL_WORDS], int64_t seq, int idle)
{
    word[0] = seq;
    word[1] = -seq;
    word[2] = idle;
}

void sk_level_hear_newest(const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    *h = (struct sk_level_heard){least[0] && least[0] == -least[1], least[0], least[2] != 0, least[2] != 0};
}
