/*
 * Preloaded into a service: while the file named by BROKEN_DISK exists, nothing can be brought to disk, as with a disk
 * that fails: fsync and fdatasync say EIO. What was written stays readable, as the kernel leaves it.
 *
 * The file named by FAILING_DATABASE has "w" in it while writes to the database and its log say EIO, and "s" while
 * these two cannot be brought to disk.
 *
 * While the file named by SLOW_DISK exists, all threads but the first wait whenever they bring something to disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_of_database(int file)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    const char *name = strrchr(path, '/');
    return name && (!strcmp(name, "/state.db") || !strcmp(name, "/state.db-wal"));
}

static int fails(int file, char how)
{
    const char *told = getenv("FAILING_DATABASE");
    int control = told ? open(told, O_RDONLY | O_CLOEXEC) : -1, found = 0;
    if (control >= 0) {
        char words[8];
        ssize_t length = read(control, words, sizeof words);
        found = length > 0 && memchr(words, how, length) && is_of_database(file);
        close(control);
    }
    if (found)
        errno = EIO;
    return found;
}

static int synchronised(const char *name, int file)
{
    const char *broken = getenv("BROKEN_DISK");
    if (broken && !access(broken, F_OK)) {
        errno = EIO;
        return -1;
    }
    if (fails(file, 's'))
        return -1;
    const char *slow = getenv("SLOW_DISK");
    while (slow && gettid() != getpid() && !access(slow, F_OK))
        usleep(10000);
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

static ssize_t written(const char *name, int file, const void *data, size_t length, off64_t at)
{
    if (fails(file, 'w'))
        return -1;
    ssize_t (*real)(int, const void *, size_t, off64_t) =
        (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, name);
    return real(file, data, length, at);
}

ssize_t pwrite(int file, const void *data, size_t length, off_t at)
{
    return written("pwrite", file, data, length, at);
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t at)
{
    return written("pwrite64", file, data, length, at);
}
