// The chart in the page: handles the user's input.

const CLICK = 4; // pixels: a press that moves no further is a click
const NEAR = 4; // pixels: the greatest distance at which the pointer finds a job

class Chart {
  constructor(root) {
    this.root = root;
    this.model = readModel(document.getElementById(`${root.id}-data`));
    this.view = new View(this.model);
    this.painter = new Painter(this.model, this.view);
    this.canvas = root.querySelector("canvas");
    this.tip = root.querySelector(".gantt-tip");
    this.dragButton = root.querySelector("[data-do=drag]");
    this.output = root.querySelector("output");
    this.base = document.createElement("canvas");
    this.selected = this.hovered = this.press = null;
    this.found = { text: "", jobs: [], next: 0 };
    root.hidden = false;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
    this.resize();
  }

  listen() {
    const on = (name, use, options) => this.canvas.addEventListener(name, use.bind(this), options);
    on("wheel", this.wheel, { passive: false });
    on("pointerdown", this.pointerDown);
    on("pointermove", this.pointerMove);
    on("pointerup", this.pointerUp);
    on("pointercancel", this.endPress);
    on("pointerleave", () => this.hover(null));
    on("keydown", this.key);
    this.root.querySelector("form").addEventListener("submit", (event) => this.search(event));
    this.root.querySelectorAll("[data-do]").forEach((button) => {
      button.addEventListener("click", () => this.act(button.dataset.do));
    });
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    if (!width || (width === this.view.width && ratio === this.ratio)) return;
    this.view.width = width;
    this.ratio = ratio;
    this.canvas.style.height = `${this.view.height}px`;
    for (const canvas of [this.canvas, this.base]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(this.view.height * ratio);
    }
    this.changed();
  }

