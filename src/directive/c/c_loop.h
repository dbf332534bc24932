/* The loop that a directive enables, and what must survive for it to go on. */
#ifndef SK_DIRECTIVE_C_LOOP_H
#define SK_DIRECTIVE_C_LOOP_H

#include "directive/c/c_file.h"

/* A loop behind `enable`, in tokens. */
struct c_loop {
    size_t keyword, open, close; /* its first word; the parentheses of its condition or head */
    size_t semicolon[2];         /* for: in its head */
    size_t body, body_end, end;  /* braces of its body; its last token */
    char kind;                   /* 'f', 'w', 'd' */
    size_t place[64];            /* the lines `ckpt` */
    int places;
};

/* The loop behind token i, a directive. 0, or -1. */
int sk_c_find_loop(struct c_file *f, size_t i, struct c_loop *l);
/* What must survive beside the list: variables of the head are added to d; what cannot be seen to survive is refused. 0, or -1. */
int sk_c_check_loop(struct c_file *f, const struct c_loop *l, struct directive *d);

#endif
