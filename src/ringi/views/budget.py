"""What models may take, before they do."""

from ringi.domain.budget import Forecast
from ringi.text import Text
from ringi.views.lines import Line, Style, line


def forecast_line(found: Forecast) -> Line:
    calls, tokens = found.calls, f"{found.tokens:,}" if found.tokens is not None else ""
    if not tokens:
        words = Text("Models: at most {calls} calls; tokens are not limited (runs.max_tokens)", calls=calls)
    elif found.dollars is None:
        words = Text("Models: at most {calls} calls and {tokens} tokens", calls=calls, tokens=tokens)
    else:
        words = Text("Models: at most {calls} calls, {tokens} tokens, ${dollars}",
                     calls=calls, tokens=tokens, dollars=f"{found.dollars:.2f}")  # fmt: skip
    if found.spent:
        words = Text("{most} · spent so far: {spent} tokens", most=words, spent=f"{found.spent:,}")
    return line(words, Style.FAINT)
