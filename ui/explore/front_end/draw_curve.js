// The curve of accuracy against ε as SVG. Elements are made when Python sends data, and moved in each frame.

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element. Text is inserted as text, never as markup. */
function shape(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

function move(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

const TICKS = [0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 25];

/** The picture of the curve: {draw(at)}. It measures its size only once, so make a new picture after a resize. */
function curvePicture(svg, data) {
  const {width, height} = svg.getBoundingClientRect();
  const edge = {left: 46, right: 12, top: 20, bottom: 42};
  const epsilons = data.curves.epsilons;
  const ends = [Math.min(epsilons[0], data.epsilon.value), Math.max(epsilons.at(-1), data.epsilon.value)].map(Math.log);
  const [low, high] = accuracyRange(data);
  const x = (epsilon) => {
    const share = (Math.log(epsilon) - ends[0]) / (ends[1] - ends[0]);
    return edge.left + Math.min(Math.max(share, 0), 1) * (width - edge.left - edge.right);
  };
  const y = (accuracy) => edge.top + ((high - accuracy) / (high - low)) * (height - edge.top - edge.bottom);
  const path = (line) => {
    let [text, pen] = ["", "M"];
    for (const [place, mean] of line.mean.entries()) {
      if (mean === null) continue;
      text += `${pen}${x(epsilons[place]).toFixed(1)} ${y(mean).toFixed(1)}`;
      pen = "L";
    }
    return text;
  };

  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const steps = niceSteps(low, high);
  const digits = steps[1] - steps[0] < 0.0099 ? 1 : 0;
  for (const accuracy of steps) {
    svg.append(shape("line", {class: "grid", x1: edge.left, x2: width - edge.right, y1: y(accuracy), y2: y(accuracy)}));
    svg.append(shape("text", {class: "tick", x: edge.left - 6, y: y(accuracy) + 4, "text-anchor": "end"},
      percentText(accuracy, digits)));
  }
  for (const epsilon of TICKS.filter((one) => Math.log(one) >= ends[0] - 1e-9 && Math.log(one) <= ends[1] + 1e-9)) {
    svg.append(shape("text", {class: "tick", x: x(epsilon), y: height - 24, "text-anchor": "middle"}, String(epsilon)));
  }
  svg.append(shape("text", {class: "tick", x: edge.left, y: height - 6}, "← more private"));
  svg.append(shape("text", {class: "tick", x: (edge.left + width) / 2, y: height - 6, "text-anchor": "middle"},
    data.words.axis));
  svg.append(shape("text", {class: "tick", x: width - edge.right, y: height - 6, "text-anchor": "end"},
    "more accurate →"));
  for (const {kind, value} of data.levels) {
    const place = {x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value)};
    svg.append(shape("line", {class: `level ${kind}`, ...place}));
  }
  const band = shape("path", {class: "band", d: bandPath(data.curves, x, y)});
  const faint = shape("g", {class: "others"});
  for (const line of otherLines(data.curves)) faint.append(shape("path", {d: path(line)}));
  const curve = shape("path", {class: data.certified ? "curve" : "curve claimed"});
  const here = shape("line", {class: "here", y1: edge.top, y2: height - edge.bottom});
  const dot = shape("circle", {class: data.certified ? "dot" : "dot claimed", r: 7});
  const names = data.levels.map((level) => levelName(level, data.curves, width, edge, y));
  svg.append(faint, band, curve, here, dot, ...names);

  return {
    draw(at) {
      const {line, isKnown} = selectedLine(data, at);
      const {value} = valueAt(epsilons, line.mean, at.epsilon);
      move(curve, {d: path(line)});
      curve.classList.toggle("unknown", !isKnown);
      band.style.display = line === data.curves.line && isKnown ? "" : "none";
      faint.style.display = line === data.curves.line ? "none" : "";
      move(here, {x1: x(at.epsilon), x2: x(at.epsilon)});
      dot.style.display = value === null || !isKnown ? "none" : "";
      if (value !== null) move(dot, {cx: x(at.epsilon), cy: y(value)});
    },
  };
}

/** The name of a horizontal line. It stands below its line if the curve passes through the place above it. */
function levelName({kind, value, words}, {line}, width, edge, y) {
  const isRight = kind === "floor"; // the curve rises, so there is most room at the right above this line
  const half = Math.floor(line.mean.length / 2);
  const means = (isRight ? line.mean.slice(half) : line.mean.slice(0, half)).filter((mean) => mean !== null);
  const isCrossed = means.some((mean) => y(mean) < y(value) + 4 && y(mean) > y(value) - 26);
  const [x, anchor] = isRight ? [width - edge.right, "end"] : [edge.left + 4, "start"];
  return shape("text", {class: "level-name", x, y: y(value) + (isCrossed ? 15 : -5), "text-anchor": anchor},
    `${words} ${percentText(value)}`);
}

/** The SVG path around the band of one standard deviation to either side of the present line. */
function bandPath({epsilons, line}, x, y) {
  const known = [...line.mean.keys()].filter((place) => line.mean[place] !== null);
  const point = (place, sign) =>
    `${x(epsilons[place]).toFixed(1)} ${y(line.mean[place] + sign * line.spread[place]).toFixed(1)}`;
  const above = known.map((place) => point(place, 1));
  const below = known.reverse().map((place) => point(place, -1));
  return known.length > 1 ? `M${[...above, ...below].join("L")}Z` : "";
}

/** Three to seven evenly spaced round values between two shares. */
function niceSteps(low, high) {
  const power = 10 ** Math.floor(Math.log10(high - low));
  const valuesBy = (step) => {
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    return Array.from({length: Math.max(last - first + 1, 0)}, (_, place) => (first + place) * step);
  };
  return [5, 2, 1, 0.5, 0.2].map((one) => valuesBy(one * power)).find((values) => values.length >= 3);
}
