"""The Gantt chart of a replay: its layout, its still picture, and the interactive chart of the page."""
