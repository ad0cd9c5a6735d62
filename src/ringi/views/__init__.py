"""Documents as lines with styles: every interface renders the same ones."""
