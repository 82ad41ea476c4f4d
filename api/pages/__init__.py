"""The site's pages, one module each. They are rendered here, and no script is needed to read them."""
