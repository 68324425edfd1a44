/*
 * cosched-hook prolog|starting|gate|ended CONFIGURATION
 *
 * Slurm's hooks call this program when a job concerns cosched. It talks to the service over a Unix stream socket, in
 * lines "verb TAB key=value TAB ... LF" whose values are percent-encoded.
 *
 *   prolog    (PrologSlurmctld) offers the job and waits for the answer. Status 1: the job yields. All others: it starts.
 *   starting  (PrologSlurmctld) says that the job starts, if `prolog` has ended before it could. Status 0.
 *   gate      (TaskProlog) prints the variables by which the job finds its mates, as Slurm takes them for its task:
 *             "export NAME=VALUE". Waits for the instant at which the job's mate starts too. Status always 0.
 *   ended     (jobcomp/script) says that a job has ended. Status always 0.
 *
 * Without the service jobs start: no wait for an answer is endless.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_MOST = 8192,          /* bytes of a line without its LF */
    CONFIGURATION_MOST = 4096, /* bytes of the configuration file */
    GATE_MOST = 4095,          /* bytes of a gate's file that are read */
    EXPORT_MOST = 4000         /* bytes that are printed of a variable: Slurm reads 4095 at once */
};
enum { START = 0, YIELD = 1 }; /* exit statuses */

static const int64_t MS = 1000000; /* nanoseconds */
static const int64_t SECOND = 1000000000;
static const int64_t PAUSE = 200000000;            /* between two tries to reach the service */
static const int64_t ANSWER_WITHIN = 2000000000;   /* a live service answers within this time */
static const int64_t STEADY = 1000000000;          /* after being parked for this long: the service works, and patience begins again */
static const int64_t AHEAD_MOST = 10000000000;     /* an instant further ahead is a mistake: go at once */
static const int64_t GATE_PATIENCE = 500000000;
static const int64_t ENDED_PATIENCE = 500000000;
static const int64_t STARTING_PATIENCE = 500000000;
static const int STILL_THERE = 3; /* times the patience: how often a hook that waits asks whether the service lives */
static const unsigned DISK_SECONDS = 2; /* for one message, or one note of a job that waits */

/* --- the configuration ------------------------------------------------------------------------------------------ */

static struct {
    char text[CONFIGURATION_MOST + 1];
    const char *socket;  /* path of the service's socket */
    const char *gates;   /* folder of the gates' files; NULL: there is none */
    const char *waiting; /* folder with a note for each job that waits; NULL: there is none */
    const char *log;     /* file for messages; NULL: syslog */
    int64_t patience;    /* nanoseconds for which a job waits without the service before it starts */
} configuration = {.socket = "/run/cosched/hooks.sock", .patience = 10000000000};

static const char *job_id = "?"; /* for messages */
static bool silent;              /* a user's process logs nothing */

