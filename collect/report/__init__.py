"""The report: one HTML file that asks nothing of the network, and charts as SVG and PDF files."""

from collect.report.page import Reported, write_report

__all__ = ["Reported", "write_report"]
