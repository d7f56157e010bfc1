"""Two or more runs beside each other: what got faster or slower, and what else differs."""
