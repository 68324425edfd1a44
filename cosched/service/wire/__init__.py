"""Messages of the protocol and who sends them: translated, checked, authenticated."""
