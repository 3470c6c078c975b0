// The instrument: sliders for ε, depth, trees and α, with a curve and a tree that change while the user drags a slider.
//
// Streamlit calls the default export again whenever Python sends new data. Moves have numbers (`seq`). New data move
// the sliders only if they answer the last move, so a late answer never moves a slider back.

const CONTROLS = ["epsilon", "depth", "trees", "alpha"];
const QUIET = 250; // milliseconds without a key press after which a move counts as finished
const FLICKER = 500; // milliseconds between two draws of the noise while the user drags ε
const states = new WeakMap();

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

/** Build the elements once, and return the state of one mounted instrument. */
function build(root) {
  const [sliders, pictures] = [element("div", "sliders"), element("div", "pictures")];
  const inputs = {};
  for (const control of CONTROLS) {
    const label = element("label", "control");
    const [name, value, range] = [element("span", "name"), element("output", "value"), element("input", "range")];
    range.type = "range";
    const why = element("span", "why");
    label.append(name, value, range, why);
    sliders.append(label);
    inputs[control] = {label, name, value, range, why};
  }
  const [curve, tree] = [figure("curve"), figure("tree")];
  pictures.append(curve.box, tree.box);
  const votes = {title: element("span", "title"), note: element("strong", "tally"), svg: shape("svg", {role: "img"})};
  const votesCaption = element("div", "caption votes");
  votesCaption.append(votes.title, votes.note);
  votes.svg.classList.add("votes");
  tree.box.append(votesCaption, votes.svg);
  const live = element("p", "live");
  live.setAttribute("aria-live", "polite");
  root.replaceChildren(sliders, pictures, live);
  const moves = {seq: 0, held: null, moved: new Set(), at: null, before: null}; // what the user does with the sliders
  const timers = {frame: 0, timer: 0, flicker: 0};
  return {root, inputs, curve, tree, votes, live, ...moves, ...timers};
}

function figure(kind) {
  const box = element("figure", kind);
  const caption = element("figcaption", "caption");
  const [title, note, badge] = [element("strong", "title"), element("span", "note"), element("span", "badge")];
  const scale = element("span", "scale");
  caption.append(title, note, scale, badge);
  const svg = shape("svg", {role: "img"});
  box.append(caption, svg);
  return {box, title, note, scale, badge, svg};
}

function connect(state) {
  for (const control of CONTROLS) {
    const {range} = state.inputs[control];
    range.addEventListener("pointerdown", () => {
      state.held = control;
      state.before = {value: state.at[control], isMoved: state.moved.has(control)};
    });
    range.addEventListener("input", () => {
      state.at = {...state.at, [control]: state.data[control].values[Number(range.value)]};
      state.moved.add(control);
      request(state);
      flicker(state, control);
      window.clearTimeout(state.timer);
      if (state.held === null) state.timer = window.setTimeout(() => finish(state, control), QUIET);
    });
    const release = () => {
      if (state.held !== control) return;
      state.held = null;
      finish(state, control);
    };
    range.addEventListener("pointerup", release);
    range.addEventListener("pointercancel", () => cancel(state, control));
    range.addEventListener("change", release);
  }
  state.resize = new ResizeObserver(() => { if (state.data) refresh(state); });
  state.resize.observe(state.root);
}

/** Send the finished move of a control to Python, with all other moves that Python has not answered yet. */
function finish(state, control) {
  settle(state);
  if (state.at[control] === state.data[control].value && state.seq === state.data.seq) return;
  state.seq += 1;
  const values = Object.fromEntries([...state.moved].map((other) => [other, state.at[other]]));
  state.send("moved", {values, seq: state.seq});
}

/** Undo a move that the browser cancels, because the finger scrolls the page. */
function cancel(state, control) {
  if (state.held !== control) return;
  state.held = null;
  state.at = {...state.at, [control]: state.before.value};
  if (!state.before.isMoved) state.moved.delete(control);
  settle(state);
}

/** Stop the timers of a move, and draw the labels without noise. */
function settle(state) {
  window.clearTimeout(state.timer);
  window.clearInterval(state.flicker);
  state.timer = state.flicker = 0;
  state.treePicture.settle();
  request(state);
}

/** Draw in the next frame. Several requests before this frame cause one drawing. */
function request(state) {
  if (state.frame) return;
  state.frame = window.requestAnimationFrame(() => {
    state.frame = 0;
    const start = performance.now();
    drawAll(state);
    if (window.instrumentFrames) window.instrumentFrames.push(performance.now() - start);
  });
}

function flicker(state, control) {
  const isStill = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (control !== "epsilon" || isStill || state.flicker) return;
  state.flicker = window.setInterval(() => state.treePicture.flicker(state.at), FLICKER);
}

