/* The yardstick of `make bench`: FCFS or WFP, and EASY, on a flat machine, as little C as it takes.
 *
 * Jobs come in submission order. For WFP all of the queue is scored and sorted where any job fits, by insertion, since
 * its order changes little from one instant to the next. Running jobs are kept twice: in a heap by actual end, and sorted by expected end.
 * start[] receives the schedule. Compiled on the fly: cc -O3 -march=native -shared -fPIC. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
typedef struct { i64 end, nodes; } Expected;
typedef struct { i64 end, job; } Ending;

static i64 running, free_nodes;
static Expected *expected;
static Ending *heap;
static double *score;

static void begin(i64 j, i64 now, const i64 *run, const i64 *requested, const i64 *nodes, i64 *start)
{
    i64 end = now + requested[j], i = running, k = running++;
    for (; i > 0 && expected[i - 1].end > end; i--) expected[i] = expected[i - 1];
    expected[i] = (Expected){end, nodes[j]};
    for (end = now + run[j]; k > 0 && heap[(k - 1) / 2].end > end; k = (k - 1) / 2) heap[k] = heap[(k - 1) / 2];
    heap[k] = (Ending){end, j};
    free_nodes -= nodes[j];
    start[j] = now;
}

static void finish(const i64 *requested, const i64 *nodes, const i64 *start)
{
    i64 j = heap[0].job, end = start[j] + requested[j], low = 0, high = running, k = 0, child;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (expected[middle].end < end) low = middle + 1; else high = middle;
    }
    while (expected[low].nodes != nodes[j]) low++;
    running--;
    memmove(expected + low, expected + low + 1, (running - low) * sizeof *expected);
    Ending last = heap[running];
    for (; (child = 2 * k + 1) < running; k = child) {
        if (child + 1 < running && heap[child + 1].end < heap[child].end) child++;
        if (heap[child].end >= last.end) break;
        heap[k] = heap[child];
    }
    heap[k] = last;
    free_nodes += nodes[j];
}

static int order(i64 *queue, i64 queued, i64 now, const i64 *submit, const i64 *requested, const i64 *nodes)
{
    i64 fits = 0;
    while (fits < queued && nodes[queue[fits]] > free_nodes) fits++;
    if (fits == queued) return 0;
    for (i64 i = 0; i < queued; i++) {
        double ratio = (double)(now - submit[queue[i]]) / (double)requested[queue[i]];
        score[i] = ratio * ratio * ratio * (double)nodes[queue[i]];
    }
    for (i64 i = 1; i < queued; i++) {
        double own = score[i];
        i64 job = queue[i], k = i;
        for (; k > 0 && (score[k - 1] < own || (score[k - 1] == own && queue[k - 1] > job)); k--)
            score[k] = score[k - 1], queue[k] = queue[k - 1];
        score[k] = own, queue[k] = job;
    }
    return 1;
}

static i64 schedule(i64 *queue, i64 queued, i64 now, const i64 *run, const i64 *requested, const i64 *nodes, i64 *start)
{
    i64 head = 0, kept;
    while (head < queued && nodes[queue[head]] <= free_nodes) begin(queue[head++], now, run, requested, nodes, start);
    kept = 0;
    if (head == queued) return 0;
    i64 need = nodes[queue[head]], at_shadow = free_nodes, shadow = 0, i = 0, extra;
    while (at_shadow < need) { shadow = expected[i].end; at_shadow += expected[i++].nodes; }
    while (i < running && expected[i].end == shadow) at_shadow += expected[i++].nodes;
    extra = at_shadow - need;
    queue[kept++] = queue[head++];
    for (; head < queued; head++) {
        i64 j = queue[head], in_time = now + requested[j] <= shadow;
        if (nodes[j] <= free_nodes && (in_time || nodes[j] <= extra)) {
            if (!in_time) extra -= nodes[j];
            begin(j, now, run, requested, nodes, start);
        } else queue[kept++] = j;
    }
    return kept;
}

int easy(i64 n, i64 machine, i64 wfp, const i64 *submit, const i64 *run, const i64 *requested, const i64 *nodes, i64 *start)
{
    i64 next = 0, queued = 0, *queue = malloc(n * sizeof *queue);
    expected = malloc(n * sizeof *expected);
    heap = malloc(n * sizeof *heap);
    score = malloc(n * sizeof *score);
    running = 0;
    free_nodes = machine;
    while (next < n || running) {
        i64 now = next < n && (!running || submit[next] < heap[0].end) ? submit[next] : heap[0].end;
        while (running && heap[0].end == now) finish(requested, nodes, start);
        while (next < n && submit[next] == now) queue[queued++] = next++;
        if (!wfp || order(queue, queued, now, submit, requested, nodes))
            queued = schedule(queue, queued, now, run, requested, nodes, start);
    }
    free(queue), free(expected), free(heap), free(score);
    return 0;
}
