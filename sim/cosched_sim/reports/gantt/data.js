// The chart's data, unpacked: for each domain columns over its jobs, its runs and its holds.
// A job is { domain, row }, both indices. Times are trace seconds, or NONE.

const NONE = -1;
const TYPES = { u1: Uint8Array, i2: Int16Array, i4: Int32Array, f8: Float64Array };

function readModel(element) {
  const data = JSON.parse(element.textContent);
  const domains = data.domains.map(readDomain);
  linkMates(domains, unpackAll(data.pairs));
  return { ...data, domains };
}

function readDomain(packed) {
  const jobs = unpackAll(packed.jobs);
  const count = jobs.submit.length;
  const runs = unpackAll(packed.runs);
  const holds = unpackAll(packed.holds);
  return {
    name: packed.name,
    nodes: packed.nodes,
    ids: Array.isArray(packed.ids) ? packed.ids : unpack(packed.ids),
    jobs: { ...jobs, state: unpack(packed.state) },
    // Areas of runs and of holds have the same form; runs without times of their own take them from the job.
    runs: { begin: timesOf(jobs.start, runs.job), end: timesOf(jobs.end, runs.job), ...runs },
    holds,
    ready: new Float64Array(count).fill(NONE),
    mateDomain: new Int32Array(count).fill(NONE),
    mate: new Int32Array(count).fill(NONE),
  };
}

function timesOf(times, rows) {
  return Float64Array.from(rows, (row) => times[row]);
}

function unpackAll(columns) {
  return Object.fromEntries(Object.entries(columns).map(([name, packed]) => [name, unpack(packed)]));
}

function unpack(packed) {
  const [[type, text]] = Object.entries(packed);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new TYPES[type](bytes.buffer);
}

function linkMates(domains, pairs) {
  for (let i = 0; i < pairs.job.length; i++) {
    linkMate(domains[pairs.domain[i]], pairs.job[i], pairs.ready[i], pairs.domain2[i], pairs.job2[i]);
    linkMate(domains[pairs.domain2[i]], pairs.job2[i], pairs.ready2[i], pairs.domain[i], pairs.job[i]);
  }
}

function linkMate(domain, row, ready, mateDomain, mate) {
  domain.ready[row] = ready;
  domain.mateDomain[row] = mateDomain;
  domain.mate[row] = mate;
}

function sameJob(one, other) {
  return Boolean(one && other) && one.domain === other.domain && one.row === other.row;
}

function mateOf(model, job) {
  const domain = model.domains[job.domain];
  const mate = domain.mate[job.row];
  return mate === NONE ? null : { domain: domain.mateDomain[job.row], row: mate };
}

// Returns the areas (node from, to, begin, end) of a job.
function areasOf(model, job) {
  const domain = model.domains[job.domain];
  const found = [];
  for (const areas of [domain.holds, domain.runs]) {
    for (let i = areas.job.indexOf(job.row); i !== -1; i = areas.job.indexOf(job.row, i + 1)) {
      found.push({
        first: areas.first[i],
        after: areas.first[i] + areas.nodes[i],
        begin: areas.begin[i],
        end: areas.end[i],
      });
    }
  }
  return found;
}

// Returns the job that has `node` at `time`, else the closest one within the given tolerances, else null.
function jobAt(model, index, time, node, seconds, nodes) {
  const domain = model.domains[index];
  let best = null;
  let least = Infinity;
  for (const areas of [domain.holds, domain.runs]) {
    for (let i = 0; i < areas.job.length; i++) {
      const late = Math.max(areas.begin[i] - time, time - areas.end[i], 0);
      const off = Math.max(areas.first[i] - node, node - areas.first[i] - areas.nodes[i], 0);
      if (late > seconds || off > nodes) continue;
      const distance = late / seconds + off / nodes;
      if (distance < least) {
        least = distance;
        best = { domain: index, row: areas.job[i] };
      }
    }
  }
  return best;
}

// Returns the jobs named by `text`, an id (on any domain) or domain:id.
function findJobs(model, text) {
  return model.domains.flatMap((domain, index) => {
    const prefix = `${domain.name}:`;
    const ids = text.startsWith(prefix) ? [text, text.slice(prefix.length)] : [text];
    return ids.flatMap((id) => rowsCalled(domain, id)).map((row) => ({ domain: index, row }));
  });
}

function rowsCalled(domain, id) {
  const wanted = Array.isArray(domain.ids) ? id : String(Number(id)) === id ? Number(id) : null;
  const row = wanted === null ? NONE : domain.ids.indexOf(wanted);
  return row === NONE ? [] : [row];
}
