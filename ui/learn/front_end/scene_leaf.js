// Scene of one leaf: thirty students fall through a tree, some of them into the marked leaf, whose count rises. Then the
// leaf publishes its label a hundred times, and now and then the wrong one. The tree is a sketch; the draws are data.

const [PAUSE, FALL] = [0.07, 1.3]; // seconds between two students, and seconds of a fall
const MARKED = 1; // the second of the four leaves

function leafScene(svg, data, {width, height, em}) {
  const isNarrow = width < 22 * em;
  const hasDraws = data.panel.draws !== "";
  const treeWidth = isNarrow ? width : hasDraws ? 0.56 * width : Math.min(width, 30 * em);
  const treeHeight = isNarrow && hasDraws ? 0.5 * height : height;
  const [rootY, innerY, leafY] = [1.4 * em, 0.3 * treeHeight, 0.56 * treeHeight];
  const [boxWidth, boxHeight] = [treeWidth / 4 - 0.4 * em, Math.min(0.22 * treeHeight, 4 * em)];
  const leafX = (leaf) => (leaf + 0.5) * (treeWidth / 4);
  const innerX = (leaf) => (leaf < 2 ? 0.25 : 0.75) * treeWidth;
  const rootX = treeWidth / 2;
  for (const inner of [0, 2]) {
    svg.append(shape("line", {class: "edge", x1: rootX, y1: rootY, x2: innerX(inner), y2: innerY}));
    for (const leaf of [inner, inner + 1]) {
      svg.append(shape("line", {class: "edge", x1: innerX(leaf), y1: innerY, x2: leafX(leaf), y2: leafY}));
    }
  }
  for (const [x, y] of [[rootX, rootY], [innerX(0), innerY], [innerX(2), innerY]]) {
    svg.append(shape("circle", {class: "node", cx: x, cy: y, r: 0.35 * em}));
  }
  const leaves = [0, 1, 2, 3].map((leaf) => {
    const isMarked = leaf === MARKED;
    svg.append(shape("rect", {class: isMarked ? "box marked" : "box", x: leafX(leaf) - boxWidth / 2, y: leafY,
      width: boxWidth, height: boxHeight, rx: 6}));
    const words = lines(leafX(leaf), leafY + boxHeight + 1.2 * em, em, isMarked ? 2 : 1, "middle");
    svg.append(words.group);
    return words;
  });
  const ends = placesOf(data.students, data.total);
  const perRow = Math.max(Math.floor(boxWidth / (0.72 * em)), 1);
  const dots = ends.map(({leaf, place}) => {
    const dot = shape("circle", {class: leaf === MARKED ? "student marked" : "student", r: 0.27 * em});
    svg.append(dot);
    const x = leafX(leaf) - boxWidth / 2 + ((place % perRow) + 0.55) * (boxWidth / perRow);
    const y = leafY + 0.5 * em + Math.floor(place / perRow) * 0.75 * em;
    return {dot, leaf, stops: [[rootX, -em], [rootX, rootY], [innerX(leaf), innerY], [x, y]]};
  });
  const panelLeft = isNarrow ? 0 : treeWidth + 1.5 * em;
  const panelTop = isNarrow ? treeHeight + 1.6 * em : 1.6 * em;
  const size = Math.min(width - panelLeft, height - panelTop - 3.2 * em);
  const picture = hasDraws ? panelPicture(svg, data.panel,
    {left: isNarrow ? (width - size) / 2 : panelLeft, top: panelTop, size, em, isAlone: false}) : null;
  const fallen = PAUSE * data.total + FALL;
  const seconds = fallen + (hasDraws ? data.seconds : 0);

  function draw(t) {
    const counts = [0, 0, 0, 0];
    for (const [i, {dot, leaf, stops}] of dots.entries()) {
      const share = passed(t, i * PAUSE, i * PAUSE + FALL);
      if (share === 1) counts[leaf] += 1;
      const leg = Math.min(Math.floor(share * 3), 2);
      const part = slowly(share * 3 - leg);
      const [from, to] = [stops[leg], stops[leg + 1]];
      change(dot, {cx: between(from[0], to[0], part).toFixed(1), cy: between(from[1], to[1], part).toFixed(1)});
    }
    const share = hasDraws ? passed(t, fallen, seconds) : 0;
    if (picture) picture.draw(share);
    const at = Math.round(share * data.panel.draws.length) - 1;
    const isLying = share > 0 && share < 1 && data.panel.draws[at] === "1";
    for (const [leaf, words] of leaves.entries()) {
      const label = isLying ? data.wrong : data.label;
      words.write(leaf === MARKED ? [`${counts[leaf]} failed`, t >= fallen ? `“${label}”` : ""] : [String(counts[leaf])]);
    }
    change(leaves[MARKED].group, {class: isLying ? "lying" : ""});
    if (t < fallen) return data.falling;
    return share < 1 && hasDraws ? data.running : data.end;
  }
  return {seconds, draw};
}

/** The leaf of each student, and the student's place in this leaf. Students of the marked leaf come in between. */
function placesOf(students, total) {
  const others = [0, 2, 3];
  const counts = [0, 0, 0, 0];
  return Array.from({length: total}, (_, i) => {
    const isMarked = Math.floor(((i + 1) * students) / total) > Math.floor((i * students) / total);
    const leaf = isMarked ? MARKED : others[i % others.length];
    counts[leaf] += 1;
    return {leaf, place: counts[leaf] - 1};
  });
}
