// Pages that are the same for everyone are made without knowing who looks. Those that are one person's leave the name in
// this browser, and the others show it from there. It is a name and nothing else: who one is, the session's cookie says.
const who = document.getElementById("who");
const KEY = "name";

try {
  if (who.dataset.name !== undefined) localStorage.setItem(KEY, who.dataset.name); // empty: nobody is signed in
  else who.textContent = localStorage.getItem(KEY) || who.textContent;
  document.querySelector("form[action='/sign-out']")?.addEventListener("submit", () => localStorage.removeItem(KEY));
} catch { /* a browser that keeps nothing shows no name */ }
