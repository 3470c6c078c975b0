// One tree as SVG: its questions, and at each end the label with the rate at which noise flips it. Below it are the
// first trees of the forest as small drawings, each with its vote on one record.

const ROW = 46; // height in pixels of a level with text
const LEAST_TEXT = 6; // characters; a question of which less fits becomes a dot
const LEAST_LABEL = 4; // characters; of a label of which less fits, only the flip rate is shown
const MARKS = new Map([["yes", "✓"], ["no", "✗"], ["no or missing", "✗"]]);
const MOST_TEXTS = 5000; // largest number of measured texts that are kept
const pen = document.createElement("canvas").getContext("2d"); // measures text without a layout of the page
const characters = new Intl.Segmenter(undefined, {granularity: "grapheme"}); // counts an emoji as one character
const measured = new Map();

/** Set the font in which texts are measured: the boldest font of the drawing, whose texts are the widest. */
function measureBy(svg) {
  const {fontSize, fontFamily} = window.getComputedStyle(svg);
  const font = `600 ${fontSize} ${fontFamily}`;
  if (pen.font === font) return;
  pen.font = font;
  measured.clear();
}

/** The result of `compute`. It is computed once for each key. */
function once(key, compute) {
  if (measured.size > MOST_TEXTS) measured.clear();
  if (!measured.has(key)) measured.set(key, compute());
  return measured.get(key);
}

function textWidth(text) {
  return once(`width\n${text}`, () => pen.measureText(text).width);
}

/**
 * The color of a flip rate: {fill, ink}, where ink is readable on fill. The scale is Viridis, which readers with any
 * color vision can follow. It goes from dark violet for 0 to yellow for `top`.
 */
function flipColor(share, top) {
  const stops = [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];
  const place = Math.min(Math.max(share / top, 0), 1) * (stops.length - 1);
  const before = Math.min(Math.floor(place), stops.length - 2);
  const mixed = stops[before].map((value, i) => value + (place - before) * (stops[before + 1][i] - value));
  const isDark = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2] < 130;
  return {fill: `rgb(${mixed.map(Math.round).join(",")})`, ink: isDark ? "#fff" : "#111"};
}

/** A text, cut to a width in pixels. It is empty if not even one character and an ellipsis fit. */
function fitted(text, width) {
  if (textWidth(text) <= width) return text;
  return once(`cut\n${Math.floor(width)}\n${text}`, () => {
    const parts = Array.from(characters.segment(text), (part) => part.segment);
    while (parts.length && pen.measureText(`${parts.join("")}…`).width > width) parts.pop();
    return parts.length ? `${parts.join("")}…` : "";
  });
}

/** The longest form of a leaf's value that fits: "+0.74 ± 0.1", "+0.74", "+0.7". */
function fittedValue(text, width) {
  const value = text.split(" ± ")[0];
  const rounded = `${value.startsWith("-") ? "" : "+"}${Number(value).toFixed(1)}`;
  const forms = [text, value, rounded].map((form) => form.replace("-", "−"));
  return forms.find((form) => textWidth(form) <= width) ?? "";
}

/** The color scale as a CSS gradient, from no flips to pure noise. */
function flipGradient() {
  const steps = [0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => flipColor(share, 1).fill);
  return `linear-gradient(to right, ${steps.join(", ")})`;
}

/** Of a tree of a booster: the largest absolute value of a leaf, and 0 for other trees. */
function mostAdded(tree) {
  return Math.max(0, ...tree.nodes.filter((node) => node.value).map((node) => Math.abs(parseFloat(node.value))));
}

/** The color of a leaf's value: orange for a negative value, blue for a positive one, and pale near 0. */
function valueColor(value, most) {
  const share = Math.sqrt(Math.abs(value) / (most || 1)); // the root, because most values are far below the largest one
  return `rgb(${value < 0 ? "213 94 0" : "0 114 178"} / ${(0.6 * share).toFixed(3)})`;
}

