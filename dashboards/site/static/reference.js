// The API's reference: Swagger UI, as its package brings it, shows this server's document. It asks nobody else.
const place = document.getElementById("reference");
globalThis.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  syntaxHighlight: false,
});
