// The API's reference: Swagger UI, from its package, shows this server's document. It contacts no other server.
import { say } from "./say.js";

const place = document.getElementById("reference");

// Swagger UI draws these without an accessible name.
new MutationObserver(() => {
  for (const button of place.querySelectorAll("button:empty:not([aria-label])")) button.ariaLabel = say("Copy");
  for (const select of place.querySelectorAll("select:not([aria-label])")) {
    select.ariaLabel = select.closest("[data-param-name]")?.dataset.paramName ?? say("Media type");
  }
}).observe(place, { childList: true, subtree: true });

globalThis.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  syntaxHighlight: false,
});