/* Write a line to the log file; false if it cannot be written. */
static bool write_log(const char *message)
{
    char when[32] = "", text[640];
    time_t seconds = time(NULL);
    struct tm parts;
    int file = open(configuration.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        return false;
    if (gmtime_r(&seconds, &parts))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    int length = snprintf(text, sizeof text, "%s cosched-hook: job %.20s: %s\n", when, job_id, message);
    bool written = length > 0 && write(file, text, (size_t)length) == length;
    close(file);
    return written;
}

/* Log a message, to the file or syslog. If that hangs, SIGALRM ends this process, which starts the job. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char message[512];
    va_list arguments;
    if (silent)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    alarm(DISK_SECONDS);
    if (!configuration.log || !write_log(message))
        syslog(LOG_DAEMON | LOG_WARNING, "job %.20s: %s", job_id, message);
    alarm(0);
}

/* Return the number at *text, and move *text behind it; -1 without digits or with more than 12 of them. */
static int64_t digits(const char **text)
{
    int64_t number = 0;
    int count = 0;
    for (; **text >= '0' && **text <= '9'; ++*text, ++count)
        if (count < 12)
            number = 10 * number + (**text - '0');
    return count >= 1 && count <= 12 ? number : -1;
}

static void set_folder(const char **folder, const char *key, const char *value)
{
    if (*value == '/')
        *folder = value;
    else
        say("%s=%s in the configuration is not an absolute path", key, value);
}

static void set(const char *key, const char *value)
{
    if (!strcmp(key, "socket"))
        configuration.socket = value;
    else if (!strcmp(key, "log"))
        configuration.log = value;
    else if (!strcmp(key, "gates"))
        set_folder(&configuration.gates, key, value);
    else if (!strcmp(key, "waiting"))
        set_folder(&configuration.waiting, key, value);
    else if (!strcmp(key, "patience")) {
        const char *end = value;
        int64_t seconds = digits(&end);
        if (seconds >= 1 && seconds <= 3600 && *end == '\0')
            configuration.patience = seconds * SECOND;
        else
            say("patience=%s in the configuration is not 1 to 3600 seconds", value);
    } else
        say("%s in the configuration is unknown", key);
}

/* Parse lines "key=value"; ignore empty lines and those that begin with #. */
static void read_lines(char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *equals = strchr(line, '=');
        if (*line == '#')
            continue;
        if (equals)
            *equals = '\0';
        set(line, equals ? equals + 1 : "");
    }
}

/* Read the configuration; defaults replace missing settings, or all if the file cannot be read. */
static void configure(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, configuration.text, CONFIGURATION_MOST);
    if (length < 0)
        say("%s: %s", path, strerror(errno));
    else
        read_lines(configuration.text);
    if (file >= 0)
        close(file);
}

/* --- time -------------------------------------------------------------------------------------------------------- */

static int64_t now(clockid_t clock)
{
    struct timespec time;
    return clock_gettime(clock, &time) ? 0 : time.tv_sec * SECOND + time.tv_nsec;
}

