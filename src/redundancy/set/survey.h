/* Survey: what of a generation is left, and on which rank. The first half of a rebuild. */
#ifndef SK_REDUNDANCY_SURVEY_H
#define SK_REDUNDANCY_SURVEY_H

#include "redundancy/set/parity_file.h"
#include "redundancy/set/rebuild.h"
#include "redundancy/set/files.h"

/* A piece of a member: its data or its parity. */
struct sk_parity_piece {
    int holder; /* lowest rank that has it whole, the claimer before all others; -1: lost */
};

struct sk_survey_group {
    uint64_t group, record_hash;
    struct sk_record record;
    struct sk_parity_piece data[SK_MAX_MEMBERS], parity[SK_MAX_MEMBERS];
    int claimer[SK_MAX_MEMBERS]; /* rank, -1: nobody wants it */
    /* on this rank, NULL: not here */
    struct sk_files *stream[SK_MAX_MEMBERS];
    struct sk_parity_file *file[SK_MAX_MEMBERS];
    const struct sk_claim *claim[SK_MAX_MEMBERS];
    /* room for claimed pieces that are not here, NULL: none made */
    struct sk_files *room[SK_MAX_MEMBERS];
    struct sk_parity_file *parity_room[SK_MAX_MEMBERS];
    int trusted; /* 1: pieces that are here were not looked at yet: whoever uses them does, and
                    looks at the rest (repair.h) */
};

struct sk_survey {
    struct sk_survey_group *group;
    int groups;
    int unread; /* on some rank a piece is there that could not be read, again and again: it counts as lost for now */
};

/* Collective, blocking: look at the holdings, tell each other. All ranks get the same picture.
 * trust 1: a piece that seems to be there counts as good; 0: every byte is checked first, and what
 * is damaged counts as lost. */
int sk_survey(struct sk_group *g, const struct sk_rebuild_params *p, int trust, struct sk_survey *s,
              struct saikai_error *err);
/* A loss that may be none, since pieces are unread: SAIKAI_EIO, with that in front of the sentence. */
int sk_survey_unread(struct saikai_error *err);
void sk_survey_free(struct sk_survey *s);

#endif
