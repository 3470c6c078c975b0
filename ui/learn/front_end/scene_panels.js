// Scene of up to four panels of a hundred cells. The draws of a panel come one after the other: "1" counts, "0" does not.
// In a panel with piles, draws that count pile up from below, so that a line can show a limit for them.

const SIDE = 10; // cells in a row of a panel

function panelsScene(svg, data, {width, height, em}) {
  const {panels} = data;
  const columns = width < 22 * em && panels.length > 1 ? 2 : panels.length;
  const rows = Math.ceil(panels.length / columns);
  const most = Math.max(...panels.map(({below}) => below.length));
  const [roomX, roomY] = [width / columns, height / rows];
  const size = Math.min(roomX - 1.2 * em, roomY - (2.2 + 1.3 * most) * em);
  const isAlone = panels.length === 1 && width > size + 14 * em; // then the words stand on the right
  const full = isAlone ? Math.min(height - 1.8 * em, width - 14 * em) : size;
  const drawn = panels.map((panel, place) => {
    const left = isAlone ? 0 : (place % columns) * roomX + (roomX - full) / 2;
    const spare = isAlone ? 0 : Math.max(roomY - full - (1.9 + 1.3 * most) * em, 0) / 2;
    const top = Math.floor(place / columns) * roomY + 1.6 * em + spare;
    return panelPicture(svg, panel, {left, top, size: full, em, isAlone});
  });

  const hasDraws = panels.some(({draws}) => draws);

  function draw(t) {
    const share = hasDraws ? passed(t, 0, data.seconds) : 1;
    const counts = drawn.map((picture) => picture.draw(share));
    return share < 1 ? data.running : data.end || counts.join(" · ");
  }
  return {seconds: hasDraws ? data.seconds : 0, draw};
}

function panelPicture(svg, panel, {left, top, size, em, isAlone}) {
  const step = size / SIDE;
  const middle = left + size / 2;
  svg.append(shape("text", {class: "line first", x: isAlone ? left : middle, y: top - 0.5 * em,
    "text-anchor": isAlone ? "start" : "middle"}, panel.title));
  const cells = Array.from({length: SIDE * SIDE}, (_, i) => {
    const place = panel.isPiled ? SIDE * SIDE - 1 - i : i;
    const [x, y] = [left + (place % SIDE) * step, top + Math.floor(place / SIDE) * step];
    const box = panel.isTrees ? treeGlyph(x + step / 2, y + 0.1 * step, 0.8 * step)
      : shape("rect", {x: x + 0.08 * step, y: y + 0.08 * step, width: 0.84 * step, height: 0.84 * step, rx: 2});
    box.setAttribute("class", "cell");
    svg.append(box);
    return box;
  });
  if (panel.line !== null) {
    const y = top + size * (1 - panel.line / 100);
    svg.append(shape("line", {class: "limit", x1: left - 0.3 * em, x2: left + size + 0.3 * em, y1: y, y2: y}));
  }
  const words = isAlone ? lines(left + size + 1 * em, top + 1 * em, em, 9)
    : lines(middle, top + size + 1.25 * em, em, panel.below.length, "middle");
  svg.append(words.group);
  return {
    draw(share) {
      const n = Math.round(share * panel.draws.length);
      const draws = panel.draws.slice(0, n);
      const hits = [...draws].filter((draw) => draw === "1").length;
      for (const [i, box] of cells.entries()) {
        const isHit = panel.isPiled ? i < hits : draws[i] === "1";
        const isMiss = panel.isPiled ? i >= SIDE * SIDE - (n - hits) : draws[i] === "0";
        change(box, {class: `cell ${isHit ? "hit" : isMiss ? "miss" : ""}`});
      }
      const counted = panel.each ? (hits * panel.each).toFixed(panel.digits) : String(hits);
      const first = panel.count.replace("#", counted);
      words.write(share < 1 ? [first] : [panel.last || first, ...panel.below.slice(1)]);
      return `${panel.title}: ${share < 1 ? first : panel.last || first}`;
    },
  };
}

/** A small tree: a crown on a trunk. */
function treeGlyph(x, y, height) {
  const [wide, low] = [0.42 * height, y + 0.78 * height];
  const trunk = `M${x - 0.06 * height} ${low}h${0.12 * height}v${0.22 * height}h${-0.12 * height}Z`;
  return shape("path", {d: `M${x} ${y}L${x + wide} ${low}H${x - wide}Z${trunk}`});
}
