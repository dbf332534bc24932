/* What a rank's keeper and `saikai run` tell each other: encoding and decoding, pure.
 *
 * Wire form (little-endian): u32 magic "SKB4", u8 kind, u32 incarnation, u32 rank, u64 serial, then
 * the body of the kind, nothing after it. Both ends are of one release and one run, so there is one
 * version: another magic is another version. */
#ifndef SK_BACKBONE_MESSAGE_H
#define SK_BACKBONE_MESSAGE_H

#include "backbone/keys.h"
#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

enum sk_message_kind {
    /* keeper → launcher */
    SK_MSG_HELLO = 1, /* the program was started */
    SK_MSG_BEAT,      /* the keeper lives; how far the program is */
    SK_MSG_EXIT, /* the program is gone, and so is everything it started; repeated until answered */
    /* launcher → keeper */
    SK_MSG_HEARD,   /* answer to hello and beat: the launcher lives; to a node service: say all again */
    SK_MSG_RELEASE, /* answer to exit: leave */
    SK_MSG_KILL,    /* kill the program now, report, leave; repeated until answered */
    SK_MSG_SIGNAL,  /* pass a signal to the program */
    SK_MSG_REQUEST, /* put request bits into the page shared with the library */
    SK_MSG_REPAIR,  /* repair the world in place; repeated until a beat tells that it was heard */
    /* node service → launcher (backbone/frame/frame.h) */
    SK_MSG_ALIVE, /* as a beat that says nothing new; service → keeper: the service lives, whoever else does not */
    SK_MSG_TELL,  /* a sentence for the user; rank: none */
    /* launcher → node service */
    SK_MSG_END,  /* the job is over; rank: none */
    SK_MSG_PACE, /* speak in each heartbeat no longer, there are many of you; rank: none */
    /* of the tree of node services (backbone/frame/tree.h); rank: none */
    SK_MSG_RELAY,   /* launcher → service: others will speak through you */
    SK_MSG_LISTENS, /* service → launcher: they can do so there */
    SK_MSG_PARENT,  /* launcher → service: speak through the one that listens there */
    SK_MSG_KIN,     /* service → the one above: what follows in this frame is of those that speak through this one, and so old */
    SK_MSG_AGE,     /* service → one that speaks through it: how long ago the launcher was heard */
    SK_MSG_KINDS
};

enum sk_exit_how {
    SK_EXIT_CODE = 0,     /* exited with code */
    SK_EXIT_SIGNAL = 1,   /* killed by signal number code */
    SK_EXIT_NO_START = 2, /* could not be executed; code is the errno, or SK_EXIT_BARE */
    SK_EXIT_UNENDED = 3,  /* exited with 0, and MPI had begun in it and not ended */
};

/* In place of an errno: it was executed, and came to MPI without the layer, which makes of the processes that were started the ranks that were asked for. */
enum { SK_EXIT_BARE = 255 };

/* How the messages of a rank's two processes differ; as differ… in sk_keeper_page. */
struct sk_differ {
    uint32_t n; /* 0: they do not, and what follows does not count and does not travel */
    uint32_t how;
    int32_t to, tag;
    uint64_t number;
    int64_t iteration;
};

/* How far a process's standard output is: whole lines, and bytes after the last of them. */
struct sk_printed {
    uint64_t lines, bytes;
};

/* What the page shared with the library says; as sk_keeper_page. */
struct sk_progress {
    uint64_t progress;
    int64_t iteration, complete_iteration;
    uint64_t complete_count;
    int64_t restored_iteration;
    uint32_t state, world;
    struct sk_differ differ;
    struct sk_printed printed; /* said by the keeper where another process may have to go on from there; does not travel where there is nothing */
};

enum { SK_MSG_HOST_MAX = 255, SK_MSG_DEAD_MAX = 18, SK_MSG_PACE_MAX = 4, SK_MSG_ANSWER_MAX = 10000, SK_MSG_AGE_MAX = 3600000 };

struct sk_message {
    enum sk_message_kind kind;
    uint32_t incarnation, rank;
    uint64_t serial; /* filled in by whoever sends: grows from message to message of one sender to
                        one receiver; what does not is a message that came before, and is dropped. Larger
                        than what the sender has reached so far: that one is taken */
    char host[SK_MSG_HOST_MAX + 1]; /* hello: host name of the keeper; tell: the sentence; listens,
                                       parent: the endpoint */
    uint32_t pid;                   /* hello: process id of the program on that host */
    struct sk_progress at;          /* beat, exit */
    uint32_t how;                   /* exit: enum sk_exit_how */
    uint32_t code;                  /* exit */
    uint32_t ordered;               /* exit: it was killed by order of the launcher */
    uint32_t ended;                 /* exit: the MPI's launcher had sent SIGTERM before */
    uint32_t number; /* signal: signal number; request: bits of enum sk_keeper_request; repair: its number; alive, as the hub gives
                        it: how many ranks in a row; pace: in how many heartbeats to speak once; kin, age: milliseconds, at most, SK_MSG_AGE_MAX: or
                        more; listens, parent: which of the services that ever listened this one is, drawn */
    uint32_t first;  /* repair: as which rank the keeper of the first new process reports, the others follow; pace: milliseconds between
                        two answers, most */
    uint32_t n_dead, dead[SK_MSG_DEAD_MAX]; /* repair: whose places they take */
    struct sk_printed printed[SK_MSG_DEAD_MAX]; /* repair: how far the output of each of them was handed over */
    uint32_t age_ms; /* not sent; as the hub gives it: it was said so long ago */
};

/* Append m to out; check sk_buf_ok. */
void sk_message_encode(const struct sk_message *m, struct sk_buf *out);
/* SAIKAI_EFORMAT when the bytes are no message; then *m is untouched. */
int sk_message_decode(const void *data, size_t n, struct sk_message *m, struct saikai_error *err);

/* What a job went through before a start, as sk_keeper_page. */
struct sk_past {
    uint32_t faults;
    uint64_t ms, last_candidates;
    uint64_t lost_ms, down_ms; /* of ms, computed in vain; beside ms, until there was another start */
};

/* What a keeper has to know to reach its launcher; travels as the text of one environment variable
 * that the keeper takes out of the program's environment. Nothing of it is secret. */
#define SK_LINK_ENV "SAIKAI_KEEPER_LINK"
enum { SK_LINK_KEY_FILE_MAX = 1024 };
struct sk_link_settings {
    char endpoint[128];                  /* "tcp://10.0.0.1:40000" */
    char key_file[SK_LINK_KEY_FILE_MAX]; /* absolute; see backbone/keys.h */
    uint8_t nonce[SK_NONCE_BYTES];
    char rank_env[32]; /* variable in which the MPI's launcher leaves the rank */
    uint32_t incarnation;
    uint32_t heartbeat_ms, node_timeout_ms, orphan_timeout_ms;
    uint32_t service; /* 1: the keepers of a node speak through one service (backbone/frame/frame.h) */
    uint64_t remaining_ms; /* of the job's time slot when this incarnation was started; 0: no limit
                              known */
    struct sk_past past;
};
enum { SK_LINK_TEXT_MAX = 512 + 3 * SK_LINK_KEY_FILE_MAX };

/* Printable text without spaces, quotes or semicolons: launchers pass it on in many ways. */
void sk_link_settings_print(const struct sk_link_settings *s, char out[SK_LINK_TEXT_MAX]);
/* SAIKAI_EFORMAT when the text is none of ours; then *s is untouched. */
int sk_link_settings_parse(const char *text, struct sk_link_settings *s, struct saikai_error *err);

#endif
