// Texts about a job: in the tip beside the pointer, and below the chart for the selected job.

const STATES = ["completed", "failed", "cancelled", "never started", "unfinished"];

function jobName(model, job) {
  const domain = model.domains[job.domain];
  return `${domain.name} ${domain.ids[job.row]}`;
}

// Returns pairs of a name and a text.
function jobFacts(model, job) {
  const domain = model.domains[job.domain];
  const [nodes, submit, start, end] = ["nodes", "submit", "start", "end"].map((name) => domain.jobs[name][job.row]);
  const ready = domain.ready[job.row];
  const mate = mateOf(model, job);
  const at = (time) => (time === NONE ? "–" : clock(time - model.origin));
  const length = (from, to) => (from === NONE || to === NONE ? "–" : clock(to - from));
  return [
    ["nodes", nodes.toLocaleString("en")],
    ["submitted", at(submit)],
    ...(mate ? [["ready", at(ready)]] : []),
    ["started", at(start)],
    ["ended", at(end)],
    ["wait", length(submit, start)],
    ...(mate ? [["sync time", length(ready, start)]] : []),
    ["ran", start === NONE || end === NONE ? "–" : clock(secondsRun(domain, job.row))],
    ["state", STATES[domain.jobs.state[job.row]]],
    ...(mate ? [["mate", jobName(model, mate)]] : []),
  ];
}

// Returns the seconds for which a job had nodes; a run may be several areas beside each other.
function secondsRun({ runs }, row) {
  const ends = new Map();
  for (let i = runs.job.indexOf(row); i !== -1; i = runs.job.indexOf(row, i + 1)) ends.set(runs.begin[i], runs.end[i]);
  return [...ends].reduce((sum, [begin, end]) => sum + end - begin, 0);
}

function jobTable(model, jobs) {
  const table = element("table");
  const facts = jobs.map((job) => jobFacts(model, job));
  const head = table.createTHead().insertRow();
  head.append(element("th", ""), ...jobs.map((job) => scoped("col", jobName(model, job))));
  const body = table.createTBody();
  facts[0].forEach(([name, text], i) => {
    const row = body.insertRow();
    row.append(scoped("row", name), element("td", text), ...facts.slice(1).map((more) => element("td", more[i][1])));
  });
  return table;
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function scoped(scope, text) {
  const made = element("th", text);
  made.scope = scope;
  return made;
}
