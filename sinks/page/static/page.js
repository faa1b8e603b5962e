// What the screens do by themselves: search while typing, acts and their undo, keys, what is live.
// Every screen also works as a plain page of links and forms, but for what changes something.

const { path, screen } = document.body.dataset;
const UNDO_MS = 60_000;
const TYPING_MS = 40;
const REST_MS = 400;
const ASK_MS = 10_000;
const RETRY_MS = 5000; // until what happens is asked for again after a refusal
const KEPT_CHARS = 16_000; // a browser sends 64 kB at most for a page that was left
const REPEATED = ["j", "ArrowDown", "ArrowUp"]; // what a key that is held does again
const WRITING = "input:not([type=checkbox]), textarea, select";
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

// --- telling ------------------------------------------------------------------------------------

const toast = $("#toast");
let fading = 0;

function tell(text, { undo = [], failed = false } = {}) {
  $(".told", toast).textContent = text;
  toast.classList.toggle("failed", failed);
  $(".undo", toast).hidden = undo.length === 0;
  toast.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { toast.hidden = true; }, UNDO_MS);
}

// What is told survives going to another screen.
function tellThere(text, options) {
  sessionStorage.setItem("told", JSON.stringify([text, options]));
}

function tellFromBefore() {
  const told = sessionStorage.getItem("told");
  sessionStorage.removeItem("told");
  if (!told) return;
  const [text, options] = JSON.parse(told);
  tell(text, options);
  goBackTo(options.place);
}

// --- acts ---------------------------------------------------------------------------------------

let posting = Promise.resolve(); // ends when all acts are answered
let pending = 0; // so many are not answered yet
let failures = 0;
const unsent = []; // acts that wait for the one before them

