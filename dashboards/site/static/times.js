// Times in the reader's time zone: recent ones relative ("3 hours ago"), others as a date; the exact time on hover. The
// server writes UTC, which readers see without this script.
import { say } from "./say.js";

const UNITS = [["day", 86_400], ["hour", 3600], ["minute", 60]];
const NEAR_SECONDS = 7 * 86_400;
const EVERY_MS = 30_000;

const korean = document.documentElement.lang === "ko";
const language = korean ? "ko" : "en-GB"; // British English has the day before the month
const relative = new Intl.RelativeTimeFormat(language, { numeric: "always" });
const dated = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });

// Describes an instant as seen at `now`; both are in milliseconds.
export function words(at, now) {
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) >= NEAR_SECONDS) return dated.format(at);
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  if (!unit) return seconds > 0 ? say("in less than a minute") : say("just now");
  return relative.format(Math.trunc(seconds / unit[1]), unit[0]);
}

// Formats every time below `root`.
export function tell(root, now = Date.now()) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    const said = words(at, now);
    if (time.textContent !== said) time.textContent = said;
    if (!time.title) time.title = `${exact.format(at)} (${time.dateTime.slice(0, 19).replace("T", " ")} UTC)`;
  }
}

// The label of an axis in the reader's time, as exact as the server's.
function marked(at, label) {
  const clock = label.includes(":") ? { hour: "2-digit", minute: "2-digit", second: /:.*:/.test(label) ? "2-digit" : undefined } : {};
  return new Intl.DateTimeFormat(language, { ...clock, ...(/[a-z]/i.test(label) ? { day: "numeric", month: "short" } : {}) }).format(at);
}
for (const mark of document.querySelectorAll("text[data-at]")) mark.textContent = marked(Date.parse(mark.dataset.at), mark.textContent);

tell(document);
setInterval(() => { if (document.visibilityState === "visible") tell(document); }, EVERY_MS);
