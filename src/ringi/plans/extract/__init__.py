"""Action specs from a plan's text: what a parser finds, and what a model makes of the rest."""
