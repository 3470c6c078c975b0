// Helpers of all scenes of the lesson. A scene is {seconds, draw(t)}: `draw` puts the drawing into its state t seconds
// after the start, and returns the words of that moment. A drawing depends on t and the data only, so a scene can
// start again, stop, or jump to its end at any time.

const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes = {}, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

/** Set attributes, but only those that differ. */
function change(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value);
  }
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The share of the time from `start` to `end` that has passed at t, from 0 to 1. */
function passed(t, start, end) {
  return Math.min(Math.max((t - start) / (end - start || 1), 0), 1);
}

/** A share that starts and stops slowly. */
function slowly(share) {
  return share * share * (3 - 2 * share);
}

function between(from, to, share) {
  return from + (to - from) * share;
}

/** Lines of text below each other: {group, write(lines)}. `anchor` is start, middle or end. */
function lines(x, y, em, most, anchor = "start", name = "line") {
  const group = shape("g");
  const texts = Array.from({length: most}, (_, i) =>
    shape("text", {class: i ? name : `${name} first`, x, y: y + i * 1.3 * em, "text-anchor": anchor}));
  group.append(...texts);
  return {group, write: (now) => texts.forEach((text, i) => write(text, now[i] ?? ""))};
}
