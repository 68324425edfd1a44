"""The manager of OpenPBS: a hook of the server offers jobs, and PBS's commands do the rest."""
