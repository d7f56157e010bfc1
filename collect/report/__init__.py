"""The report: one HTML file that asks nothing of the network, and charts as SVG and PDF files."""
