"""The report: one HTML file that needs no network, and charts as SVG and PDF files."""
