"""Pictures made on the server: charts and brackets as SVG, and the card of a match as PNG."""
