"""Several policy domains on one virtual clock, each played by a player: `conductor` leads all players in lock-step."""