/** The picture of the tree: {draw(at), flicker(at), settle()}. */
function treePicture(svg, data) {
  const {tree} = data;
  svg.replaceChildren();
  if (!tree) return {draw() {}, flicker() {}, settle() {}};
  measureBy(svg);
  const places = placesIn(svg, tree);
  const nodes = tree.nodes.map((node) => nodePicture(node, tree.nodes[node.parent], places, data));
  const edges = shape("g", {class: "edges"});
  edges.append(...nodes.flatMap(({edge}) => edge ?? []));
  svg.append(edges, ...nodes.map(({group}) => group));
  const joined = shape("text", {class: "answer", x: 0, y: places.height - 3});
  if (places.levels < tree.depth) svg.append(joined);
  const flipAt = ({flips, label}, epsilon) =>
    (flips && label >= 0 ? valueAt(data.curves.epsilons, flips, epsilon).value : null);
  const drawNodes = (at, labels) => {
    for (const [i, {node, draw}] of nodes.entries()) draw(at, flipAt(node, at.epsilon), labels ? labels[i] : null);
  };

  let last = null;
  return {
    draw(at) {
      const key = `${at.epsilon} ${Math.min(at.depth, places.levels)}`;
      if (key === last) return;
      last = key;
      const levels = Math.min(at.depth, places.levels);
      setText(joined, `${levels} of ${tree.depth} levels; each box joins the leaves below it`);
      drawNodes(at, null);
    },
    /** Draw the noise once: an end flips with its flip rate, and then shows the class that most likely replaces it. */
    flicker(at) {
      last = null;
      const isFlipped = (flip) => flip !== null && Math.random() < flip;
      drawNodes(at, nodes.map(({node}) => (isFlipped(flipAt(node, at.epsilon)) ? node.other : null)));
    },
    /** End the flicker, so that the next drawing shows the labels without noise. */
    settle() {
      last = null;
    },
  };
}

/** The places of the nodes in pixels: functions of a node, and the height of a level. */
function placesIn(svg, tree) {
  const {width, height} = svg.getBoundingClientRect();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const levels = Math.max(...tree.nodes.map((node) => node.level));
  const isCut = levels < tree.depth; // then a line of text stands below the tree
  const step = levels ? Math.min(ROW, isCut ? (height - 24) / (levels + 1) : (height - ROW) / levels) : ROW;
  const middle = (node) => ((node.left + node.right) / 2) * width;
  const upper = (node) => 14 + node.level * step;
  const room = (node) => (node.right - node.left) * width;
  return {levels, height, step, middle, upper, room};
}

/**
 * One node: {node, edge, group, draw(at, flip, label)}. It is a question above the depth of `at`, and an end at this
 * depth. Its elements are made when they are first shown; after that, each drawing changes only what differs.
 */
function nodePicture(node, parent, places, data) {
  const edge = parent ? edgePicture(node, parent, places) : null;
  const [group, title] = [shape("g"), shape("title")];
  const isAlwaysEnd = node.asks === "" || node.flips !== null;
  let [question, end, shown] = [null, null, null];
  function draw(at, flip, label) {
    const isShown = node.level <= at.depth;
    group.style.display = edge && !isShown ? "none" : "";
    if (edge) edge.style.display = group.style.display;
    if (!isShown) return;
    const isEnd = isAlwaysEnd || node.level >= at.depth;
    if (isEnd) {
      end ??= endPicture(node, places, data);
      end.draw(flip, label);
      setText(title, endWords(node, flip, at, data));
    } else {
      question ??= questionPicture(node, places);
      setText(title, `${node.asks} ${amountOf(node, data)}`);
    }
    const elements = isEnd ? end.elements : question;
    if (elements !== shown) group.replaceChildren(title, ...elements);
    shown = elements;
  }
  return {node, edge, group, draw};
}

/** The line from a node to its parent, with the answer that leads to the node if there is room for it. */
function edgePicture(node, parent, {step, middle, upper, room}) {
  const edge = shape("g");
  const [x, fromX] = [middle(node), middle(parent)];
  edge.append(shape("line", {x1: fromX, y1: upper(parent) + 6, x2: x, y2: upper(node) - 11}));
  if (room(node) > 26 && step > 30) {
    const answer = MARKS.get(node.answer) ?? fitted(node.answer, room(node) - 10);
    edge.append(shape("text", {class: "answer", x: (fromX + 2 * x) / 3, y: upper(parent) + 0.6 * step,
      "text-anchor": x < fromX ? "end" : "start"}, answer));
  }
  return edge;
}

/** The elements of a question: its text in a box, or a dot where there is no room for text. */
function questionPicture(node, {step, middle, upper, room}) {
  const [x, y] = [middle(node), upper(node)];
  const text = step > 20 ? fitted(node.asks, Math.min(room(node) - 10, 260)) : "";
  const isTooShort = text.length < LEAST_TEXT && text !== node.asks;
  if (isTooShort) return [shape("circle", {class: "question", cx: x, cy: y - 2, r: 3})];
  const half = textWidth(text) / 2 + 5;
  return [shape("rect", {class: "question", x: x - half, y: y - 11, width: 2 * half, height: 19, rx: 5}),
    shape("text", {class: "question", x, y: y + 3, "text-anchor": "middle"}, text)];
}

