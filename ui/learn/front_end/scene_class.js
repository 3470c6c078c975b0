// Scene of the thirty students: each published leaf is an equation about a group of students. After each tree, the
// attacker marks the students whose secret follows. Marks: 1 right, 0 wrong, 0.5 a coin decides, null not marked.

const MARK_SIGNS = new Map([[1, "✓"], [0, "✗"], [0.5, "?"]]);
const MARK_NAMES = new Map([[1, "right"], [0, "wrong"], [0.5, "coin"]]);

function classScene(svg, data, {width, height, em}) {
  const isNarrow = width < 22 * em;
  const {columns, trees} = data;
  const rows = Math.ceil(data.students / columns);
  const room = isNarrow ? [width, height - 6 * em] : [0.62 * width, height];
  const cell = Math.min(room[0] / columns, room[1] / rows);
  const tile = 0.78 * cell;
  const seats = Array.from({length: data.students}, (_, i) => {
    const [x, y] = [(i % columns) * cell + (cell - tile) / 2, Math.floor(i / columns) * cell + (cell - tile) / 2];
    const box = shape("rect", {class: "tile", x, y, width: tile, height: tile, rx: 4});
    const sign = shape("text", {class: "sign", x: x + tile / 2, y: y + tile / 2 + 0.36 * em, "text-anchor": "middle"});
    svg.append(box, sign);
    return {box, sign};
  });
  const side = isNarrow ? lines(0, rows * cell + 1.3 * em, em, 4) : lines(columns * cell + 1.2 * em, 1.2 * em, em, 7);
  svg.append(side.group);
  const each = trees.length ? Math.min(Math.max(data.seconds / trees.length, 1), 5) : 0; // seconds for a tree
  const seconds = each * trees.length;

  function draw(t) {
    const isOver = t >= seconds;
    const now = isOver ? trees.length : Math.floor(t / each);
    const tree = trees[now];
    const share = isOver ? 1 : (t - now * each) / each;
    const leaf = tree && share < 0.75 ? tree.leaves[Math.floor((share / 0.75) * tree.leaves.length)] : null;
    const before = now ? trees[now - 1].marks : [];
    const count = new Map([[1, 0], [0, 0], [0.5, 0]]);
    for (const [i, {box, sign}] of seats.entries()) {
      const isSolved = tree && share >= 0.75 + 0.25 * (i / seats.length);
      const mark = (isSolved ? tree.marks[i] : before[i]) ?? null;
      if (mark !== null) count.set(mark, count.get(mark) + 1);
      const inLeaf = leaf?.students.includes(i) ? " asked" : "";
      change(box, {class: `tile ${MARK_NAMES.get(mark) ?? ""}${inLeaf}`});
      change(sign, {class: `sign ${MARK_NAMES.get(mark) ?? ""}`});
      write(sign, MARK_SIGNS.get(mark) ?? "");
    }
    if (tree) side.write([`Tree ${now + 1} of ${trees.length}`, ...(leaf ? leaf.words : data.solving)]);
    else side.write(data.end);
    const total = [...count.values()].reduce((sum, n) => sum + n, 0);
    return total ? `${count.get(1)} right, ${count.get(0)} wrong${count.get(0.5) ? `, ${count.get(0.5)} by a coin` : ""}`
      : data.before;
  }
  return {seconds, draw};
}