// What is short enough is sent to its end, also where the page is left meanwhile.
function request(name, body) {
  const text = JSON.stringify(body);
  return fetch(`${path}${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: text,
    keepalive: text.length < KEPT_CHARS,
  });
}

async function post(name, body = {}) {
  let answer;
  try {
    answer = await request(name, body);
  } catch {
    throw new Error("the daemon does not answer; `subcog ui` starts it and opens a new page");
  }
  if (answer.status === 401) throw new Error(await answer.text());
  return answer;
}

// --- where the keyboard was -------------------------------------------------------------------------

const openers = new WeakMap(); // where the keyboard was before a part was opened, by that part

function opening(part) {
  openers.set(part, document.activeElement);
}

function giveBack(part, otherwise = null) {
  const from = openers.get(part);
  openers.delete(part);
  (from?.isConnected && from !== document.body ? from : otherwise)?.focus();
}

// Where in the screen the keyboard is, as it can be found again after the screen was made anew.
function whereIs(element) {
  const part = element.closest("main details");
  if (part) return { part: $$("main details").indexOf(part) };
  const name = element.closest("main > .acts [data-do]")?.dataset.do;
  return name ? { name } : null;
}

function goBackTo(place) {
  if (!place) return;
  const buttons = $$("main > .acts [data-do]");
  const found = "part" in place
    ? $("summary", $$("main details")[place.part] ?? document)
    : buttons.find((each) => each.dataset.do === place.name) ?? buttons[0];
  found?.focus();
}

// What can be taken back, the last at the end: ids, and until when. It outlives the screen.
const UNDOABLE = `undoable ${path}`;
const undoable = () => JSON.parse(sessionStorage.getItem(UNDOABLE) ?? "[]").filter(({ until }) => until > Date.now());

function noteUndoable(ids, until = Date.now() + UNDO_MS) {
  if (ids.length) sessionStorage.setItem(UNDOABLE, JSON.stringify([...undoable(), { ids, until }]));
}

// Does `act`, and tells what came of it. Returns the answer, or null where it did not go well.
async function perform(act, then = "") {
  pending += 1;
  const done = ask(act, then);
  posting = Promise.all([posting, done]);
  const said = await done;
  pending -= 1;
  return said;
}

async function ask(act, then) {
  try {
    const answer = await post("act", act);
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    noteUndoable(said.undo);
    if (then === "here" || then === "memories") {
      tellThere(said.told, { undo: said.undo, place: whereIs(document.activeElement) });
      location.assign(then === "here" ? location.href : `${path}memories`);
      if (then === "here") location.reload();
    } else {
      tell(said.told, { undo: said.undo, failed: Boolean(said.failed) });
    }
    return said;
  } catch (error) {
    failures += 1;
    tell(error.message, { failed: true });
    return null;
  }
}

async function undo() {
  await posting;
  const known = undoable();
  const last = known.pop();
  if (!last) return tell("nothing was changed on this page within the last minute");
  sessionStorage.setItem(UNDOABLE, JSON.stringify(known));
  const isShown = results || (queue && last.ids.every((id) => taken.some((item) => item.dataset.id === id)));
  const then = isShown ? "" : "here";
  const said = await perform({ do: "undo", ids: last.ids }, then);
  if (!said) noteUndoable(last.ids, last.until);
  if (!said || then) return undefined;
  return queue ? putBack(said.now) : refresh();
}

// Goes to another screen once what was done is answered; where some of it failed, it is to be seen.
async function leaveFor(address) {
  const before = failures;
  if (pending) tell("finishing what was done…");
  await posting;
  if (failures === before) location.assign(address);
}

// Where the page is left all the same, what waits is sent at once.
function sendTheRest() {
  for (const act of unsent.splice(0)) {
    request("act", act).catch(() => {});
    noteUndoable(act.ids);
  }
}

function actOf(button) {
  const item = button.closest(".item, [data-id]");
  const ids = button.closest(".bulk") ? chosen() : [item.dataset.id];
  const { version } = button.dataset;
  return { do: button.dataset.do, ids, ...(version ? { version: Number(version) } : {}) };
}

async function pressed(button) {
  if (button.ariaDisabled) return undefined; // it is being done
  const then = button.dataset.then ?? button.closest("[data-then]")?.dataset.then ?? "";
  const act = actOf(button);
  if (screen === "review" && !then) return settle(button.closest(".item"), act);
  const held = button === document.activeElement;
  button.ariaDisabled = "true"; // one that is disabled would lose the keyboard
  const done = await perform(act, then);
  button.ariaDisabled = null;
  if (done && !then) await refresh();
  if (held && !button.isConnected) $(".bulk .all", results)?.focus();
  return undefined;
}

async function submitted(form) {
  const { version } = form.dataset; // the one that is read here: where it is another meanwhile, that is told
  const act = { do: form.dataset.do, ids: [form.dataset.id], ...Object.fromEntries(new FormData(form)), ...(version ? { version: Number(version) } : {}) };
  const item = form.closest(".review > .item");
  if (item) return settle(item, act);
  await perform(act, form.dataset.then);
}

// --- lists --------------------------------------------------------------------------------------

const results = $("#results");
let asking = null;

// The keyboard stays at the memory that it was at, or at the one that took its place.
function replaceResults(text) {
  const item = results.contains(document.activeElement) ? document.activeElement.closest(".item") : null;
  const at = $$(".item", results).indexOf(item);
  results.innerHTML = text;
  if (!item) return;
  const items = $$(".item", results);
  choose(items.find((each) => each.dataset.id === item.dataset.id) ?? items[Math.min(at, items.length - 1)]);
}

// Puts the answer of `address` in the place of the results; a later question overtakes it. Of a
// search while somebody types ("typing") only few candidates are reranked.
async function show(address, part = "1") {
  asking?.abort();
  asking = new AbortController();
  results.setAttribute("aria-busy", "true");
  const url = new URL(address, location.href);
  url.searchParams.set("part", part);
  try {
    const answer = await fetch(url, { signal: asking.signal });
    const text = await answer.text();
    if (answer.ok) replaceResults(text);
    else tell(answer.status === 401 ? text : "that cannot be searched for", { failed: true });
  } catch (error) {
    if (error.name === "AbortError") return; // a later question is being answered
    tell("the daemon does not answer", { failed: true });
  }
  results.setAttribute("aria-busy", "false");
}

async function refresh() {
  if (results) await show(location.href);
  else location.reload();
}

function chosen() {
  return $$("input[name=ids]:checked", results).map((box) => box.value);
}

function countChosen() {
  const count = chosen().length;
  $(".bulk .acts", results).hidden = count === 0;
  $(".bulk .chosen", results).textContent = `${count} selected`;
}

function searchWhileTyping(form) {
  let typing = 0;
  const search = (part) => {
    const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    const address = `${form.getAttribute("action")}?${asked}`;
    history.replaceState(null, "", address);
    return show(address, part);
  };
  const rest = () => { typing = setTimeout(search, REST_MS); };
  form.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => { search("typing"); rest(); }, TYPING_MS); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); search(); });
}

// What would be injected is posted, so that a prompt of any size can be tried, and none is in the history.
async function rehearse(form) {
  const into = $("#answer");
  into.setAttribute("aria-busy", "true");
  try {
    const answer = await post("try", Object.fromEntries(new FormData(form)));
    if (answer.ok) into.innerHTML = await answer.text();
    else tell((await answer.json()).error, { failed: true });
  } catch (error) {
    tell(error.message, { failed: true });
  }
  into.setAttribute("aria-busy", "false");
}

// --- review -------------------------------------------------------------------------------------

const queue = $("#queue");
let fetching = null;
const taken = [];

function countLeft(by) {
  const left = $("#left");
  left.textContent = Math.max(0, Number(left.textContent) + by);
}

// Takes a memory off the queue at once; what is done to it is sent one after another behind that.
function settle(item, act) {
  const after = item.nextElementSibling ?? item.previousElementSibling;
  taken.push(item);
  item.classList.remove("current");
  item.remove();
  countLeft(-1);
  if (after?.classList.contains("item")) choose(after);
  settleNext(item, act);
  more();
}

function settleNext(item, act) {
  unsent.push(act);
  pending += 1;
  posting = posting.then(async () => {
    pending -= 1;
    const at = unsent.indexOf(act);
    if (at < 0) return; // sent when the page was left
    unsent.splice(at, 1);
    pending += 1;
    const said = await ask(act, "");
    pending -= 1;
    if (said) return;
    queue.prepend(item);
    countLeft(1);
    choose(item);
  });
}

// `now` has the ids of what was undone: a forgotten memory comes back under another one.
function putBack(now) {
  for (const item of taken.filter((each) => each.dataset.id in now)) {
    taken.splice(taken.indexOf(item), 1);
    const id = now[item.dataset.id];
    for (const each of [item, $("form", item)]) each.dataset.id = id;
    delete $("form", item).dataset.version; // another one by now
    $(".facts a", item).href = `${path}memory/${id}`;
    queue.prepend(item);
    countLeft(1);
    choose(item);
  }
  tellWhetherDone();
}

// What a page of the queue says of the one after it stands behind its items.
function takeNext() {
  const marker = $(".next", queue);
  queue.dataset.next = marker?.dataset.next ?? "";
  marker?.remove();
}

function tellWhetherDone() {
  $(".empty.done").hidden = Boolean($(".item", queue) || queue.dataset.next || fetching);
}

// Fetches the next memories before the last ones are looked at.
async function more() {
  if (!fetching && queue.dataset.next && $$(".item", queue).length <= 10) {
    const address = `${path}review?part=1&after=${encodeURIComponent(queue.dataset.next)}`;
    queue.dataset.next = "";
    fetching = fetch(address).then((answer) => answer.text());
    queue.insertAdjacentHTML("beforeend", await fetching);
    fetching = null;
    takeNext();
    if (!current()) choose($(".item", queue));
  }
  tellWhetherDone();
}

function edit(item) {
  const form = $("form", item);
  if (!form) return;
  opening(form);
  form.hidden = false;
  $("textarea", form).focus();
}

// --- keys ---------------------------------------------------------------------------------------

const current = () => $(".item.current");

function choose(item) {
  if (!item) return;
  for (const each of $$(".item.current")) each.classList.remove("current");
  item.classList.add("current");
  item.scrollIntoView({ block: "nearest" });
  (screen === "review" ? item : $("a", item))?.focus({ preventScroll: true });
}

function step(by) {
  const items = $$(".items > .item, .timeline > .item");
  const at = items.indexOf(current());
  choose(items[Math.min(items.length - 1, Math.max(0, at + by))]);
}

function onItem(name) {
  const item = current() ?? $("main > .acts.item");
  const button = item && $(`[data-do=${name}]`, item);
  if (button) return pressed(button);
  if (item && results) return perform({ do: name, ids: [item.dataset.id] }).then((done) => done && refresh());
  return undefined;
}

const KEYS = {
  "/": () => {
    const search = $("#q");
    if (!search) return leaveFor(`${path}memories`);
    opening(search);
    return search.focus();
  },
  "?": () => $("#keys").showModal(),
  j: () => step(1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  x: () => { const box = current() && $("input[name=ids]", current()); if (box) box.click(); },
  k: () => onItem("keep"),
  f: () => onItem("forget"),
  b: () => onItem("bury"),
  e: () => {
    if (screen === "review") return current() && edit(current());
    const open = $("#edit") ?? null;
    if (open) { opening(open); open.open = true; $("textarea", open).focus(); } else if (current()) $("a", current()).click();
    return undefined;
  },
  u: undo,
};

// The form that is open for writing: the one that the keyboard is in, else the last.
function openForm(target) {
  const parts = $$("main details[open], .review form:not([hidden])").filter((part) => part.matches("form") || $("form", part));
  return parts.find((part) => part.contains(target)) ?? parts.at(-1);
}

function close(part) {
  if (part.matches("details")) part.open = false;
  else part.hidden = true;
  giveBack(part, part.matches("details") ? $("summary", part) : part.closest(".item"));
}

function dismiss() {
  toast.hidden = true;
  giveBack(toast);
}

// What is open is closed, one thing after another. A dialog does so by itself.
function escape(target) {
  const open = openForm(target);
  if (target.closest(WRITING) && !open?.contains(target)) {
    target.blur();
    giveBack(target);
  } else if (open) close(open);
  else if (!toast.hidden) dismiss();
}

function typed(event) {
  const writes = event.target.closest(`${WRITING}, dialog`);
  if (event.key === "Escape" && !$("dialog[open]")) escape(event.target);
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.form && event.target.closest(WRITING)) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (writes || event.ctrlKey || event.metaKey || event.altKey) return;
  const link = $$("header nav a")[Number(event.key) - 1];
  const does = link ? () => link.click() : KEYS[event.key];
  if (!does) return;
  event.preventDefault();
  if (!event.repeat || REPEATED.includes(event.key)) does();
}

// --- live ---------------------------------------------------------------------------------------

const live = $("#live");
const seen = new Set($$("#live .entry").map((entry) => entry.dataset.number));
let last = live?.dataset.after ?? "";

function arrived(event) {
  last = event.lastEventId;
  if (!live) {
    const changes = event.type === "capture" || event.type === "forgotten";
    if (changes && results && !chosen().length && !current()) refresh();
    return;
  }
  if (seen.has(event.lastEventId)) return;
  seen.add(event.lastEventId);
  $(".empty", live)?.remove();
  live.insertAdjacentHTML("afterbegin", JSON.parse(event.data));
  live.firstElementChild.classList.add("fresh");
}

// A browser has few connections to one server, so a page that nobody sees holds none.
function watch() {
  let source = null;
  const state = $("#live-state");
  const say = (text) => { if (state && state.textContent !== text) state.textContent = text; };
  // A browser asks again where nobody answers, but not where it is refused.
  const refused = async () => {
    source = null;
    const answer = await fetch(`${path}live`, { signal: AbortSignal.timeout(ASK_MS) }).catch(() => null);
    if (answer?.status === 401) {
      const text = await answer.text();
      if (state) say(text);
      else tell(text, { failed: true });
      return;
    }
    answer?.body?.cancel();
    setTimeout(turn, RETRY_MS);
  };
  const turn = () => {
    if (document.hidden === !source) return;
    if (document.hidden) { source.close(); source = null; return; }
    source = new EventSource(`${path}live?after=${last}`);
    source.onopen = () => say("");
    source.onerror = () => {
      say("Not connected; trying again.");
      if (source?.readyState === EventSource.CLOSED) refused();
    };
    for (const kind of ["prompt", "moment", "capture", "forgotten"]) source.addEventListener(kind, arrived);
  };
  document.addEventListener("visibilitychange", turn);
  addEventListener("pagehide", () => source?.close());
  turn();
}

// --- begin --------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.open) $(`#${button.dataset.open}`).showModal();
  else if (button.classList.contains("dismiss")) dismiss();
  else if (button.classList.contains("undo")) undo();
  else if (button.classList.contains("cancel")) close(button.form);
  else if ("edit" in button.dataset) edit(button.closest(".item"));
  else if (button.dataset.do) pressed(button);
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || !pending || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  leaveFor(link.href);
});
addEventListener("beforeunload", (event) => {
  if (JSON.stringify(unsent).length >= KEPT_CHARS) event.preventDefault();
});
addEventListener("pagehide", sendTheRest);
$("#rehearsal")?.addEventListener("submit", (event) => {
  event.preventDefault();
  rehearse(event.target);
});
document.addEventListener("submit", (event) => {
  if (!event.target.dataset.do) return;
  event.preventDefault();
  submitted(event.target);
});
document.addEventListener("change", (event) => {
  if (event.target.matches(".all")) for (const box of $$("input[name=ids]", results)) box.checked = event.target.checked;
  if (event.target.matches(".all, input[name=ids]")) countChosen();
});
document.addEventListener("keydown", typed);
toast.addEventListener("focusin", (event) => {
  if (event.relatedTarget && !toast.contains(event.relatedTarget)) openers.set(toast, event.relatedTarget);
});
$("#run-doctor")?.addEventListener("click", async (event) => {
  event.target.disabled = true;
  $("#findings").textContent = "Checking…";
  try {
    const answer = await post("doctor");
    if (answer.ok) $("#findings").innerHTML = await answer.text();
    else $("#findings").textContent = (await answer.json()).error;
  } catch (error) {
    $("#findings").textContent = error.message;
  }
  event.target.disabled = false;
});
if ($("#filters")) searchWhileTyping($("#filters"));
if (queue) { takeNext(); choose($(".item", queue)); more(); }
tellFromBefore();
if (live || results) watch();