/** An end: {elements, draw(flip, label)}. While leaves flicker, `label` replaces the label of the node. */
function endPicture(node, {step, middle, upper, room}, {tree}) {
  const [x, y] = [middle(node), upper(node)];
  const width = Math.max(Math.min(room(node) - 2, 96), 1.5);
  const height = step > 30 ? 37 : Math.max(step - 2, 8);
  const box = shape("rect", {x: x - width / 2, y: y - 11, width, height, rx: Math.min(4, width / 3)});
  const top = 1 - 1 / tree.classes.length; // the flip rate of pure noise
  const added = node.value ? valueColor(parseFloat(node.value), mostAdded(tree)) : null;
  const plain = node.label < 0 ? "end unknown" : "end joined"; // without rows, or above leaves whose rates are shown
  // A leaf of a booster has no label: it shows what it adds to the score, with the noise beside it.
  const words = (label) => (node.value
    ? fittedValue(node.value, width - 4)
    : fitted(label === null ? labelOf(node, tree) : tree.classes[label], width - 4));
  const shown = words(null);
  const isCutShort = !node.value && shown.length < LEAST_LABEL && shown !== labelOf(node, tree);
  const hasWords = height > 28 && shown !== "" && !isCutShort;
  const hasRate = height > 28 && !node.value && width > 34 && node.flips !== null && node.label >= 0;
  const labelText = shape("text", {class: "label", x, y: y + (hasRate ? 3 : 12), "text-anchor": "middle"});
  const rate = shape("text", {class: "rate", x, y: y + (hasWords ? 19 : 12), "text-anchor": "middle"});
  function draw(flip, label) {
    const color = flip === null || added ? null : flipColor(flip, top);
    setAttribute(box, "class", color || added ? "end" : plain);
    setAttribute(box, "fill", added ?? (color ? color.fill : "none"));
    if (!hasWords && !hasRate) return;
    setText(labelText, words(label));
    setText(rate, rateText(flip));
    setAttribute(labelText, "class", label === null || added ? "label" : "label flipped");
    const ink = color ? color.ink : "";
    for (const text of [labelText, rate]) text.style.fill = ink; // an attribute would not override the style sheet
  }
  const elements = [box, ...(hasWords ? [labelText] : []), ...(hasRate ? [rate] : [])];
  return {elements, draw};
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function labelOf(node, tree) {
  return node.label < 0 ? "no rows" : tree.classes[node.label];
}

/** The number of rows of a node as text, or with a unit of privacy the numbers of persons and rows. */
function amountOf(node, {words}) {
  const counted = many(node.rows, words.rows);
  return node.rows_of_persons === null ? counted : `${counted} in ${many(node.rows_of_persons, "rows")}`;
}

const [WHOLE, DECIMAL] = [0, 1].map((digits) => new Intl.NumberFormat("en", {maximumFractionDigits: digits}));

/** A number with its noun. Small numbers have a decimal, because a row may count as a third of a person. */
function many(number, nouns) {
  const text = (number < 10 ? DECIMAL : WHOLE).format(number);
  return `${text} ${text === "1" ? nouns.slice(0, -1) : nouns}`;
}

/** The title of an end: its label or value, its rows, and its flip rate. */
function endWords(node, flip, at, data) {
  if (node.label < 0) return "No rows: the label is pure noise.";
  const [label, amount] = [labelOf(node, data.tree), amountOf(node, data)];
  const below = node.below > 1 ? ` (${node.below} leaves together)` : "";
  if (node.value) return `Adds ${node.value} to the score of ${amount}${below}, most of them ${label}.`;
  const flips = flip === null ? "" : `; noise flips the label in ${rateText(flip)} of releases at ε = ${at.epsilon}`;
  return `${label}: ${amount}${below}${flips}`;
}

const CLASS_COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5C00"];
const OTHER_COLOR = "#8A929C";
const MOST_NAMES = 3; // largest number of classes in the line of votes
const [SMALL_WIDTH, SMALL_HEIGHT] = [56, 40]; // largest width and height of a small tree, in pixels
const MORE_WIDTH = 36; // room after the small trees for the number of trees that are not drawn

/** The small trees: {draw(at)}. It shows as many trees as `at` has, and writes the votes of the forest into `tally`. */
function smallTrees(svg, tally, data) {
  svg.replaceChildren();
  svg.style.visibility = data.votes ? "" : "hidden"; // keeps its place until the votes arrive
  tally.replaceChildren();
  if (!data.votes) return {draw() {}};
  const {trees, votes, classes, n_trees: nTrees} = data.votes;
  const {width} = svg.getBoundingClientRect();
  const room = Math.min((width - MORE_WIDTH) / trees.length, SMALL_WIDTH);
  svg.setAttribute("viewBox", `0 0 ${width} ${SMALL_HEIGHT}`);
  const isVote = votes.length > 0; // the trees of boosters add numbers to scores
  const order = byVotes(isVote ? votes : votesOf(trees, classes.length));
  const hasColors = classes.length <= CLASS_COLORS.length; // else the classes with the most votes get the colors
  const colorOf = (label) => CLASS_COLORS[hasColors ? label : order.indexOf(label)] ?? OTHER_COLOR;
  const hasNumbers = trees.every(({added}) => added && textWidth(added) + 4 < room);
  const drawn = trees.map((tree, place) => {
    const group = shape("g");
    const x = (node) => place * room + 3 + (node[0] / 99) * (room - 8);
    const y = (node) => 4 + node[1] * (hasNumbers ? 5.5 : 8);
    const line = (child) => {
      const node = tree.nodes[child];
      const parent = tree.nodes[node[2]];
      return `M${x(parent).toFixed(1)} ${y(parent)}L${x(node).toFixed(1)} ${y(node)}`;
    };
    const below = [...tree.nodes.keys()].slice(1);
    group.append(shape("path", {class: "small", d: below.map(line).join("")}));
    group.append(shape("path", {class: "passed", d: tree.path.slice(1).map(line).join("")}));
    const end = tree.nodes[tree.path.at(-1)];
    group.append(shape("circle", {class: "vote", cx: x(end), cy: y(end) + 2, r: 3.5, fill: colorOf(tree.label)}));
    const number = tree.added.replace("-", "−");
    if (hasNumbers) group.append(shape("text", {class: "answer", x: place * room, y: SMALL_HEIGHT - 1}, number));
    const of = tree.score < 0 ? "" : ` (score of ${classes[tree.score]})`;
    group.append(shape("title", {}, `Tree ${place + 1}${of}: ${number} ${of ? "" : classes[tree.label] ?? ""}`));
    svg.append(group);
    return group;
  });
  const more = shape("text", {class: "answer", x: trees.length * room + 4, y: SMALL_HEIGHT / 2});
  svg.append(more);

  return {
    draw(at) {
      const all = Math.round(at.trees === null ? nTrees : at.trees * nTrees / data.trees.value); // of all classes
      const n = Math.min(all, trees.length);
      for (const [place, group] of drawn.entries()) group.style.display = place < n ? "" : "none";
      // The votes of other releases, and of trees that are not drawn, are unknown until the server answers.
      const isAway = ["epsilon", "depth", "alpha"].some((control) => at[control] !== data[control].value);
      const isWhole = at.trees === data.trees.value || at.trees === null;
      const isKnown = !isAway && (isWhole || n === all);
      const counts = isVote && isWhole ? votes : votesOf(trees.slice(0, n), classes.length);
      tally.replaceChildren(...(isKnown ? words(counts) : []));
      tally.title = tally.textContent; // long words are cut
      setText(more, all > n ? `+${all - n}` : "");
    },
  };

  /** The classes with the most votes, each after a dot in its color: ● 26 of 40 benign ● 9 malignant ● 5 other. */
  function words(counts) {
    const total = counts.reduce((sum, count) => sum + count, 0);
    const name = (label) => {
      const word = fitted(classes[label], 150);
      return /^[\d.]/.test(word) ? `“${word}”` : word; // a number of votes stands before the name
    };
    const key = (color, text) => {
      const dot = document.createElement("span");
      dot.className = "key";
      dot.style.background = color;
      return [dot, text];
    };
    const [named, others] = [byVotes(counts).slice(0, MOST_NAMES), byVotes(counts).slice(MOST_NAMES)];
    const keys = named.flatMap((label, place) => key(colorOf(label),
      isVote ? `${counts[label]}${place ? "" : ` of ${total}`} ${name(label)}` : `for ${name(label)}`));
    const other = others.reduce((sum, label) => sum + counts[label], 0);
    return other ? [...keys, ...key(OTHER_COLOR, isVote ? `${other} other` : "for others")] : keys;
  }
}

/** The classes with votes, those with the most votes first. */
function byVotes(counts) {
  return [...counts.keys()].filter((label) => counts[label]).sort((a, b) => counts[b] - counts[a]);
}

/** The number of these trees that vote for each class. */
function votesOf(trees, nClasses) {
  const counts = Array(nClasses).fill(0);
  for (const {label} of trees) if (label >= 0) counts[label] += 1;
  return counts;
}
