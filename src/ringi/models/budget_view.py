"""What models may take, before they do."""

from ringi.kernel.lines import Line, Style, line
from ringi.kernel.text import Text
from ringi.models.budget import Forecast


def forecast_line(found: Forecast) -> Line:
    tokens = f"{found.tokens:,}" if found.tokens is not None else ""
    if not tokens:
        words = Text("Models: tokens are not limited (runs.max_tokens)")
    elif found.dollars is None:
        words = Text("Models: at most {tokens} tokens", tokens=tokens)
    else:
        dollars = f"{found.dollars:.2f}"
        words = Text("Models: at most {tokens} tokens, ${dollars}", tokens=tokens, dollars=dollars)
    if found.spent:
        words = Text("{most} · spent so far: {spent} tokens", most=words, spent=f"{found.spent:,}")
    return line(words, Style.FAINT)
