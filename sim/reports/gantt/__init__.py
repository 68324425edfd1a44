"""The Gantt chart of a replay: its layout, its still picture, and the part of the page that is zoomed into."""
