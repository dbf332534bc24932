/* For tests: nothing is left open. The first call counts the process's open files, later ones find as many. In between the number 0
 * is as good as any other: a program may have been started without an input. */
#ifndef SK_BASE_HOST_OPEN_FILES_TESTING_H
#define SK_BASE_HOST_OPEN_FILES_TESTING_H

#include <dirent.h>
#include <unistd.h>

__attribute__((unused)) static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static int open_files_before;

/* As the first test of a program, and as the last one. */
__attribute__((unused)) static void remember_open_files(void **state)
{
    (void)state;
    close(0);
    open_files_before = open_files();
}

__attribute__((unused)) static void no_file_is_left_open(void **state)
{
    (void)state;
    assert_int_equal(open_files(), open_files_before);
}

#endif
