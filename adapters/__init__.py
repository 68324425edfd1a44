"""Resource managers behind one protocol (`adapters.manager`). Imports nothing: supervisors start through it."""
