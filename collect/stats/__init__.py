"""Statistics of plain numbers; nothing here knows of runs."""
