// The visible part of the chart, and its place on the canvas (CSS pixels).

const MARGIN = { left: 74, right: 14, top: 6, bottom: 46 };
const TITLE = 24; // above each lane
const SHORTEST = 10; // seconds: the shortest time that can be shown
const FEWEST = 4; // nodes: the fewest that can be shown
const THICK = 18; // pixels: the least height of a job after a search for it

class View {
  constructor(model) {
    this.model = model;
    this.width = 0;
    this.lane = Math.max(110, Math.min(260, 620 / model.domains.length));
    this.height = MARGIN.top + MARGIN.bottom + model.domains.length * (TITLE + this.lane);
    this.reset();
  }

  reset() {
    this.from = this.model.first;
    this.to = Math.max(this.model.last, this.model.first + 1);
    this.nodes = this.model.domains.map((domain) => ({ from: 0, to: domain.nodes }));
  }

  get span() {
    return this.to - this.from;
  }

  get plotWidth() {
    return Math.max(this.width - MARGIN.left - MARGIN.right, 1);
  }

  laneTop(index) {
    return MARGIN.top + TITLE + index * (TITLE + this.lane);
  }

  // Returns the lane at a height, or the nearest.
  laneAt(y) {
    const index = Math.floor((y - MARGIN.top) / (TITLE + this.lane));
    return Math.max(0, Math.min(index, this.nodes.length - 1));
  }

  inLane(x, y) {
    const top = this.laneTop(this.laneAt(y));
    return x >= MARGIN.left && x <= this.width - MARGIN.right && y >= top && y <= top + this.lane;
  }

  x(time) {
    return MARGIN.left + ((time - this.from) / this.span) * this.plotWidth;
  }

  time(x) {
    return this.from + ((x - MARGIN.left) / this.plotWidth) * this.span;
  }

  y(index, node) {
    const { from, to } = this.nodes[index];
    return this.laneTop(index) + this.lane * (1 - (node - from) / (to - from));
  }

  node(index, y) {
    const { from, to } = this.nodes[index];
    return from + (1 - (y - this.laneTop(index)) / this.lane) * (to - from);
  }

  show(from, to) {
    const { first, last } = this.model;
    const whole = Math.max(last - first, 1);
    const span = Math.min(Math.max(to - from, Math.min(SHORTEST, whole)), whole);
    const start = (from + to - span) / 2;
    this.from = Math.max(first, Math.min(start, first + whole - span));
    this.to = this.from + span;
  }

  // Shows `factor` times as much time; `time` stays in its place.
  zoom(factor, time) {
    const span = this.span * factor;
    const from = time - ((time - this.from) / this.span) * span;
    this.show(from, from + span);
  }

  move(seconds) {
    this.show(this.from + seconds, this.to + seconds);
  }

  showNodes(index, from, to) {
    const most = this.model.domains[index].nodes;
    const span = Math.min(Math.max(to - from, Math.min(FEWEST, most)), most);
    const start = Math.max(0, Math.min((from + to - span) / 2, most - span));
    this.nodes[index] = { from: start, to: start + span };
  }

  zoomNodes(index, factor, node) {
    const { from, to } = this.nodes[index];
    this.showNodes(index, node - (node - from) * factor, node + (to - node) * factor);
  }

  moveNodes(index, nodes) {
    const { from, to } = this.nodes[index];
    this.showNodes(index, from + nodes, to + nodes);
  }

  // Brings areas of one or more jobs to the middle, large enough to see; `areas` has a list for each job.
  centre(jobs, areas) {
    const all = areas.flat();
    const begin = Math.min(...all.map((area) => area.begin));
    const end = Math.max(...all.map((area) => area.end));
    const length = Math.max(end - begin, 1);
    const span = Math.max(length * 1.5, Math.min(this.span, length * 12));
    this.show((begin + end - span) / 2, (begin + end + span) / 2);
    jobs.forEach((job, i) => this.centreNodes(job.domain, areas[i]));
  }

  centreNodes(index, areas) {
    if (!areas.length) return;
    const first = Math.min(...areas.map((area) => area.first));
    const after = Math.max(...areas.map((area) => area.after));
    const { nodes } = this.model.domains[index];
    const thickest = Math.max(...areas.map((area) => area.after - area.first));
    const span = Math.max(Math.min((thickest * this.lane) / THICK, nodes), (after - first) * 1.2);
    this.showNodes(index, (first + after - span) / 2, (first + after + span) / 2);
  }
}
