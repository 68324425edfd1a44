-- cli_filter.lua, optional: users of sbatch, salloc and srun name a mate without words in their comments, by the variable
-- COSCHED_PAIR=NAME, or by --pair=NAME with cosched-spank.so. It goes beside slurm.conf, with CliFilterPlugins=lua.
--
-- A site with its own cli_filter.lua puts `dofile("/etc/slurm/cosched/cli_filter.lua")` at its top, and
-- `cosched_pair(options)` into its own slurm_cli_pre_submit.

-- A job passes the variable on to what it starts: its steps, and jobs that it submits, are in no pair by that.
function cosched_pair(options)
    local pair = os.getenv("COSCHED_PAIR")
    if pair == nil or pair == "" or os.getenv("SLURM_JOB_ID") ~= nil then
        return
    end
    local comment = options["comment"]
    local word = "cosched:pair=" .. pair
    if comment == nil or comment == "" then
        options["comment"] = word
    elseif not (" " .. comment .. " "):find(" " .. word .. " ", 1, true) then
        options["comment"] = comment .. " " .. word
    end
end

function slurm_cli_setup_defaults(options, early)
    return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
    local fine, fault = pcall(cosched_pair, options)
    if not fine then
        slurm.log_error("cosched: cli_filter.lua: %s", tostring(fault))
    end
    return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job, step)
    return slurm.SUCCESS
end
