// Strangers' text as text, by the same rule and in the same spelling as the server's filters `shown` and `lines`.

const HIDDEN = /(?! )[\p{C}\p{Z}]/gu; // controls, formats (directions, no width), surrogates, private, unassigned; separators
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

// Spells out every mark that is not printed, except those in `kept`.
export function plain(text, kept = "") {
  return text.replace(HIDDEN, (mark) => (kept.includes(mark) ? mark : SHORT[mark] ?? spelled(mark.codePointAt(0))));
}

function spelled(code) {
  const [letter, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${code.toString(16).padStart(width, "0")}`;
}
