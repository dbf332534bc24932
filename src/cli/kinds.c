/* Kinds and the options that name their forms. */
#include "cli/kinds.h"

#include "archive/plan/options.h"
#include "lib/levels/kinds.h"
#include "output/method.h"
#include "reader/reader.h"
#include "schedule/failure/failures.h"

#ifdef HAVE_ZMQ
#include "recovery/answer/recovery_protocol.h"
#include "recovery/fault/detector.h"
#include "recovery/fault/fault_model.h"
#include "recovery/fault/monitor.h"
#include "recovery/launch/launcher.h"
#include "recovery/repair/compare.h"
#include "recovery/source/source.h"
#include "world/protocol/protocol.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sk_cli_kinds_tell(void)
{
    static const struct sk_kind *const list[] = {
        &sk_reader_kind, &sk_merge_kind, &sk_failures_kind, &sk_method_kind,
#ifdef HAVE_ZMQ
        &sk_launcher_kind, &sk_detector_kind, &sk_fault_kind, &sk_monitor_kind, &sk_fault_model_kind, &sk_recovery_protocol_kind,
        &sk_protocol_kind, &sk_compare_kind, &sk_source_kind,
#endif
        NULL,
    };
    sk_lib_kinds_tell();
    sk_kinds_tell(list);
}

/* The one copy of a text. */
static const char *keep(const char *text)
{
    static char *kept[32];
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (!kept[i])
            kept[i] = strdup(text);
        if (!kept[i] || !strcmp(kept[i], text))
            return kept[i] ? kept[i] : "";
    }
    return "";
}

const char *cli_forms(const struct sk_kind *kind, const char *before)
{
    char words[256];
    return keep(sk_kind_words(kind, before, words, sizeof words));
}

const char *cli_forms_help(const struct sk_kind *kind, const char *help)
{
    char words[256], spelled[300], text[600];
    const char *at = strstr(help, "%s");
    sk_words_spell(sk_kind_words(kind, NULL, words, sizeof words), spelled, sizeof spelled);
    snprintf(text, sizeof text, "%.*s%s%s", at ? (int)(at - help) : (int)strlen(help), help, at ? spelled : "", at ? at + 2 : "");
    return keep(text);
}
