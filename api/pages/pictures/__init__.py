"""Pictures drawn on the server: charts and brackets as SVG, and a match's card as PNG."""
