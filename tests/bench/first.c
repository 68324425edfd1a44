/* The interpreter of a batch script "#!FIRST NAME SECONDS NOTES": notes job, name and time as its first act, and sleeps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    struct timespec now;
    char name[64], notes[4096];
    double seconds;
    clock_gettime(CLOCK_REALTIME, &now);
    if (count < 2 || sscanf(arguments[1], "%63s %lf %4095s", name, &seconds, notes) != 3)
        return 2;
    FILE *file = fopen(notes, "a");
    if (file == NULL)
        return 1;
    const char *job = getenv("SLURM_JOB_ID");
    if (job == NULL)
        job = getenv("PBS_JOBID");
    if (job == NULL)
        return 3;
    fprintf(file, "%.*s %s %lld.%06ld\n", (int)strcspn(job, "."), job, name, (long long)now.tv_sec, now.tv_nsec / 1000);
    fclose(file);
    usleep(seconds * 1e6);
    return 0;
}
