// The stage of the lesson: it plays a scene when a step opens, and again after a press of "Play again".
//
// Streamlit calls the default export again with the same data whenever the page runs. The scene then continues.

const SCENES = {class: classScene, leaf: leafScene, panels: panelsScene, votes: votesScene, levels: levelsScene};
const stages = new WeakMap();

function build(root) {
  const [top, note, again] = ["div", "strong", "button"].map((name) => document.createElement(name));
  top.className = "top";
  note.className = "note";
  again.className = "again";
  again.type = "button";
  const svg = shape("svg", {role: "img"});
  top.append(note, again);
  root.replaceChildren(top, svg);
  const state = {root, note, again, svg, frame: 0, since: 0, at: 0, key: "", scene: null, data: null};
  again.addEventListener("click", () => play(state, 0));
  state.toEnd = () => jump(state);
  state.resize = new ResizeObserver(() => refresh(state));
  return state;
}

function isStill() {
  return window.matchMedia("(prefers-reduced-motion: reduce), print").matches;
}

/** Build the scene for the present size of the stage, and draw the present moment. */
function refresh(state) {
  const {width, height} = state.svg.getBoundingClientRect();
  if (!width || !state.data) return;
  const size = `${width} ${height}`;
  if (size === state.size && state.scene) return;
  state.size = size;
  state.svg.replaceChildren();
  state.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const em = parseFloat(window.getComputedStyle(state.svg).fontSize);
  state.scene = SCENES[state.data.kind](state.svg, state.data, {width, height, em});
  show(state, state.at);
}

function show(state, t) {
  const {scene} = state;
  state.at = Math.min(t, scene.seconds);
  const words = scene.draw(state.at);
  state.again.style.visibility = scene.seconds ? "" : "hidden"; // keeps its place
  write(state.note, words);
  state.root.dataset.at = state.at >= scene.seconds ? "end" : "playing";
}

/** Play the scene from a time in seconds. */
function play(state, from) {
  window.cancelAnimationFrame(state.frame);
  state.frame = 0;
  if (!state.scene) refresh(state);
  if (!state.scene) return;
  if (isStill()) {
    jump(state);
    return;
  }
  state.since = performance.now() - 1000 * from;
  const next = (now) => {
    show(state, Math.max((now - state.since) / 1000, 0));
    state.frame = state.at < state.scene.seconds ? window.requestAnimationFrame(next) : 0;
  };
  state.frame = window.requestAnimationFrame(next);
}

/** End the scene, and show its last picture. */
function jump(state) {
  window.cancelAnimationFrame(state.frame);
  state.frame = 0;
  if (state.scene) show(state, state.scene.seconds);
}

export default function ({parentElement, data}) {
  const root = parentElement.querySelector(".stage");
  let state = stages.get(root);
  if (!state) {
    state = build(root);
    stages.set(root, state);
  }
  const key = JSON.stringify(data);
  const isNew = key !== state.key;
  state.data = data;
  state.key = key;
  root.style.setProperty("--height", data.height);
  root.style.setProperty("--size", data.size);
  root.style.setProperty("--low", data.low); // on a low screen
  root.style.setProperty("--narrow", `${data.kind === "panels" && data.panels.length === 2 ? -60 : 100}px`); // on a phone
  state.svg.setAttribute("aria-label", data.alt);
  write(state.again, data.again);
  if (isNew) {
    state.scene = null;
    state.at = 0;
  }
  state.resize.observe(state.svg);
  window.addEventListener("beforeprint", state.toEnd);
  if (isNew || root.dataset.at !== "end") play(state, state.at);
  return () => {
    window.cancelAnimationFrame(state.frame);
    state.resize.disconnect();
    window.removeEventListener("beforeprint", state.toEnd);
  };
}
