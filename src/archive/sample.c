#include "archive/plan.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

int sk_sample_family(struct sk_plan *p, struct sk_family *f, struct saikai_error *err)
{
    const struct sk_ska_class *c = &p->a.classes[f->classes[0]];
    f->recipes = calloc(f->fields, sizeof *f->recipes);
    f->order = calloc(f->fields, sizeof *f->order);
    if (!f->recipes || !f->order)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < f->fields; i++) {
        f->order[i] = (int)i;
        f->recipes[i].backend = SK_BACKEND_ZSTD;
        if (c->fields) {
            f->recipes[i].form = SK_FORM_FIELDS;
            f->recipes[i].level = 1;
        } else if (c->type == SAIKAI_F64 || c->type == SAIKAI_F32) {
            f->recipes[i].form = SK_FORM_PREDICT;
            f->recipes[i].stencil = SK_STENCIL_XYZ;
            f->recipes[i].level = 1;
        } else {
            f->recipes[i].filter = c->type == SAIKAI_I32 ? SK_FILTER_DELTA4 : SK_FILTER_NONE;
        }
    }
    return 0;
}

int sk_sample_bytes(struct sk_plan *p, uint32_t class_index, const struct sk_ska_segment *segments,
                    size_t count, struct sk_recipe *recipe, struct saikai_error *err)
{
    recipe->backend = SK_BACKEND_ZSTD;
    recipe->level = 3;
    return 0;
}
