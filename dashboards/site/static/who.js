// Pages that are the same for everyone are made without knowing who looks. Those that are one person's leave the name in
// this browser, and the others show it from there, with the count of unread notices as it was within the last minute.
// It is a name and nothing else: who one is, the session's cookie says.
const who = document.getElementById("who");
const inbox = document.getElementById("inbox");
const KEY = "name";
const UNREAD = "unread";
const FRESH_MS = 60_000;

function show(unread) {
  inbox.hidden = false;
  inbox.textContent = unread ? `Inbox (${unread})` : "Inbox";
}

function keep(unread) {
  localStorage.setItem(UNREAD, JSON.stringify({ unread, at: Date.now() }));
}

async function ask() {
  const answer = await fetch("/v1/inbox?limit=1", { headers: { Accept: "application/json" } });
  if (answer.status === 401) for (const key of [KEY, UNREAD]) localStorage.removeItem(key); // it ended elsewhere
  if (!answer.ok) return;
  const { unread } = await answer.json();
  keep(unread);
  show(unread);
}

try {
  if (who.dataset.name !== undefined) {
    localStorage.setItem(KEY, who.dataset.name); // empty: nobody is signed in
    if (inbox.dataset.unread !== undefined) keep(Number(inbox.dataset.unread));
  } else if (localStorage.getItem(KEY)) {
    who.textContent = localStorage.getItem(KEY);
    const known = JSON.parse(localStorage.getItem(UNREAD));
    show(known?.unread ?? 0);
    if (!(Date.now() - known?.at < FRESH_MS)) await ask();
  }
  document.querySelector("form[action='/sign-out']")?.addEventListener("submit", () => {
    for (const key of [KEY, UNREAD]) localStorage.removeItem(key);
  });
} catch { /* a browser that keeps nothing shows no name */ }
