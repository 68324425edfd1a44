// Draws the chart. The areas are painted pixel by pixel; each pixel shows the state of its node at its instant. Areas
// smaller than a pixel are shown or not by chance, so the density of a hundred thousand jobs is right.

const STRIPES = 8; // CSS pixels between the stripes of held nodes
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
const MOST_LABELS = 300;

class Painter {
  constructor(model, view) {
    this.model = model;
    this.view = view;
    const all = (colours) => colours.map(packColour);
    this.unpaired = all(model.colours.unpaired);
    this.paired = all(model.colours.paired);
    this.edge = packColour("#FFFFFF");
    [this.held, this.stripe, this.ink] = ["held", "stripe", "ink"].map((name) => packColour(model.colours[name]));
  }

  // Draws everything except the selection.
  paint(context, ratio) {
    this.ratio = ratio;
    const { width, height } = this.view;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = "#FFFFFF";
    context.fillRect(0, 0, width, height);
    this.model.domains.forEach((domain, index) => this.paintLane(context, domain, index));
    this.paintTimes(context);
  }

  paintLane(context, domain, index) {
    const { view, ratio } = this;
    const left = Math.round(MARGIN.left * ratio);
    const top = Math.round(view.laneTop(index) * ratio);
    const image = context.createImageData(Math.round(view.plotWidth * ratio), Math.round(view.lane * ratio));
    const pixels = new Uint32Array(image.data.buffer).fill(this.edge);
    const lane = { pixels, width: image.width, height: image.height, labels: [] };
    this.fillRuns(domain, index, lane);
    this.fillHolds(domain, index, lane);
    context.putImageData(image, left, top);
    this.paintLabels(context, domain, index, lane.labels);
    this.paintNodes(context, domain, index);
  }

  fillRuns(domain, index, lane) {
    const { runs } = domain;
    this.eachBox(runs, index, lane, (i, box) => {
      const row = runs.job[i];
      const tints = domain.mate[row] === NONE ? this.unpaired : this.paired;
      fillBox(lane, box, tints[row % tints.length]);
      this.outline(lane, box, domain.mate[row] !== NONE);
      if (box.right - box.left > 24 * this.ratio && box.bottom - box.top > 13 * this.ratio) lane.labels.push({ row, box });
    });
  }

  fillHolds(domain, index, lane) {
    const period = Math.round(STRIPES * this.ratio);
    this.eachBox(domain.holds, index, lane, (i, box) => {
      for (let y = box.top; y < box.bottom; y++) {
        for (let x = box.left; x < box.right; x++) {
          lane.pixels[y * lane.width + x] = (x + y) % period < period / 3 ? this.stripe : this.held;
        }
      }
      this.outline(lane, box, true);
    });
  }

  // Calls `use` with the box of pixels of each visible area.
  eachBox(areas, index, lane, use) {
    const { view } = this;
    const { from, to } = view.nodes[index];
    const across = lane.width / view.span;
    const up = lane.height / (to - from);
    const box = { left: 0, right: 0, top: 0, bottom: 0 };
    for (let i = 0; i < areas.job.length; i++) {
      if (areas.end[i] <= view.from || areas.begin[i] >= view.to) continue;
      box.left = Math.max(0, Math.round((areas.begin[i] - view.from) * across));
      box.right = Math.min(lane.width, Math.round((areas.end[i] - view.from) * across));
      box.top = Math.max(0, lane.height - Math.round((areas.first[i] + areas.nodes[i] - from) * up));
      box.bottom = Math.min(lane.height, lane.height - Math.round((areas.first[i] - from) * up));
      if (box.left < box.right && box.top < box.bottom) use(i, { ...box });
    }
  }

  // A light gap separates neighbours; a dark line surrounds the jobs of a pair.
  outline(lane, box, paired) {
    const line = Math.max(1, Math.round(this.ratio));
    const { left, right, top, bottom } = box;
    if (right - left < 5 * line || bottom - top < 4 * line) return;
    const colour = paired ? this.ink : this.edge;
    fillBox(lane, { left, right, top: bottom - line, bottom }, colour);
    fillBox(lane, { left: right - line, right, top, bottom }, colour);
    if (!paired) return;
    fillBox(lane, { left, right, top, bottom: top + line }, colour);
    fillBox(lane, { left, right: left + line, top, bottom }, colour);
  }

