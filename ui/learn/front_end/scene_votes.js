// Scene of a forest that votes on one row: the trees vote one after the other, and the votes for each class add up.
// A full tree votes with the true label of its leaf, an outlined tree with a lie, and a pale tree from an empty leaf.

const VOTE_COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"];

function votesScene(svg, data, {width, height, em}) {
  const isNarrow = width < 22 * em;
  const {votes, kinds, classes} = data;
  const room = isNarrow ? [width, height - 2.5 * em * classes.length - 1.3 * em * data.legend.length - 0.5 * em] : [0.56 * width, height];
  const cell = cellSize(votes.length, room[0], room[1]);
  const perRow = Math.max(Math.floor(room[0] / cell), 1);
  const trees = Array.from(votes, (vote, i) => {
    const tree = treeGlyph((i % perRow) * cell + cell / 2, Math.floor(i / perRow) * cell + 0.08 * cell, 0.84 * cell);
    svg.append(tree);
    return {tree, label: Number(vote), kind: kinds[i]};
  });
  const left = isNarrow ? 0 : room[0] + 1.5 * em;
  const top = isNarrow ? room[1] + 1.2 * em : Math.max((height - 2.5 * em * classes.length - 1.3 * em * data.legend.length) / 2, 0) + em;
  const most = Math.max(...classes.map((_, label) => trees.filter((tree) => tree.label === label).length));
  const wide = width - left - 3 * em;
  const bars = classes.map((name, label) => {
    const y = top + label * 2.5 * em;
    const words = shape("text", {class: "line first", x: left, y});
    const bar = shape("rect", {x: left, y: y + 0.4 * em, height: 0.8 * em, width: 0, fill: VOTE_COLORS[label], rx: 2});
    const number = shape("text", {class: "line first", x: left, y: y + 1.15 * em});
    svg.append(words, bar, number);
    return {name, words, bar, number};
  });

  const legend = lines(left, top + classes.length * 2.5 * em, em, data.legend.length, "start", "quiet");
  legend.write(data.legend);
  svg.append(legend.group);

  function draw(t) {
    const n = Math.round(passed(t, 0, data.seconds) * trees.length);
    const counts = classes.map(() => 0);
    for (const [i, {tree, label, kind}] of trees.entries()) {
      const hasVoted = i < n;
      if (hasVoted) counts[label] += 1;
      const color = VOTE_COLORS[label];
      change(tree, {class: hasVoted ? "tree" : "tree waiting", stroke: hasVoted ? color : "",
        fill: hasVoted && kind !== "l" ? color : "none", "fill-opacity": kind === "e" ? 0.3 : 1});
    }
    const leading = Math.max(...counts);
    for (const [label, {name, words, bar, number}] of bars.entries()) {
      const length = (wide * counts[label]) / most;
      change(bar, {width: length.toFixed(1)});
      change(number, {x: (left + length + 0.4 * em).toFixed(1)});
      write(words, label === data.truth ? `${name} ✓` : name);
      write(number, String(counts[label]));
      change(number, {class: n && counts[label] === leading ? "line first" : "line"});
    }
    const end = n === trees.length ? data.end : `${n} of ${trees.length} trees have voted`;
    return end;
  }
  return {seconds: data.seconds, draw};
}

/** The largest size of n square cells that fit into a room. */
function cellSize(n, width, height) {
  let size = Math.min(width, height, 110);
  while (Math.floor(width / size) * Math.floor(height / size) < n) size *= 0.97;
  return size;
}