  // Draws everything again after a change of the view, once for all changes before the next frame.
  changed() {
    this.stale = true;
    this.redraw();
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      if (this.stale) this.painter.paint(this.base.getContext("2d"), this.ratio);
      this.stale = false;
      this.drawOver();
    });
  }

  // Draws the chart with its marks.
  drawOver() {
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.base, 0, 0);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    for (const job of [this.selected, this.hovered]) {
      if (job) this.markPair(context, job);
    }
    if (this.press?.zooms && this.press.moved) this.drawBand(context, this.press);
  }

  markPair(context, job) {
    const mate = mateOf(this.model, job);
    const [here, there] = [job, mate].map((one) => one && this.painter.mark(context, one));
    if (here && there) this.painter.join(context, here, there);
  }

  drawBand(context, press) {
    const { left, right, top, bottom } = this.band(press);
    context.fillStyle = "rgb(0 0 0 / 0.12)";
    context.fillRect(left, top, right - left, bottom - top);
    context.strokeStyle = "#000000";
    context.lineWidth = 1;
    context.strokeRect(left, top, right - left, bottom - top);
  }

  // Returns the dragged part: whole lanes, unless the drag goes clearly up or down within one.
  band({ from, to }) {
    const { view } = this;
    const [left, right] = [from.x, to.x].sort((a, b) => a - b).map((x) => this.clampX(x));
    const index = view.laneAt(from.y);
    const nodes = index === view.laneAt(to.y) && Math.abs(to.y - from.y) > view.lane / 8;
    const [top, bottom] = nodes
      ? [from.y, to.y].sort((a, b) => a - b).map((y) => Math.max(view.laneTop(index), Math.min(y, view.laneTop(index) + view.lane)))
      : [view.laneTop(0), view.height - MARGIN.bottom];
    return { left, right, top, bottom, index: nodes ? index : NONE };
  }

  clampX(x) {
    return Math.max(MARGIN.left, Math.min(x, MARGIN.left + this.view.plotWidth));
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  // The wheel scrolls the page unless the chart has been clicked.
  wheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.canvas) return;
    event.preventDefault();
    const { x, y } = this.place(event);
    const { view } = this;
    const index = view.laneAt(y);
    const amount = (event.deltaY || event.deltaX) * (event.deltaMode ? 30 : 1);
    const factor = Math.exp(Math.max(-300, Math.min(amount, 300)) * 0.002);
    if (event.altKey) view.zoomNodes(index, factor, view.node(index, y));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.move((amount / view.plotWidth) * view.span);
    else view.zoom(factor, view.time(this.clampX(x)));
    this.changed();
  }

  pointerDown(event) {
    if (event.button !== 0) return;
    const at = this.place(event);
    this.press = { from: at, to: at, moved: false, zooms: !event.shiftKey && !this.dragMoves() };
    this.canvas.setPointerCapture(event.pointerId);
  }

  pointerMove(event) {
    const at = this.place(event);
    const { press } = this;
    if (!press) return this.hover(at);
    press.moved ||= Math.hypot(at.x - press.from.x, at.y - press.from.y) > CLICK;
    if (press.moved && !press.zooms) this.drag(press.to, at);
    press.to = at;
    if (press.moved) this.hover(null);
    this.redraw();
  }

  drag(from, to) {
    const { view } = this;
    const index = view.laneAt(from.y);
    view.move(view.time(from.x) - view.time(to.x));
    view.moveNodes(index, view.node(index, from.y) - view.node(index, to.y));
    this.changed();
  }

  pointerUp() {
    const { press } = this;
    this.endPress();
    if (!press) return;
    if (!press.moved) this.select(this.jobUnder(press.from));
    else if (press.zooms) this.zoomInto(this.band(press));
  }

  endPress() {
    this.press = null;
    this.redraw();
  }

  zoomInto({ left, right, top, bottom, index }) {
    const { view } = this;
    if (index !== NONE) view.showNodes(index, view.node(index, bottom), view.node(index, top));
    if (right - left > CLICK) view.show(view.time(left), view.time(right));
    this.changed();
  }

  jobUnder({ x, y }) {
    const { view } = this;
    if (!view.inLane(x, y)) return null;
    const index = view.laneAt(y);
    const { from, to } = view.nodes[index];
    const [seconds, nodes] = [(NEAR / view.plotWidth) * view.span, (NEAR / view.lane) * (to - from)];
    return jobAt(this.model, index, view.time(x), view.node(index, y), seconds, nodes);
  }

  hover(at) {
    const job = at && this.jobUnder(at);
    if (!sameJob(job, this.hovered)) {
      this.hovered = job;
      this.tip.replaceChildren(...(job ? [jobTable(this.model, [job])] : []));
      this.redraw();
    }
    this.tip.hidden = !job;
    if (job) this.placeTip(at);
  }

  // Places the tip beside the pointer and inside the chart.
  placeTip({ x, y }) {
    const { width, height } = this.view;
    const left = x + 16 + this.tip.offsetWidth > width ? x - 16 - this.tip.offsetWidth : x + 16;
    const top = Math.min(y + 16, height - this.tip.offsetHeight - 4);
    this.tip.style.left = `${Math.max(left, 0)}px`;
    this.tip.style.top = `${Math.max(top, 0)}px`;
  }

  select(job) {
    this.selected = job;
    this.redraw();
    const panel = this.root.querySelector(".gantt-job");
    panel.replaceChildren();
    if (!job) return;
    const mate = mateOf(this.model, job);
    panel.append(...this.jobButtons(job, mate), jobTable(this.model, mate ? [job, mate] : [job]));
  }

  jobButtons(job, mate) {
    const button = (text, act) => {
      const made = element("button", text);
      made.type = "button";
      made.addEventListener("click", act);
      return made;
    };
    const close = button("Deselect", () => this.select(null));
    const centre = button("Centre", () => this.centre([job]));
    return mate ? [centre, button("Show with mate", () => this.centre([job, mate])), close] : [centre, close];
  }

  // Shows the jobs in the middle of the chart; false if they never had nodes.
  centre(jobs) {
    const areas = jobs.map((job) => areasOf(this.model, job));
    if (!areas.flat().length) return false;
    this.view.centre(jobs, areas);
    this.changed();
    return true;
  }

  // Goes to the next job of this name.
  search(event) {
    event.preventDefault();
    const text = this.root.querySelector("input").value.trim();
    if (text !== this.found.text) this.found = { text, jobs: findJobs(this.model, text), next: 0 };
    const { jobs, next } = this.found;
    if (!jobs.length) {
      this.output.textContent = text ? `no job ${text}` : "";
      return;
    }
    const job = jobs[next];
    this.found.next = (next + 1) % jobs.length;
    this.select(job);
    const more = jobs.length > 1 ? ` (${next + 1} of ${jobs.length}; Find again for the next)` : "";
    this.output.textContent = `${jobName(this.model, job)}${this.centre([job]) ? "" : " never had nodes"}${more}`;
  }

  key(event) {
    const acts = {
      "+": "in", "=": "in", "-": "out", 0: "whole", Home: "whole", Escape: "deselect",
      ArrowLeft: "earlier", ArrowRight: "later", ArrowUp: "up", ArrowDown: "down",
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.act(act);
  }

  act(name) {
    const { view } = this;
    const middle = (view.from + view.to) / 2;
    const nodes = (share) => view.nodes.forEach(({ from, to }, index) => view.moveNodes(index, share * (to - from)));
    const acts = {
      in: () => view.zoom(0.5, middle),
      out: () => view.zoom(2, middle),
      whole: () => view.reset(),
      earlier: () => view.move(-view.span / 5),
      later: () => view.move(view.span / 5),
      up: () => nodes(0.2),
      down: () => nodes(-0.2),
      deselect: () => this.select(null),
      drag: () => this.toggleDrag(),
    };
    acts[name]();
    this.changed();
  }

  dragMoves() {
    return this.dragButton.getAttribute("aria-pressed") === "true";
  }

  toggleDrag() {
    const moves = !this.dragMoves();
    this.dragButton.setAttribute("aria-pressed", String(moves));
    this.canvas.style.cursor = moves ? "grab" : "";
  }
}

document.querySelectorAll(".chart").forEach((root) => new Chart(root));
