/* saikaicc, saikaicxx, saikaifort: one program, by the name that it is called by. */
#include "directive/driver.h"

int main(int argc, char **argv)
{
    return sk_driver_main(argc, argv);
}
