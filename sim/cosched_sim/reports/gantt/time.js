// Times in words, and the ticks of an axis.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const STEPS = [1, 2, 5, 10, 15, 30].concat(
  [1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  [1, 2, 3, 6, 12].map((n) => n * HOUR),
  [1, 2, 5].map((n) => n * DAY),
);

// Formats a time as "3 d 04:05:06", without days if there are none.
function clock(seconds) {
  const sign = seconds < 0 ? "−" : "";
  const whole = Math.round(Math.abs(seconds));
  const days = Math.floor(whole / DAY);
  const parts = [(whole % DAY) / HOUR, (whole % HOUR) / MINUTE, whole % MINUTE].map((n) => String(Math.floor(n)).padStart(2, "0"));
  return `${sign}${days ? `${days} d ` : ""}${parts.join(":")}`;
}

// Formats a time for a tick, with only the parts that ticks of this step need.
function tickLabel(seconds, step) {
  if (step >= DAY) return `${Math.round(seconds / DAY).toLocaleString("en")} d`;
  const text = clock(seconds);
  const days = seconds >= DAY || seconds < 0 ? "" : "0 d ";
  return days + (step >= MINUTE ? text.slice(0, -3) : text);
}

// Returns the smallest round step of which at most `most` fit into `span` seconds.
function timeStep(span, most) {
  const step = STEPS.find((size) => span / size <= most);
  return step ?? roundStep(span / DAY, most) * DAY;
}

// Returns the smallest of 1, 2, 5, 10, 20, ... of which at most `most` fit into `span`.
function roundStep(span, most) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(span / most, 1)));
  return [1, 2, 5, 10].map((n) => n * ten).find((size) => span / size <= most);
}

// Returns the multiples of `step` from `from` to `to`.
function ticks(from, to, step) {
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step) - first + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, i) => (first + i) * step);
}
