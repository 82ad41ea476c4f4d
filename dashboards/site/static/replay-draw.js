// Small parts with which the viewer, its chart and the games draw.
import { say } from "./say.js";

export function make(tag, className = "", text = null) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  return element;
}

// An element with children, which may be text.
export function box(tag, className, ...children) {
  const element = make(tag, className);
  element.append(...children);
  return element;
}

export function drawn(tag, attributes = {}, children = []) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const PIPS = { 1: [4], 2: [0, 8], 3: [0, 4, 8], 4: [0, 2, 6, 8], 5: [0, 2, 4, 6, 8], 6: [0, 2, 3, 5, 6, 8] };

// A die with pips; null: face down.
export function die(face, className = "") {
  const pips = face === null ? [] : PIPS[face].map((place) => drawn("circle", { cx: 6 + 6 * (place % 3), cy: 6 + 6 * Math.floor(place / 3), r: 2 }));
  const picture = drawn("svg", { class: `die ${face === null ? "down" : ""} ${className}`, viewBox: "0 0 24 24", role: "img", "aria-label": face === null ? say("hidden die") : String(face) });
  if (face !== null) picture.dataset.face = face;
  picture.append(drawn("rect", { x: 1, y: 1, width: 22, height: 22, rx: 4 }), ...pips);
  return picture;
}

// A row of dice, the first `lit` of which shine.
export function dice(faces, className = "", lit = 0) {
  const row = make("span", "dice");
  row.append(...[...faces].map((face, place) => die(Number(face), place < lit ? `${className} lit` : className)));
  return row;
}

// A share as a bar, labelled with its whole in words.
export function bar(share, label, className = "") {
  const full = make("span", "full");
  full.style.width = `${100 * Math.max(0, Math.min(share, 1))}%`;
  const whole = box("span", `bar ${className}`, full);
  whole.setAttribute("role", "img");
  whole.setAttribute("aria-label", label);
  return whole;
}

// A whole number with separated thousands.
export function spaced(value) {
  return String(value).replace("-", "−").replace(/\B(?=(\d{3})+$)/g, ",");
}

// A whole number with separated thousands and its sign.
export function signed(value) {
  return value > 0 ? `+${spaced(value)}` : spaced(value);
}

export function ms(value) {
  if (value >= 10000) return say("%(seconds)s s", { seconds: (value / 1000).toFixed(1) });
  if (value > 0 && value < 0.005) return "<0.01 ms";
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ms`;
}

export function percent(share) {
  const value = 100 * share;
  return value > 0 && value < 1 ? say("under 1 %") : value < 100 && value > 99 ? say("over 99 %") : `${value.toFixed(0)} %`;
}
