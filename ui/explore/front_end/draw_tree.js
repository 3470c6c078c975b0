// One tree as SVG: its questions, and at each end the label with the rate at which noise flips it. Below it are the
// first trees of the forest as small drawings, each with its vote on one record.

const ROW = 46; // height in pixels of a level with text
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
 * The color of a flip rate: {fill, ink}, where ink is readable on fill. The scale is Cividis, which readers with any
 * color vision can follow. It goes from dark blue for 0 to yellow for `top`.
 */
function flipColor(share, top) {
  const stops = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];
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

/** The picture of the tree: {draw(at), flicker(at), settle()}. */
function treePicture(svg, data) {
  const {tree} = data;
  svg.replaceChildren();
  if (!tree) return {draw() {}, flicker() {}, settle() {}};
  measureBy(svg);
  const {width, height} = svg.getBoundingClientRect();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const most = Math.max(...tree.nodes.map((node) => node.level));
  const top = 1 - 1 / tree.classes.length; // the flip rate of pure noise
  const step = most ? Math.min(ROW, (height - ROW) / most) : ROW;
  const middle = (node) => ((node.left + node.right) / 2) * width;
  const upper = (level) => 14 + level * step;
  const edges = shape("g", {class: "edges"});
  const drawn = tree.nodes.map((node) => {
    const parent = node.parent < 0 ? null : tree.nodes[node.parent];
    let edge = null;
    if (parent) {
      edge = shape("g");
      edge.append(shape("line", {x1: middle(parent), y1: upper(parent.level) + 6, x2: middle(node),
        y2: upper(node.level) - 11}));
      const room = (node.right - node.left) * width;
      if (room > 26 && step > 30) {
        const mark = MARKS.get(node.answer) ?? fitted(node.answer, room - 10);
        edge.append(shape("text", {class: "answer", x: (middle(parent) + 2 * middle(node)) / 3,
          y: upper(parent.level) + 0.6 * step, "text-anchor": middle(node) < middle(parent) ? "end" : "start"}, mark));
      }
      edges.append(edge);
    }
    return {node, edge, group: shape("g"), title: shape("title"), drawnLabel: null};
  });
  svg.append(edges, ...drawn.map((one) => one.group));

  const isEnd = (node, depth) => node.asks === "" || node.flips !== null || node.level >= depth;
  const labelOf = (node) => (node.label < 0 ? "no rows" : tree.classes[node.label]);
  const flipAt = (node, epsilon) =>
    node.flips && node.label >= 0 ? valueAt(data.curves.epsilons, node.flips, epsilon) : {value: null, isExact: false};

  /** Draw one node. While leaves flicker, `drawnLabel` of a leaf replaces its label. */
  function drawNode({node, edge, group, title, drawnLabel: label}, at) {
    const isShown = node.level <= at.depth;
    group.style.display = edge && !isShown ? "none" : "";
    if (edge) edge.style.display = isShown ? "" : "none";
    if (!isShown) return;
    const room = (node.right - node.left) * width;
    group.replaceChildren(title);
    if (!isEnd(node, at.depth)) {
      const text = room > 34 ? fitted(node.asks, Math.min(room - 10, 260)) : "";
      if (text && step > 20) {
        const half = textWidth(text) / 2 + 5;
        group.append(shape("rect", {class: "question", x: middle(node) - half, y: upper(node.level) - 11,
          width: 2 * half, height: 19, rx: 5}));
        group.append(shape("text", {class: "question", x: middle(node), y: upper(node.level) + 3,
          "text-anchor": "middle"}, text));
      }
      else group.append(shape("circle", {class: "question", cx: middle(node), cy: upper(node.level) - 2, r: 3}));
      title.textContent = `${node.asks} ${amount(node)}`;
      return;
    }
    const {value} = flipAt(node, at.epsilon);
    const color = value === null ? null : flipColor(value, top);
    const boxWidth = Math.max(Math.min(room - 2, 96), 1.5);
    const boxHeight = step > 30 ? 33 : Math.max(step - 2, 8);
    group.append(shape("rect", {class: color ? "end" : "end unknown", x: middle(node) - boxWidth / 2,
      y: upper(node.level) - 11, width: boxWidth, height: boxHeight, rx: Math.min(4, boxWidth / 3),
      ...(color ? {fill: color.fill} : {})}));
    const shown = label === null ? labelOf(node) : tree.classes[label];
    // A leaf of a booster has no label: it shows what it adds to the score, with the noise beside it.
    const words = node.value ? fittedValue(node.value, boxWidth - 4) : fitted(shown, boxWidth - 4);
    if (words && boxHeight > 28) {
      const ink = color ? {ink: color.ink} : {};
      group.append(shape("text", {class: label === null ? "label" : "label flipped",
        x: middle(node), y: upper(node.level) + 3, "text-anchor": "middle", ...ink}, words));
      const below = node.value || boxWidth <= 26 ? "" : rateText(value);
      if (below) {
        group.append(shape("text", {class: "rate", x: middle(node), y: upper(node.level) + 15,
          "text-anchor": "middle", ...ink}, below));
      }
    }
    title.textContent = endWords(node, value, at);
  }

  /** Return the number of rows of a node as text, or with a unit of privacy the numbers of persons and rows. */
  function amount(node) {
    const counted = many(node.rows, data.words.rows);
    return node.rows_of_persons === null ? counted : `${counted} in ${many(node.rows_of_persons, "rows")}`;
  }

  /** Return a number with its noun. Small numbers have a decimal, because a row may count as a third of a person. */
  function many(number, nouns) {
    const text = number.toLocaleString("en", {maximumFractionDigits: number < 10 ? 1 : 0});
    return `${text} ${text === "1" ? nouns.slice(0, -1) : nouns}`;
  }

  function endWords(node, value, at) {
    if (node.label < 0) return "No rows: the label is pure noise.";
    const share = rateText(value);
    const flips = value === null ? "" : `; noise flips the label in ${share} of releases at ε = ${at.epsilon}`;
    const below = node.below > 1 ? ` (${node.below} leaves together)` : "";
    if (node.value) return `Adds ${node.value} to the score of ${amount(node)}${below}, most of them ${labelOf(node)}.`;
    return `${labelOf(node)}: ${amount(node)}${below}${flips}`;
  }

  let last = null;
  return {
    draw(at) {
      const key = `${at.epsilon} ${Math.min(at.depth, most)}`;
      if (key === last) return;
      last = key;
      for (const one of drawn) drawNode(one, at);
    },
    /** Draw the noise once: an end flips with its flip rate, and then shows the class that most likely replaces it. */
    flicker(at) {
      last = null;
      for (const one of drawn) {
        const {value} = flipAt(one.node, at.epsilon);
        one.drawnLabel = value !== null && Math.random() < value ? one.node.other : null;
      }
      this.draw(at);
    },
    /** End the flicker, so that the next drawing shows the labels without noise. */
    settle() {
      last = null;
      for (const one of drawn) one.drawnLabel = null;
    },
  };
}

