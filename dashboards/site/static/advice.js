// Checks now and then, after a person's match, whether the advice has come, and shows it.
const EVERY_MS = 2000;
const MOST = 150; // five minutes

async function look(left) {
  const place = document.getElementById("advice");
  if (!place || place.dataset.comes === undefined || left === 0) return;
  const page = await fetch(location.pathname, { headers: { accept: "text/html" }, cache: "no-store" })
    .then((response) => response.ok ? response.text() : null).catch(() => null);
  if (page !== null) {
    const found = new DOMParser().parseFromString(page, "text/html").getElementById("advice");
    if (!found) place.remove();
    else if (found.dataset.comes === undefined) place.replaceWith(found);
  }
  setTimeout(look, EVERY_MS, left - 1);
}

setTimeout(look, EVERY_MS, MOST);
