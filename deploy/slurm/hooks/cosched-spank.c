/*
 * cosched-spank: gives sbatch, salloc and srun the option --pair=NAME. cli_filter.lua, beside this file, writes it into
 * the job's comment. Build it on a host with Slurm's headers, once for each version of Slurm:
 *
 *     cc -O2 -shared -fPIC -o cosched-spank.so cosched-spank.c
 *
 * Without the headers, -DSLURM_VERSION_NUMBER=0x160508 says that it is for Slurm 22.05.8 (two digits for each part).
 */

#include <stdlib.h>

#ifndef SLURM_VERSION_NUMBER
#include <slurm/slurm_version.h>
#endif

/* As in slurm/spank.h. */
struct spank_option {
    char *name, *arginfo, *usage;
    int has_arg, val;
    int (*cb)(int val, const char *value, int remote);
};
int spank_option_register(void *spank, struct spank_option *option);
const char plugin_name[] = "cosched";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

/* Slurm calls this in the user's command, before cli_filter.lua; and on nodes, where there is nothing to do. */
static int take(int val, const char *value, int remote)
{
    (void)val;
    return remote ? 0 : setenv("COSCHED_PAIR", value, 1);
}

int slurm_spank_init(void *spank, int count, char *values[])
{
    static struct spank_option pair = {
        "pair", "NAME", "start with the job of another cluster that has this name (cosched)", 1, 0, take,
    };
    (void)count, (void)values;
    return spank_option_register(spank, &pair);
}
