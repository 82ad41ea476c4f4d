// Keeps a page current: asks for it again every few seconds and, where it changed, exchanges its main part.
// The server answers 304 with no body while nothing changed.

const EVERY_MS = 3000;

async function refresh() {
  if (document.visibilityState !== "visible") return;
  const response = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-cache" });
  if (!response.ok) return;
  const next = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live");
  const present = document.getElementById("live");
  if (!next || next.innerHTML === present.innerHTML) return;
  const left = [...present.querySelectorAll(".scroll")].map((part) => part.scrollLeft);
  present.replaceChildren(...next.childNodes);
  [...present.querySelectorAll(".scroll")].forEach((part, index) => { part.scrollLeft = left[index] ?? 0; });
}

setInterval(() => refresh().catch(() => {}), EVERY_MS);