const CLASS_COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const [SMALL_WIDTH, SMALL_HEIGHT] = [56, 40]; // largest width and height of a small tree, in pixels

/** The small trees: {draw(at)}. It shows as many trees as `at` has, and writes the votes of the forest into `title`. */
function smallTrees(svg, title, data) {
  svg.replaceChildren();
  svg.style.display = data.votes ? "" : "none";
  title.textContent = "";
  if (!data.votes) return {draw() {}};
  const {trees, votes} = data.votes;
  const {width} = svg.getBoundingClientRect();
  const room = Math.min(width / trees.length, SMALL_WIDTH);
  svg.setAttribute("viewBox", `0 0 ${width} ${SMALL_HEIGHT}`);
  const drawn = trees.map((tree, place) => {
    const group = shape("g");
    const x = (node) => place * room + 3 + (node[0] / 99) * (room - 8);
    const y = (node) => 4 + node[1] * 8;
    const line = (child) => {
      const node = tree.nodes[child];
      const parent = tree.nodes[node[2]];
      return `M${x(parent).toFixed(1)} ${y(parent)}L${x(node).toFixed(1)} ${y(node)}`;
    };
    const below = [...tree.nodes.keys()].slice(1);
    group.append(shape("path", {class: "small", d: below.map(line).join("")}));
    group.append(shape("path", {class: "passed", d: tree.path.slice(1).map(line).join("")}));
    const end = tree.nodes[tree.path.at(-1)];
    const color = CLASS_COLORS[tree.label] ?? "#8A929C";
    group.append(shape("circle", {class: "vote", cx: x(end), cy: y(end) + 2, r: 3.5, fill: color}));
    const word = tree.added || (data.tree.classes[tree.label] ?? "");
    group.append(shape("title", {}, `Tree ${place + 1}: ${word}`));
    svg.append(group);
    return group;
  });

  return {
    draw(at) {
      const n = Math.min(at.trees ?? trees.length, trees.length);
      for (const [place, group] of drawn.entries()) group.style.display = place < n ? "" : "none";
      const isWhole = at.trees === data.trees.value || at.trees === null;
      title.textContent = votes.length ? tally(isWhole ? votes : votesOf(trees.slice(0, n), votes.length)) : "";
    },
  };

  /** The classes with the most votes, in words: 26 of 30 benign, 4 malignant. */
  function tally(counts) {
    const total = counts.reduce((sum, count) => sum + count, 0);
    const order = [...counts.keys()].filter((label) => counts[label]).sort((a, b) => counts[b] - counts[a]);
    const words = order.slice(0, 3).map((label, place) =>
      `${counts[label]}${place ? "" : ` of ${total}`} ${fitted(data.tree.classes[label], 150)}`);
    return `${words.join(", ")}${order.length > 3 ? ", …" : ""}`;
  }
}

/** The number of these trees that vote for each class. */
function votesOf(trees, nClasses) {
  const counts = Array(nClasses).fill(0);
  for (const tree of trees) counts[tree.label] += 1;
  return counts;
}
