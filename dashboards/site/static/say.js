// The messages of scripts in the reader's language: a page that is not English brings the messages of all scripts with
// it (api/pages/render.py). Messages are English sentences with values in the places of %(name)s, as in the templates.
const messages = JSON.parse(document.getElementById("messages")?.textContent ?? "{}");

export function say(message, values = {}) {
  return (messages[message] ?? message).replace(/%\((\w+)\)s/g, (_, name) => values[name]);
}
