"""The look of pages: the colours that reports and a domain's page have in common."""

from importlib.resources import files


def style() -> str:
    """Return the CSS that defines the colours, light and dark, as custom properties of the root."""
    return (files(__name__) / "look.css").read_text(encoding="utf-8")
