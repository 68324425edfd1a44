-- job_submit.lua, optional: tells users at submission what is wrong with "cosched:" in their comment.
--
-- A site with its own job_submit.lua puts `dofile("/etc/slurm/cosched/job_submit.lua")` at its top and, into its own
-- slurm_job_submit, `if cosched_submit(job) ~= slurm.SUCCESS then return slurm.ERROR end`.

local FORM = "cosched:mate=DOMAIN/JOBID, cosched:pair=NAME or cosched:group=NAME@DOMAIN+DOMAIN"
local OR_ALONE = "cosched:or-alone" -- an additional word
local WINDOW = "cosched:window=" -- words beside a group
local AT = "cosched:at="
local ADOPTABLE = "cosched:adoptable" -- a word of a comment that names no mate
local NAMES = "NAME is 1 to 128 of A-Z a-z 0-9 and _ . : , + = @ / -"
local COMPONENTS = 0xfffffff0 -- het_job_offset of a job that is not heterogeneous is above this
local first = "" -- the words of the last job, or first component, which Slurm passes right before the other components

-- At most 128 characters of UTF-8.
local function is_name(text)
    local _, characters = text:gsub("[^\128-\191]", "")
    return characters <= 128
end

local function is_mate(link)
    local domain, id = link:match("^mate=([%w_.%-]+)/(.+)$")
    return domain ~= nil and #domain <= 64 and is_name(id)
end

local function is_pair(link)
    local name = link:match("^pair=(.+)$")
    return name ~= nil and #name <= 128 and name:match("^[A-Za-z0-9_.:,+=@/%-]+$") ~= nil
end

local MOST = 15 -- other members of a group

-- Returns what is wrong with a group, or nil. A group of one other domain is a pair.
local function wrong_group(link)
    local name, domains = link:match("^group=(.+)@([^@]*)$")
    if name == nil or not is_pair("pair=" .. name) then
        return "cosched:group= has no NAME@DOMAIN+DOMAIN; " .. NAMES
    end
    local seen, count = {}, 0
    for domain in (domains .. "+"):gmatch("([^+]*)%+") do
        if not domain:match("^[%w_.%-]+$") or #domain > 64 then
            return "cosched:group= names the domains of the other members after @, with + between them"
        end
        if seen[domain] then
            return "cosched:group= names " .. domain .. " twice: a group has one job on each domain"
        end
        seen[domain], count = true, count + 1
    end
    if count > MOST then
        return "cosched:group= names too many domains: a group has at most 16 members, with the job itself"
    end
    if count > 1 and (name:match("^%d+$") or name:match(":%d+$")) then
        return "cosched:group= has a name that ends in a number alone, which is taken for a job: add a letter"
    end
    return nil
end

-- Returns whether a word says what the job does when others end, or are queued again.
local function is_term(word)
    return word:match("^cosched:ends%-with=[%w_.+%-]+$") ~= nil
        or word == "cosched:fail-together"
        or word == "cosched:if-requeued=continue"
        or word == "cosched:if-requeued=requeue"
        or word == "cosched:if-requeued=end"
        or word:match("^cosched:together%-for=%d+[smhdw]?$") ~= nil
end

-- Returns whether a word says when a group starts.
local function is_start(word)
    return word:sub(1, #WINDOW) == WINDOW or word:sub(1, #AT) == AT
end

-- Returns what is wrong with such a word, or nil.
local function wrong_start(word)
    local time = "[+-]?%d+[smhdw]?"
    local window = "^cosched:window=[%w_.%-]+:" .. time
    if word:match(window .. "$") or word:match(window .. "%.%." .. time .. "$") then
        return nil
    end
    if word:match("^cosched:at=%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d[%d:Z+-]*$") then
        return nil
    end
    return "not of the form cosched:window=DOMAIN:0..10m, or cosched:at=2026-11-23T18:00"
end

-- Returns what is wrong with a comment, or nil. Words are separated by white space; other words do not matter.
local function mistake(comment)
    local links = 0
    local starts, in_group, adoptable, term = false, false, false, nil
    for word in comment:gmatch("%S+") do
        if word == OR_ALONE then
            term = term or word
        elseif word == ADOPTABLE then
            adoptable = true
        elseif is_term(word) then
            term = word
        elseif is_start(word) then
            if wrong_start(word) then
                return wrong_start(word)
            end
            starts = true
        elseif word:find("cosched:", 1, true) then
            local link = word:match("^cosched:(.*)$")
            local group = link ~= nil and link:find("^group=") ~= nil
            if group and wrong_group(link) then
                return wrong_group(link)
            end
            if link == nil or word:find("%c") or not (group or is_mate(link) or is_pair(link)) then
                return "not of the form " .. FORM .. ", a word by itself (beside it " .. OR_ALONE .. "); " .. NAMES
            end
            in_group = in_group or group
            links = links + 1
        end
    end
    if links > 1 then
        return "a job has one mate: " .. FORM .. " must be there once"
    end
    if starts and not in_group then
        return "cosched:window= and cosched:at= have no effect without cosched:group=NAME@DOMAIN+DOMAIN"
    end
    if adoptable and links > 0 then
        return ADOPTABLE .. " is for a job that names nobody: leave it out, or the mate"
    end
    if term and links == 0 then
        return term .. " has no effect without a mate: " .. FORM
    end
    return nil
end

-- Returns whether a job is a component of a heterogeneous job, and not the first one.
local function is_part(job)
    local offset = job.het_job_offset or COMPONENTS
    return 0 < offset and offset < COMPONENTS
end

-- Returns the words of a comment that are for cosched.
local function words_of(comment)
    local words = {}
    for word in (" " .. comment):gmatch("%s(cosched:%S+)") do
        words[#words + 1] = word
    end
    return table.concat(words, " ")
end

-- Returns why a job of this kind cannot have a mate, or nil.
local function hindrance(job)
    local comment = " " .. (job.comment or "")
    if job.array_inx ~= nil and (comment:find("%scosched:mate=") or comment:find("%s" .. ADOPTABLE)) then
        return "a job array names its tasks' mates by pair=NAME, those of the same numbers in another array, and no single job"
    end
    if is_part(job) and words_of(comment) ~= first then
        return "a heterogeneous job names its mate in its first component's comment; those of the others name the same or none"
    end
    return nil
end

-- Returns why a job of this kind cannot yield, or nil: Slurm would cancel it.
local function holds_only(job)
    if job.script == nil then
        return "salloc and srun"
    end
    if job.requeue == 0 then
        return "--no-requeue"
    end
    return nil
end

local function check(job)
    local comment = job.comment
    if not is_part(job) then
        first = words_of(comment or "")
    end
    if type(comment) ~= "string" or not comment:find("cosched:", 1, true) then
        return slurm.SUCCESS
    end
    local reason = mistake(comment) or hindrance(job)
    if reason then
        slurm.log_user("comment: %s", reason)
        return slurm.ERROR
    end
    local kind = holds_only(job)
    if kind then
        slurm.log_user("with %s this job can only wait for its mate on its nodes; it cannot yield", kind)
    end
    return slurm.SUCCESS
end

-- A fault in here must not refuse anybody's job.
function cosched_submit(job)
    local fine, outcome = pcall(check, job)
    if not fine then
        slurm.log_error("cosched: job_submit.lua: %s", tostring(outcome))
        return slurm.SUCCESS
    end
    return outcome
end

function slurm_job_submit(job, partitions, uid)
    return cosched_submit(job)
end

function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
