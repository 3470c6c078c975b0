// The page of a phone: it shows the present question of a room and sends the answer until the server confirms it.
//
// The page asks the server again and again, with one request at a time. If a request fails, it waits longer and says
// so. An answer waits in the storage of the browser until the server counts it. Answers have numbers, and the server
// counts only the one with the largest number, so a late copy of an old answer changes nothing.
"use strict";

const EVERY = 1500; // milliseconds between two requests
const FIRST_WAIT = 500; // milliseconds after the first failure; the wait doubles with each further failure
const LONGEST_WAIT = {poll: 8000, vote: 2000}; // milliseconds between two requests while the network fails
const TIME_LIMIT = 6000; // milliseconds for a request
const SURE = 30000; // milliseconds without an answer after which the room may be closed
const code = location.pathname.slice(1).toUpperCase();
const key = `vote ${code}`;
const byId = id => document.getElementById(id);
let state = null; // last state of the room that the server sent
let waiting = stored(); // answer that the server has not confirmed: its step, its number in the list, its own number
let tooLate = false;
let failures = 0;
let lastAnswer = Date.now(); // when the server last answered
let timer = 0;
let request = null; // controller of the request that is under way
let drawn = "";

function element(name, className = "", text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

/** Return the answer that waited when this page was last open, or null. */
function stored() {
  try {
    const value = JSON.parse(localStorage.getItem(key));
    return value && [value.step, value.answer, value.number].every(Number.isInteger) ? value : null;
  } catch {
    return null; // the browser has no storage
  }
}

function store() {
  try {
    if (waiting) localStorage.setItem(key, JSON.stringify(waiting));
    else localStorage.removeItem(key);
  } catch {
    // without storage, an answer waits only until the page is closed
  }
}

/** Let the page talk to the server after some milliseconds, instead of any later time that was planned. */
function plan(wait) {
  clearTimeout(timer);
  timer = setTimeout(exchange, wait);
}

/** Send the waiting answer, or ask for the state of the room. */
async function exchange() {
  if (request) return;
  const controller = request = new AbortController();
  const limit = setTimeout(() => controller.abort(), TIME_LIMIT);
  const sent = waiting;
  let received = null;
  try {
    received = await answerTo(sent, controller.signal);
  } catch {
    // the network failed, or something else than the server answered
  }
  clearTimeout(limit);
  if (request !== controller) return; // the user chose another answer meanwhile
  request = null;
  if (received && received.closed) return close();
  if (received) {
    [failures, lastAnswer, state] = [0, Date.now(), received];
    if (waiting) settle(sent);
  } else failures += 1;
  draw();
  const longest = waiting ? LONGEST_WAIT.vote : LONGEST_WAIT.poll;
  const again = failures ? Math.min(FIRST_WAIT * 2 ** (failures - 1), longest) : EVERY;
  plan(waiting && waiting !== sent && !failures ? 0 : again * (0.8 + 0.4 * Math.random()));
}

/** Send one request, and return the state of the room, or an object with `closed`. */
async function answerTo(sent, signal) {
  const options = {cache: "no-store", credentials: "same-origin", signal};
  if (sent) {
    const {step, answer, number} = sent;
    const headers = {"Content-Type": "application/json"};
    Object.assign(options, {method: "POST", headers, body: JSON.stringify({step, answer, number})});
  }
  const response = await fetch(`/${code}/${sent ? "vote" : "state"}`, options);
  if (sent && response.status === 400) { // what was stored is not an answer
    waiting = null;
    store();
  }
  const received = await response.json();
  if (response.status === 404 && received.closed === true) return received;
  if (!response.ok || !Array.isArray(received.answers)) throw new Error("something else than the server answered");
  return received;
}

/** Keep the waiting answer until the state of the room confirms it, or until it is too late. */
function settle(sent) {
  const {step, answer} = waiting;
  if (state.step !== step || state.shown) {
    tooLate = state.step === step && state.mine !== answer;
    waiting = null;
  } else if (sent === waiting && state.mine === answer) {
    waiting = null;
  } else if (state.number >= waiting.number && !state.why_not) {
    waiting = {step, answer, number: state.number + 1}; // another tab of this browser voted meanwhile
  }
  store();
}

function choose(answer) {
  const number = Math.max(state.number, waiting ? waiting.number : 0) + 1;
  waiting = {step: state.step, answer, number};
  tooLate = false;
  store();
  if (request) {
    const outdated = request;
    request = null;
    outdated.abort();
  }
  draw();
  plan(0);
}

function close() {
  clearTimeout(timer);
  state = waiting = null;
  store();
  byId("step").hidden = byId("result").hidden = true;
  byId("place").textContent = "";
  show(`Room ${code} is closed, or there is no such room. Look at the letters on the wall.`, true);
  byId("join").hidden = false;
  timer = -1;
}

function show(words, trouble = false) {
  const status = byId("status");
  if (status.textContent !== words) status.textContent = words;
  status.className = trouble ? "trouble" : "";
}

function draw() {
  drawStatus();
  if (!state || JSON.stringify([state, waiting]) === drawn) return;
  drawn = JSON.stringify([state, waiting]);
  byId("place").replaceChildren("Room ", element("b", "", code), ` · step ${state.step} of ${state.last}`);
  byId("title").textContent = state.title;
  byId("text").textContent = state.text;
  byId("question").textContent = state.question;
  byId("step").hidden = false;
  drawAnswers();
  drawResult();
}

function drawStatus() {
  if (failures) {
    const kept = waiting ? " Your answer is kept, and sent when the network is back." : "";
    const closed = Date.now() - lastAnswer > SURE ? " The room may be closed. Are you in the same network?" : "";
    show(`Trying again …${kept}${closed}`, true);
  } else if (state && state.why_not && !state.shown) show(state.why_not, true);
  else if (waiting) show("Sending your answer …");
  else if (tooLate) show("Your answer came too late, so it was not counted.", true);
  else if (state && state.shown) show("");
  else if (state && state.mine !== null) {
    show("✓ Your answer is counted. You can change it until the right one is shown.");
  } else show("No page shows who gave which answer.");
}

function drawAnswers() {
  const list = byId("answers");
  const names = JSON.stringify([state.step, state.answers]);
  if (list.dataset.names !== names) { // keep the buttons of a question, and the focus on them
    list.dataset.names = names;
    list.querySelectorAll(".answer").forEach(answer => answer.remove());
    state.answers.forEach((name, i) => {
      const [label, input, words] = [element("label", "answer"), element("input"), element("span", "words", name)];
      Object.assign(input, {type: "radio", name: "answer", value: String(i)});
      input.addEventListener("change", () => choose(i));
      label.append(input, words);
      list.append(label);
    });
    scrollTo(0, 0);
  }
  const chosen = waiting ? waiting.answer : state.mine;
  const bars = state.bars || [];
  list.querySelectorAll(".answer").forEach((label, i) => {
    const input = label.querySelector("input");
    input.checked = i === chosen;
    input.disabled = state.shown || Boolean(state.why_not);
    label.classList.toggle("is-right", i === state.right);
    label.querySelectorAll(".mark, .count, .bar").forEach(old => old.remove());
    if (bars.length) {
      const bar = element("span", "bar");
      bar.style.width = `${100 * bars[i] / Math.max(...bars)}%`;
      label.querySelector(".words").append(bar);
      label.append(element("span", "count", String(bars[i])));
    }
    if (i === state.right) label.append(element("span", "mark", "✓"));
  });
}

function drawResult() {
  const result = byId("result");
  result.hidden = !state.shown;
  result.replaceChildren();
  if (!state.shown) return;
  if (state.mine !== null) {
    const words = state.mine === state.right ? "Your answer is right." : "Your answer is not right.";
    result.append(element("p", "", `${words} ${state.feedback}`));
  }
  result.append(element("p", "take-away", state.take_away));
}

function join(event) {
  event.preventDefault();
  const letters = byId("letters").value.trim().toUpperCase();
  if (/^[A-Z0-9]{4}$/.test(letters)) location.assign(`/${letters}`);
  else show("A room has four letters, without signs or spaces.", true);
}

byId("join").addEventListener("submit", join);
if (code) {
  byId("place").replaceChildren("Room ", element("b", "", code));
  show("Connecting …");
  exchange();
  const wake = () => timer === -1 || document.hidden || plan(0);
  document.addEventListener("visibilitychange", wake);
  addEventListener("online", wake);
} else {
  byId("join").hidden = false;
}
