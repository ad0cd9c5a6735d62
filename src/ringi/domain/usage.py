from ringi.domain.base import CamelDocument


class TokenUsage(CamelDocument, frozen=True):
    """What calls to a language model cost."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """As far as prices are known; None if unknown."""
    duration_sec: float = 0.0

    def plus(self, other: "TokenUsage") -> "TokenUsage":
        known = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return TokenUsage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(known) if known else None,
            duration_sec=self.duration_sec + other.duration_sec,
        )
