"""The site's pages, one module each. Rendered here; no script is needed to read them."""
