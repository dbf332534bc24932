/* The kinds of the rooms below the library. */
#include "lib/levels/kinds.h"

#include "capture/cow/cow.h"
#include "capture/dirty.h"
#include "codec/codec.h"
#include "codec/general/general.h"
#include "lib/levels/level.h"
#include "redundancy/domains.h"
#include "redundancy/code/form.h"
#include "redundancy/code/scheme.h"
#include "schedule/model.h"
#include "schedule/failure/rates.h"

void sk_lib_kinds_tell(void)
{
    static const struct sk_kind *const list[] = {
        &sk_tracker_kind, &sk_snapshot_kind, &sk_model_kind,    &sk_rates_kind,  &sk_codec_kind,
        &sk_scheme_kind,  &sk_domain_kind,   &sk_transfer_kind, &sk_backend_kind, &sk_far_kind, NULL,
    };
    sk_kinds_tell(list);
}
