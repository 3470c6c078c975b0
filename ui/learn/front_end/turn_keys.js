// Arrow keys and the page keys of a clicker turn the steps of the lesson. A field, slider, list or dialog that has the
// focus keeps its keys; a radio button keeps its arrow keys. Page keys scroll the page outside presentation mode.

const ARROWS = new Map([["ArrowLeft", -1], ["ArrowRight", 1]]);
const PAGES = new Map([["PageUp", -1], ["PageDown", 1]]);
const KEEPS_ALL = "textarea, select, [contenteditable=true], [role=slider], [role=combobox], [role=listbox], [role=dialog] *, "
  + "[data-testid=stPopoverBody] *, input:not([type=radio]):not([type=checkbox])";
const KEEPS_ARROWS = "input, [role=radio], [role=radiogroup] *, [role=tab]";
const turning = new WeakMap();

/** The number of steps that a key turns, or 0. */
function turnOf(event, presents) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return 0;
  const focused = event.composedPath()[0];
  const keeps = (selector) => focused instanceof Element && focused.matches(selector);
  if (keeps(KEEPS_ALL) || document.querySelector("[role=dialog]")) return 0;
  if (ARROWS.has(event.key)) return keeps(KEEPS_ARROWS) ? 0 : ARROWS.get(event.key);
  return presents ? PAGES.get(event.key) ?? 0 : 0;
}

export default function ({parentElement, data, setTriggerValue}) {
  const before = turning.get(parentElement);
  if (before) window.removeEventListener("keydown", before, true);
  const listen = (event) => {
    const turn = turnOf(event, data.presents);
    const to = data.step + turn;
    if (!turn || event.repeat) return;
    event.preventDefault();
    event.stopPropagation();
    if (to >= 0 && to <= data.last) setTriggerValue("turned", to);
  };
  turning.set(parentElement, listen);
  window.addEventListener("keydown", listen, true);
  return () => window.removeEventListener("keydown", listen, true);
}
