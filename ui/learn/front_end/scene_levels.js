// Scene of one tree that grows: the rows of the tree fall from level to level, and each level has more leaves than the
// one above. A blue leaf has rows and publishes its true label, a gray one publishes a lie, and a hollow one is empty.

const LEVEL_TIME = 1.7; // seconds for a level

function levelsScene(svg, data, {width, height, em}) {
  const {levels} = data;
  const [left, right] = [2.2 * em, data.hasResults ? 6.4 * em : 4.8 * em];
  const [room, step] = [width - left - right, (height - 1.4 * em) / levels.length];
  svg.append(shape("text", {class: "line", x: 0, y: em}, data.heads[0]));
  svg.append(shape("text", {class: "line", x: width, y: em, "text-anchor": "end"}, data.heads[1]));
  const strips = levels.map((level, place) => stripPicture(svg, level, {left, room, em,
    top: 1.4 * em + place * step, height: Math.min(0.62 * step, 1.6 * em), end: width}));
  const rows = Array.from({length: data.rows}, (_, i) => {
    const dot = shape("circle", {class: "student marked", r: 3});
    svg.append(dot);
    return {dot, start: left + ((i + 0.5) / data.rows) * room};
  });
  const seconds = LEVEL_TIME * levels.length;

  function draw(t) {
    const now = Math.min(Math.floor(t / LEVEL_TIME), levels.length - 1);
    const share = passed(t, now * LEVEL_TIME, (now + 0.6) * LEVEL_TIME);
    for (const [i, {dot, start}] of rows.entries()) {
      const from = now ? strips[now - 1].placeOf(i) : [start, 0];
      const to = strips[now].placeOf(i);
      change(dot, {opacity: t < seconds ? 1 : 0, cx: between(from[0], to[0], slowly(share)).toFixed(1),
        cy: between(from[1], to[1], slowly(share)).toFixed(1)});
    }
    for (const [place, strip] of strips.entries()) {
      const time = t - place * LEVEL_TIME;
      strip.draw(time >= 0.6 * LEVEL_TIME, time >= 0.8 * LEVEL_TIME || t >= seconds);
    }
    return t < seconds ? `Depth ${now + 1}: ${data.levels[now].n_leaves.toLocaleString("en")} leaves` : data.end;
  }
  return {seconds, draw};
}

/** The leaves of a level side by side: {draw(isFilled, isNoisy), placeOf(row)}. */
function stripPicture(svg, level, {left, room, em, top, height, end}) {
  const wide = room / level.n_leaves;
  const group = shape("g");
  const gap = wide > 6 ? 2 : 0;
  group.append(shape("rect", {class: "strip", x: left, y: top, width: room, height, rx: 2}));
  for (let i = 1; gap && i < level.n_leaves; i += 1) {
    group.append(shape("line", {class: "strip", x1: left + i * wide, x2: left + i * wide, y1: top, y2: top + height}));
  }
  const filled = level.filled.map(([leaf]) => {
    const box = shape("rect", {x: left + leaf * wide + gap / 2, y: top, width: Math.max(wide - gap, 2), height});
    group.append(box);
    return box;
  });
  const places = level.filled.flatMap(([leaf, rows]) =>
    Array.from({length: rows}, (_, i) => left + (leaf + (i + 0.5) / rows) * wide));
  const middle = top + height / 2;
  const words = shape("text", {class: "line first", x: end, y: middle + 0.36 * em, "text-anchor": "end"});
  const name = shape("text", {class: "line first", x: 0, y: middle + 0.36 * em}, String(level.depth));
  svg.append(group, words, name);
  return {
    placeOf: (row) => [places[row] ?? left, middle],
    draw(isFilled, isNoisy) {
      change(group, {opacity: isFilled ? 1 : 0.25});
      for (const [i, box] of filled.entries()) {
        change(box, {class: !isFilled ? "leaf hidden" : isNoisy && level.lies[i] === "1" ? "leaf lie" : "leaf"});
      }
      write(words, isNoisy ? level.words : "");
    },
  };
}