  paintLabels(context, domain, index, labels) {
    const { ratio, view } = this;
    context.font = FONT;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const { row, box } of labels.slice(0, MOST_LABELS)) {
      const text = String(domain.ids[row]);
      if (context.measureText(text).width > (box.right - box.left) / ratio - 6) continue;
      context.fillStyle = domain.mate[row] === NONE ? "#000000" : "#FFFFFF";
      const x = MARGIN.left + (box.left + box.right) / 2 / ratio;
      context.fillText(text, x, view.laneTop(index) + (box.top + box.bottom) / 2 / ratio);
    }
  }

  paintNodes(context, domain, index) {
    const { view } = this;
    const top = view.laneTop(index);
    this.ink2d(context);
    context.strokeRect(MARGIN.left - 0.5, top - 0.5, view.plotWidth + 1, view.lane + 1);
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.font = `bold ${FONT}`;
    context.fillText(`${domain.name} (${domain.nodes.toLocaleString("en")} nodes)`, MARGIN.left, top - 8);
    context.font = FONT;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const { from, to } = view.nodes[index];
    const form = new Intl.NumberFormat("en", { notation: domain.nodes < 1e6 ? "standard" : "compact" });
    for (const node of ticks(from, to, roundStep(to - from, view.lane / 36))) {
      const y = view.y(index, node);
      context.fillText(form.format(node), MARGIN.left - 8, y);
      line(context, MARGIN.left - 5, y, MARGIN.left, y);
    }
    context.save();
    context.translate(14, top + view.lane / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText("node", 0, 0);
    context.restore();
  }

  paintTimes(context) {
    const { view, model } = this;
    const bottom = view.height - MARGIN.bottom;
    const step = timeStep(view.span, view.plotWidth / 96);
    this.ink2d(context);
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of ticks(view.from - model.origin, view.to - model.origin, step)) {
      const x = view.x(tick + model.origin);
      line(context, x, bottom, x, bottom + 5);
      context.fillText(tickLabel(tick, step), x, bottom + 8);
    }
    const since = model.origin ? "the first submission" : "the start of the trace";
    context.fillText(`time since ${since}`, MARGIN.left + view.plotWidth / 2, bottom + 27);
  }

  ink2d(context) {
    context.font = FONT;
    context.lineWidth = 1;
    context.fillStyle = context.strokeStyle = this.model.colours.ink;
  }

  // Marks a job's areas; returns the middle of the visible ones, or null.
  mark(context, job) {
    const { view } = this;
    const top = view.laneTop(job.domain);
    const boxes = areasOf(this.model, job).map((area) => ({
      left: Math.max(view.x(area.begin), MARGIN.left),
      right: Math.min(view.x(area.end), MARGIN.left + view.plotWidth),
      top: Math.max(view.y(job.domain, area.after), top),
      bottom: Math.min(view.y(job.domain, area.first), top + view.lane),
    }));
    const seen = boxes.filter((box) => box.left <= box.right && box.top <= box.bottom);
    // The marks go around the areas, so that their content stays visible.
    for (const [colour, width, off] of [["#FFFFFF", 2, 3], ["#000000", 2, 1]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      seen.forEach((box) => {
        context.strokeRect(box.left - off, box.top - off, box.right - box.left + 2 * off, box.bottom - box.top + 2 * off);
      });
    }
    const last = seen.at(-1);
    return last ? { x: (last.left + last.right) / 2, y: (last.top + last.bottom) / 2 } : null;
  }

  // Joins the marks of two mates.
  join(context, one, other) {
    for (const [colour, width, dash] of [["#FFFFFF", 5, []], ["#000000", 2, [7, 4]]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dash);
      line(context, one.x, one.y, other.x, other.y);
    }
    context.setLineDash([]);
  }
}

function line(context, x, y, toX, toY) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
}

function fillBox(lane, box, colour) {
  for (let y = box.top; y < box.bottom; y++) {
    lane.pixels.fill(colour, y * lane.width + box.left, y * lane.width + box.right);
  }
}

// Converts "#RRGGBB" to a pixel of an image.
function packColour(text) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  return new Uint32Array(new Uint8ClampedArray([red, green, blue, 255]).buffer)[0];
}
