/*
 * Preloaded into a service: while the file named by BROKEN_DISK exists, nothing can be brought to disk, as with a disk
 * that fails: fsync and fdatasync say EIO. What was written stays readable, as the kernel leaves it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int synchronised(const char *name, int file)
{
    const char *broken = getenv("BROKEN_DISK");
    if (broken && !access(broken, F_OK)) {
        errno = EIO;
        return -1;
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return real(file);
}

int fsync(int file)
{
    return synchronised("fsync", file);
}

int fdatasync(int file)
{
    return synchronised("fdatasync", file);
}