function drawAll(state) {
  const {data, at} = state;
  const shaped = shapeAt(data, at);
  state.curvePicture.draw(at);
  state.treePicture.draw(at); // whole, even if the rule would grow a smaller tree at this ε
  state.smallTrees.draw(shaped);
  const {line, isKnown} = selectedLine(data, at);
  const {value, isExact} = valueAt(data.curves.epsilons, line.mean, at.epsilon);
  // Other lines have fewer simulated releases than the present line, so their values are approximate.
  const isSure = isKnown && isExact && line === data.curves.line;
  const isEmpty = !isKnown || value === null;
  const accuracy = isEmpty ? "not simulated yet" : `${isSure ? "" : "≈ "}${percentText(value)} ${data.words.measure}`;
  state.curve.note.textContent = accuracy;
  const shown = {epsilon: at.epsilon, depth: shaped.depth, trees: shaped.trees, alpha: at.alpha};
  for (const control of CONTROLS) {
    const {range, value: output, label} = state.inputs[control];
    const {values} = data[control];
    const place = values.indexOf(shown[control]);
    if (place >= 0 && state.held !== control) range.value = String(place);
    const text = shown[control] === null ? "–" : String(shown[control]);
    output.textContent = text;
    output.title = text; // a long name of α is cut
    range.setAttribute("aria-valuetext", range.disabled ? data[control].why : `${text}: ${accuracy}`);
    label.classList.toggle("off", range.disabled);
  }
  const isByHand = data.byRule && (at.depth !== data.depth.value || at.trees !== data.trees.value);
  for (const control of ["depth", "trees"]) state.inputs[control].why.textContent = isByHand ? "" : data[control].why;
  const same = data.sameAlpha[at.alpha];
  state.inputs.alpha.why.textContent = same ? `is right on the same records as “${same}”` : data.alpha.why;
  state.tree.note.textContent = data.tree ? treeNote(data, at) : "";
}

/** State which tree is drawn, while the sliders are at a position whose tree the server has not sent yet. */
function treeNote(data, at) {
  if (at.depth !== data.depth.value) return `(the tree of depth ${data.depth.value})`;
  if (at.trees !== data.trees.value) return `(of the forest of ${data.trees.value})`;
  if (at.alpha !== data.alpha.value) return `(the tree at α = ${data.alpha.value})`;
  return at.epsilon !== data.epsilon.value ? data.words.treeAway : "";
}

/** Build the pictures again from the present data, and draw them. */
function refresh(state) {
  const {data} = state;
  state.curvePicture = curvePicture(state.curve.svg, data);
  state.treePicture = treePicture(state.tree.svg, data);
  state.smallTrees = smallTrees(state.votes.svg, state.votes.note, data);
  drawAll(state);
}

function take(state, data) {
  state.data = data;
  state.seq = Math.max(state.seq, data.seq);
  const isAnswered = data.seq >= state.seq && state.held === null && !state.timer;
  const sent = Object.fromEntries(CONTROLS.map((control) => [control, data[control].value]));
  if (isAnswered) state.moved.clear();
  state.at = {...sent, ...Object.fromEntries([...state.moved].map((control) => [control, state.at[control]]))};
  for (const control of CONTROLS) {
    const {values, name, why} = data[control];
    const parts = state.inputs[control];
    parts.name.textContent = name;
    parts.why.textContent = why;
    parts.range.max = String(Math.max(values.length - 1, 0));
    parts.range.disabled = values.length < 2;
    parts.range.setAttribute("aria-label", name);
    if (!values.includes(state.at[control])) state.at[control] = sent[control];
  }
  state.curve.title.textContent = data.words.curve;
  state.tree.title.textContent = data.words.tree;
  state.tree.note.textContent = "";
  for (const part of [state.curve, state.tree]) part.badge.textContent = data.words.badge;
  state.curve.svg.setAttribute("aria-label", data.words.curveAlt);
  state.tree.svg.setAttribute("aria-label", data.words.treeAlt);
  state.votes.title.textContent = data.words.votes;
  state.votes.svg.setAttribute("aria-label", data.words.votes);
  const settings = JSON.stringify([sent, data.words.tree, data.seq]);
  if (settings !== state.announced) state.live.textContent = data.words.live; // not again for each refinement
  state.announced = settings;
  const bar = element("span", "bar");
  const most = data.tree ? mostAdded(data.tree) : 0;
  const colors = [-1, -0.6, -0.3, -0.1, 0, 0.1, 0.3, 0.6, 1].map((v) => `${valueColor(v, 1)} ${50 + 50 * v}%`);
  bar.style.background = most ? `linear-gradient(to right, ${colors.join(", ")})` : flipGradient();
  const [low, high] = most ? [`adds −${most}`, `+${most}`] : ["flips by noise: 0 %", data.words.mostFlips];
  state.tree.scale.replaceChildren(low, bar, high);
  refresh(state);
}

export default function ({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".instrument");
  let state = states.get(root);
  if (!state) {
    state = build(root);
    states.set(root, state);
    connect(state);
  }
  state.send = setTriggerValue;
  take(state, data);
  return () => {};
}
