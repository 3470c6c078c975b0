// Which line the sliders select, and its accuracy at an ε. No drawing here.

/**
 * The line at a position of the sliders: {line, isKnown}. If the server has not simulated this line yet, isKnown is
 * false and line is the present line, which is then drawn faintly. The server simulates lines at which one control
 * has another value, so no line at which two have is known.
 */
function selectedLine(data, at) {
  const {line, byDepth, byTrees, byAlpha} = data.curves;
  const moved = [["depth", byDepth], ["trees", byTrees], ["alpha", byAlpha]].filter(
    ([control]) => at[control] !== data[control].value);
  if (!moved.length) return {line, isKnown: true};
  const [[control, lines]] = moved;
  const other = moved.length === 1 ? lines[at[control]] : undefined;
  return {line: other || line, isKnown: Boolean(other)};
}

/** The lines at other positions of the sliders. */
function otherLines({byDepth, byTrees, byAlpha}) {
  return [byDepth, byTrees, byAlpha].flatMap((lines) => Object.values(lines));
}

/** The position of an ε on the grid: [index before, index after, share of the way between both in log ε]. */
function placeOf(epsilons, epsilon) {
  const last = epsilons.length - 1;
  if (epsilon <= epsilons[0]) return [0, 0, 0];
  if (epsilon >= epsilons[last]) return [last, last, 0];
  const after = epsilons.findIndex((other) => other >= epsilon);
  if (epsilons[after] === epsilon) return [after, after, 0];
  const share = Math.log(epsilon / epsilons[after - 1]) / Math.log(epsilons[after] / epsilons[after - 1]);
  return [after - 1, after, share];
}

/**
 * The value at one ε of a list of values on the grid: {value, isExact}. Between known values it is interpolated in
 * log ε. It is null if no value is known.
 */
function valueAt(epsilons, list, epsilon) {
  let [before, after] = placeOf(epsilons, epsilon);
  const isOnGrid = before === after && epsilons[before] === epsilon && list[before] !== null;
  while (before > 0 && list[before] === null) before -= 1;
  while (after < list.length - 1 && list[after] === null) after += 1;
  const [low, high] = [list[before] ?? list[after], list[after] ?? list[before]];
  if (low === null || low === undefined) return {value: null, isExact: false};
  const width = Math.log(epsilons[after] / epsilons[before]);
  const share = width > 0 ? Math.min(Math.max(Math.log(epsilon / epsilons[before]) / width, 0), 1) : 0;
  return {value: low + share * (high - low), isExact: isOnGrid};
}

/** Depth and number of trees that the forest has at a position of the sliders. A rule may change them with ε. */
function shapeAt(data, at) {
  if (!data.byRule || at.depth !== data.depth.value || at.trees !== data.trees.value) return at;
  const [before, after, share] = placeOf(data.curves.epsilons, at.epsilon);
  const nearest = share < 0.5 ? before : after;
  const {depth, trees} = data.curves.line;
  return {...at, depth: depth[nearest] ?? at.depth, trees: trees[nearest] ?? at.trees};
}

/** The lowest and highest accuracy of all lines and levels, with a margin. So the axis is the same at all positions. */
function accuracyRange(data) {
  const {line} = data.curves;
  const known = (list) => list.filter((value) => value !== null);
  const values = [line, ...otherLines(data.curves)].flatMap((one) => known(one.mean));
  for (const [place, mean] of line.mean.entries()) {
    if (mean !== null) values.push(mean - line.spread[place], mean + line.spread[place]);
  }
  values.push(...data.levels.map((level) => level.value));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max(high - low, 0.02) * 0.08;
  return [Math.max(low - margin, 0), Math.min(high + margin, 1)];
}

function percentText(share, digits = 1) {
  return `${(100 * share).toFixed(digits)} %`;
}

/** A flip rate in few characters: 0.3 %, 12 %, <0.1 %. */
function rateText(share) {
  if (share === null || share === undefined) return "";
  if (share > 0 && share < 0.001) return "<0.1 %";
  return percentText(share, share < 0.1 && share > 0 ? 1 : 0);
}