static void sleep_until(clockid_t clock, int64_t instant)
{
    struct timespec time = {.tv_sec = instant / SECOND, .tv_nsec = instant % SECOND};
    while (clock_nanosleep(clock, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
}

static void pause_a_little(int64_t nanoseconds)
{
    sleep_until(CLOCK_MONOTONIC, now(CLOCK_MONOTONIC) + nanoseconds);
}

/* Return the instant in "SECONDS.NANOS", in nanoseconds; -1 if there is none. */
static int64_t instant_in(const char *text)
{
    int64_t seconds = digits(&text);
    if (seconds < 0 || *text++ != '.')
        return -1;
    const char *fraction = text;
    int64_t nanos = digits(&text);
    if (nanos < 0 || text - fraction > 9 || *text != '\0' || seconds > INT64_MAX / SECOND - 1)
        return -1;
    for (long i = text - fraction; i < 9; i++)
        nanos *= 10;
    return seconds * SECOND + nanos;
}

static void wait_for_instant(int64_t instant)
{
    int64_t ahead = instant - now(CLOCK_REALTIME);
    if (ahead > AHEAD_MOST)
        say("told to start %lld s ahead, starts at once", (long long)(ahead / SECOND));
    else if (ahead > 0) {
        alarm((unsigned)(ahead / SECOND) + 2); /* if somebody sets the clock back, SIGALRM ends this process */
        sleep_until(CLOCK_REALTIME, instant);
    }
}

/* --- the line to send -------------------------------------------------------------------------------------------- */

static struct {
    char text[LINE_MOST + 1]; /* with its LF, without a NUL */
    size_t length;
} line;

static void put(char byte)
{
    line.text[line.length++] = byte;
}

/* Begin the line. */
static void verb(const char *word)
{
    line.length = 0;
    for (; *word; word++)
        put(*word);
}

static bool plain(char byte)
{
    return byte > ' ' && byte < 0x7f && byte != '%' && byte != '=';
}

static size_t encoded_length(const char *value)
{
    size_t length = 0;
    for (; *value; value++)
        length += plain(*value) ? 1 : 3;
    return length;
}

static void put_encoded(char byte)
{
    static const char hexadecimal[] = "0123456789ABCDEF";
    put('%');
    put(hexadecimal[(unsigned char)byte >> 4]);
    put(hexadecimal[(unsigned char)byte & 15]);
}

/* Add a field; if it does not fit, leave it out and log that. */
static void field(const char *key, const char *value)
{
    if (line.length + strlen(key) + encoded_length(value) + 2 > LINE_MOST) {
        say("%s is left out: it has %zu bytes", key, strlen(value));
        return;
    }
    put('\t');
    for (; *key; key++)
        put(*key);
    put('=');
    for (; *value; value++)
        if (plain(*value))
            put(*value);
        else
            put_encoded(*value);
}

/* Add a field with the value of an environment variable, if that is set. */
static void variable(const char *key, const char *name)
{
    const char *value = getenv(name);
    if (value)
        field(key, value);
}

/* Add a field with two variables, if both are set. */
static void two_variables(const char *key, const char *first, char between, const char *second)
{
    char both[64];
    const char *one = getenv(first), *two = getenv(second);
    if (one && two && snprintf(both, sizeof both, "%s%c%s", one, between, two) < (int)sizeof both)
        field(key, both);
}

/* --- the connection ---------------------------------------------------------------------------------------------- */

static struct {
    int file;                 /* -1: none */
    char text[LINE_MOST + 1]; /* received, and not read yet */
    size_t length;
} service = {.file = -1};

static void hang_up(void)
{
    if (service.file >= 0)
        close(service.file);
    service.file = -1;
    service.length = 0;
}

/* Wait until the connection can be read or written; false if it cannot be before the deadline. */
static bool wait_until(short event, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - now(CLOCK_MONOTONIC);
        if (left <= 0)
            return false;
        struct pollfd poll_for = {.fd = service.file, .events = event};
        int ready = poll(&poll_for, 1, (int)((left + MS - 1) / MS));
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

/* Connect before the deadline. A service that is slow to accept has a queue, which others may keep full: the kernel
 * lets those in first who have waited in it longest, and nobody who only looks now and then. */
static bool dial(int64_t deadline)
{
    int64_t left = deadline - now(CLOCK_MONOTONIC);
    struct timeval patience = {.tv_sec = left / SECOND, .tv_usec = left % SECOND / 1000};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(configuration.socket);
    if (length >= sizeof address.sun_path || left < MS)
        return false;
    memcpy(address.sun_path, configuration.socket, length);
    hang_up();
    service.file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (service.file < 0)
        return false;
    if (!setsockopt(service.file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) &&
        !connect(service.file, (struct sockaddr *)&address, sizeof address) &&
        !fcntl(service.file, F_SETFL, O_NONBLOCK))
        return true;
    hang_up();
    return false;
}

/* Send the line, with its LF. */
static bool send_line(int64_t deadline)
{
    put('\n');
    size_t sent = 0;
    while (sent < line.length) {
        ssize_t count = send(service.file, line.text + sent, line.length - sent, MSG_NOSIGNAL);
        if (count >= 0)
            sent += (size_t)count;
        else if (errno == EAGAIN ? !wait_until(POLLOUT, deadline) : errno != EINTR)
            break;
    }
    line.length--; /* the LF, for the next time */
    return sent > line.length;
}

/* Decode a value in place: %0A is a line feed. */
static void decode(char *value)
{
    char *to = value;
    unsigned byte;
    for (; *value; ++value, ++to)
        if (*value == '%' && sscanf(value + 1, "%2x", &byte) == 1) {
            *to = (char)byte;
            value += 2;
        } else {
            *to = *value;
        }
    *to = '\0';
}

/* Print "NAME=VALUE" for Slurm, which sets it in the task's environment, if the name is one of ours, COSCHED_..., and
 * the value one line. */
static void export_variable(const char *assignment)
{
    char text[EXPORT_MOST + 1];
    size_t name = strspn(assignment, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    if (strncmp(assignment, "COSCHED_", 8) || assignment[name] != '=')
        return;
    for (const char *each = assignment; *each; each++)
        if ((unsigned char)*each < ' ' || *each == 0x7f)
            return;
    int length = snprintf(text, sizeof text, "export %s\n", assignment);
    if (length > 0 && length < (int)sizeof text && write(STDOUT_FILENO, text, (size_t)length) < 0)
        return; /* nobody reads it */
}

enum answer { SILENCE, BROKEN, PARKED, TOLD_START, TOLD_YIELD, TOLD_OPEN };

/* Return a line's meaning. If it names an instant, store it in *instant. Variables for tasks are printed. */
static enum answer meaning(char *text, int64_t *instant)
{
    static const struct {
        const char *verb;
        enum answer answer;
    } known[] = {{"parked", PARKED}, {"start", TOLD_START}, {"yield", TOLD_YIELD}, {"open", TOLD_OPEN}};
    char *rest = NULL;
    text = strtok_r(text, "\t", &rest);
    for (char *field = text; text && (field = strtok_r(NULL, "\t", &rest));) {
        if (silent && !strncmp(field, "COSCHED_", 8)) {
            decode(field);
            export_variable(field);
        } else if (strncmp(field, "at=", 3) || (*instant = instant_in(field + 3)) < 0) {
            return BROKEN;
        }
    }
    for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
        if (!strcmp(text, known[i].verb))
            return known[i].answer;
    return BROKEN;
}

/* Read more from the service; false at the connection's end. */
static bool receive(void)
{
    ssize_t count = recv(service.file, service.text + service.length, sizeof service.text - service.length, 0);
    if (count > 0)
        service.length += (size_t)count;
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Return the meaning of the service's next line; SILENCE if none comes before the deadline; BROKEN if the connection
 * ends, or if the line does not follow the protocol. */
static enum answer listen_until(int64_t deadline, int64_t *instant)
{
    char *end;
    while (!(end = memchr(service.text, '\n', service.length))) {
        if (service.length == sizeof service.text)
            return BROKEN;
        if (!wait_until(POLLIN, deadline))
            return SILENCE;
        if (!receive())
            return BROKEN;
    }
    *end++ = '\0';
    enum answer answer = meaning(service.text, instant);
    service.length -= (size_t)(end - service.text);
    memmove(service.text, end, service.length);
    return answer;
}

/* --- prolog ------------------------------------------------------------------------------------------------------ */

/* Make the path of this job's file in a folder; false if there is no folder or no job. */
static bool job_file(char *path, size_t size, const char *folder)
{
    const char *end = job_id;
    if (!folder || digits(&end) < 1 || *end != '\0')
        return false;
    return snprintf(path, size, "%s/%s", folder, job_id) < (int)size;
}

/* Note on disk that this job waits, and how often it was requeued. The note stays if this process is killed. So a
 * service that did not run then can tell the job from one that was started, though Slurm shows both as running. */
static void note_waiting(void)
{
    char path[PATH_MAX], text[64];
    const char *restarts = getenv("SLURM_JOB_RESTART_COUNT");
    if (!job_file(path, sizeof path, configuration.waiting))
        return;
    int length = snprintf(text, sizeof text, "restarts=%.12s\n", restarts ? restarts : "0");
    alarm(DISK_SECONDS);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (file < 0 || write(file, text, (size_t)length) != length)
        say("%s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    alarm(0);
}

/* Remove the note: the job starts. After a yield the note stays without meaning, as the job is then requeued. */
static void note_starting(void)
{
    char path[PATH_MAX];
    if (!job_file(path, sizeof path, configuration.waiting))
        return;
    alarm(DISK_SECONDS);
    if (unlink(path) && errno != ENOENT)
        say("%s: %s", path, strerror(errno));
    alarm(0);
}

static void say_ready(void)
{
    verb("ready");
    variable("job", "SLURM_JOB_ID");
    variable("nodes", "SLURM_JOB_NUM_NODES");
    variable("restarts", "SLURM_JOB_RESTART_COUNT");
    field("farewell", "1");
    variable("uid", "SLURM_JOB_UID");
    variable("comment", "SLURM_JOB_COMMENT");
    variable("user", "SLURM_JOB_USER");
    if (getenv("SLURM_JOB_STDIN"))
        field("batch", "1"); /* Slurm sets it only for batch jobs */
    two_variables("array", "SLURM_ARRAY_JOB_ID", '_', "SLURM_ARRAY_TASK_ID");
    two_variables("het", "SLURM_HET_JOB_ID", '+', "SLURM_HET_JOB_OFFSET");
    variable("nodelist", "SLURM_JOB_NODELIST");
    variable("name", "SLURM_JOB_NAME");
}

/* Listen while the service is there: SILENCE when our patience is over, BROKEN if it has gone or breaks the protocol. */
static enum answer parked(int64_t *instant)
{
    for (;;) {
        enum answer answer = listen_until(now(CLOCK_MONOTONIC) + STILL_THERE * configuration.patience, instant);
        if (answer == PARKED)
            continue;
        if (answer != SILENCE)
            return answer;
        verb("waiting");
        int64_t deadline = now(CLOCK_MONOTONIC) + configuration.patience;
        if (!send_line(deadline))
            return BROKEN;
        answer = listen_until(deadline, instant);
        if (answer != PARKED)
            return answer;
    }
}

/* Offer the job on a new connection and wait. If a service goes after it worked for a while, put off *deadline. */
static enum answer offer(int64_t *deadline, int64_t *instant)
{
    int64_t soon = now(CLOCK_MONOTONIC) + ANSWER_WITHIN;
    if (soon > *deadline)
        soon = *deadline;
    if (!dial(soon))
        return BROKEN;
    say_ready();
    enum answer answer = send_line(soon) ? listen_until(soon, instant) : BROKEN;
    if (answer != PARKED)
        return answer;
    int64_t since = now(CLOCK_MONOTONIC);
    answer = parked(instant);
    if (answer == BROKEN && now(CLOCK_MONOTONIC) - since >= STEADY)
        *deadline = now(CLOCK_MONOTONIC) + configuration.patience;
    return answer;
}

/* Say that the job starts: a hook that hangs up without this was killed. Newer Slurms kill hooks when slurmctld ends,
 * and count their jobs as started although they never start them. */
static int starting(void)
{
    note_starting();
    verb("starting");
    variable("job", "SLURM_JOB_ID");
    variable("restarts", "SLURM_JOB_RESTART_COUNT");
    int64_t deadline = now(CLOCK_MONOTONIC) + STARTING_PATIENCE;
    bool said = service.file >= 0 && send_line(deadline);
    if (!said && dial(deadline)) /* the service may have been restarted meanwhile */
        send_line(deadline);
    return START;
}

static int prolog(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* an offer must not outlive the script that Slurm waits for */
    note_waiting();
    int64_t deadline = now(CLOCK_MONOTONIC) + configuration.patience;
    do {
        int64_t instant = 0;
        switch (offer(&deadline, &instant)) {
        case TOLD_START:
            wait_for_instant(instant);
            return starting();
        case TOLD_YIELD:
            return YIELD;
        default: /* nobody is there, or breaks the protocol */
            hang_up();
            pause_a_little(PAUSE);
        }
    } while (now(CLOCK_MONOTONIC) < deadline);
    say("no service at %s for %lld s, starts without it", configuration.socket,
        (long long)(configuration.patience / SECOND));
    return starting();
}

/* --- gate, ended ------------------------------------------------------------------------------------------------- */

/* Return when the service lets the job begin; 0 if it is not on this host, does not answer, or knows no instant. */
static int64_t instant_by_service(void)
{
    int64_t instant = 0;
    int64_t deadline = now(CLOCK_MONOTONIC) + GATE_PATIENCE;
    if (!dial(deadline))
        return 0;
    verb("gate");
    variable("job", "SLURM_JOB_ID");
    variable("step", "SLURM_STEP_ID");
    field("finding", "1");
    return send_line(deadline) && listen_until(deadline, &instant) == TOLD_OPEN ? instant : 0;
}

/* Return the value of the line "at=" in a gate's file; -1 if there is none. Print its variables for tasks. Other lines
 * are for later versions. */
static int64_t instant_in_lines(char *text)
{
    char *rest = NULL;
    int64_t instant = -1;
    for (char *each = strtok_r(text, "\n", &rest); each; each = strtok_r(NULL, "\n", &rest))
        if (!strncmp(each, "at=", 3))
            instant = instant_in(each + 3);
        else
            export_variable(each);
    return instant;
}

/* Return the instant in a gate's file; -1 without one. Do not follow a link, and do not wait for a pipe. */
static int64_t instant_in_file(const char *path)
{
    char text[GATE_MOST + 1];
    struct stat about;
    ssize_t length = -1;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return -1;
    if (!fstat(file, &about) && S_ISREG(about.st_mode))
        length = read(file, text, GATE_MOST);
    close(file);
    if (length < 0)
        return -1;
    text[length] = '\0';
    return instant_in_lines(text);
}

/* The same by the folder that all nodes see, where the service writes a file for each job that starts at an instant.
 * We do not check the file's owner: the folder's mode decides who may write there (only the service, as "cosched
 * doctor" checks), NFS may show root's files as another user's, and a false file can only delay tasks by AHEAD_MOST,
 * and name wrong mates.
 * If the file server hangs, SIGALRM ends this process, which lets the task begin. */
static int64_t instant_by_folder(void)
{
    const struct itimerval patience = {.it_value = {.tv_usec = GATE_PATIENCE / 1000}}, none = {0};
    char path[PATH_MAX];
    if (!job_file(path, sizeof path, configuration.gates))
        return -1;
    setitimer(ITIMER_REAL, &patience, NULL);
    int64_t instant = instant_in_file(path);
    setitimer(ITIMER_REAL, &none, NULL);
    return instant;
}

static int gate(void)
{
    int64_t instant = instant_by_service();
    wait_for_instant(instant > 0 ? instant : instant_by_folder());
    return 0;
}

static int ended(void)
{
    int64_t deadline = now(CLOCK_MONOTONIC) + ENDED_PATIENCE;
    verb("ended");
    variable("job", "JOBID");
    variable("state", "JOBSTATE");
    variable("exit", "EXITCODE");
    variable("submitted", "SUBMIT");
    variable("start", "START");
    variable("end", "END");
    const char *array = getenv("ARRAYJOBID");
    if (array && strcmp(array, "0"))
        two_variables("array", "ARRAYJOBID", '_', "ARRAYTASKID");
    two_variables("het", "HETJOBID", '+', "HETJOBOFFSET");
    if (dial(deadline))
        send_line(deadline);
    return 0; /* also if nobody is there to be told */
}

/* Slurm's daemons block and ignore signals, which their children inherit. */
static void take_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGALRM, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        const char *program = arguments[0] ? arguments[0] : "cosched-hook";
        fprintf(stderr, "usage: %s prolog|starting|gate|ended CONFIGURATION\n", program);
        fprintf(stderr, "CONFIGURATION: a file of lines key=value; keys: socket gates waiting log patience\n");
        return 2;
    }
    const char *what = arguments[1];
    bool is_prolog = !strcmp(what, "prolog"), is_starting = !strcmp(what, "starting"), is_end = !strcmp(what, "ended");
    const char *job = getenv(is_end ? "JOBID" : "SLURM_JOB_ID");
    if (job)
        job_id = job;
    silent = !is_prolog && !is_starting && !is_end;
    take_signals();
    openlog("cosched-hook", LOG_PID, LOG_DAEMON);
    configure(arguments[2]);
    return is_prolog ? prolog() : is_starting ? starting() : is_end ? ended() : gate();
}
