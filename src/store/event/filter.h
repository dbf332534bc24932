/* Which events are meant: terms with commas between them that must all hold (saikai/event.h). */
#ifndef SK_STORE_EVENT_FILTER_H
#define SK_STORE_EVENT_FILTER_H

#include "store/event/event.h"

enum { SK_FILTER_TERMS = 8, SK_FILTER_TEXT = 512 };

struct sk_filter {
    int n;
    struct sk_filter_term {
        char key[SAIKAI_EVENT_KEY], value[SAIKAI_EVENT_VALUE];
        int not, prefix, least; /* KEY!=VALUE; VALUE*; severity>=VALUE, as a number */
    } term[SK_FILTER_TERMS];
};

/* "": all events. SAIKAI_EINVAL: the sentence names the term. */
int sk_filter_parse(const char *text, struct sk_filter *out, struct saikai_error *err);
int sk_filter_passes(const struct sk_filter *f, const struct saikai_event *e);

#endif
