"""Two or more runs next to each other: what got faster or slower, and what else differs."""
