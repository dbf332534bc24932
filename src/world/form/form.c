/* The table of the forms of repair. */
#include "world/form/form.h"

#include "world/comms/members.h"

#include <stddef.h>

static const struct sk_repair_ops *const forms[] = {&sk_repair_group, &sk_repair_ulfm};
static const struct sk_repair_ops *chosen;

const struct sk_repair_ops *sk_form_choose(int unnoticed)
{
    for (size_t i = 0; !chosen && i < sizeof forms / sizeof *forms; i++)
        if (forms[i]->is_offered(unnoticed))
            chosen = forms[i];
    return chosen;
}

const struct sk_repair_ops *sk_form(void)
{
    return chosen;
}

int sk_form_is_death(int error)
{
    int class = MPI_SUCCESS;
    if (!error || SK_CALL(Error_class, (error, &class)))
        return 0;
    return class == SK_FORM_PROC_FAILED || class == SK_FORM_PROC_FAILED_PENDING || class == SK_FORM_REVOKED;
}

int sk_form_meet(MPI_Comm comm)
{
    return (chosen ? chosen : &sk_repair_group)->meet(comm); /* an MPI that takes no notice of a death, as far as is known */
}

int sk_form_guard(MPI_Comm comm)
{
    return chosen ? chosen->guard(comm) : 0;
}

int sk_form_set_errors(MPI_Comm comm, MPI_Errhandler errors)
{
    return chosen ? chosen->set_errors(comm, errors) : SK_CALL(Comm_set_errhandler, (sk_asked(comm), errors));
}

int sk_form_get_errors(MPI_Comm comm, MPI_Errhandler *errors)
{
    return chosen ? chosen->get_errors(comm, errors) : SK_CALL(Comm_get_errhandler, (sk_asked(comm), errors));
}

int sk_form_making_tag(int number)
{
    enum { HARDLY_USED = 20061 };
    int *most = NULL, is_set = 0;
    if (SK_CALL(Comm_get_attr, (MPI_COMM_WORLD, MPI_TAG_UB, &most, &is_set)) || !is_set || *most < sk_wire_making(number))
        return HARDLY_USED + number;
    return sk_wire_making(number);
}
