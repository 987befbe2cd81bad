"""How a copy of the sample is broken, and what must then be told."""

from __future__ import annotations

from dataclasses import dataclass

AGENT = "sub_agents/stock_explorer/config.yml"
ADVISER = "sub_agents/advisor_booking/config.yml"
REPORT = "sub_agents/portfolio_report/config.yml"
BOOKING = "flows/book_advisor.yml"
FLOW = "flows/opening_hours.yml"
URL = "${WEALTH_DESK_MARKET_URL}"
POLICY = "rasa_react_ext.policy.ReActPolicy"


@dataclass(frozen=True, kw_only=True)
class Broken:
    """One mistake.

    Attributes:
        file: File that is edited.
        old: Text there.
        new: What takes its place.
        at: File that must be named.
        line: Part of the line that must be named; empty where no line can be.
        key: End of the key that must be named.
        problem: Part of what is wrong.
        fix: Part of what to do.
        level: Level of the finding.
    """

    file: str
    old: str
    new: str
    at: str = ""
    line: str
    key: str
    problem: str
    fix: str
    level: str = "error"


def template(name: str) -> tuple[str, str]:
    return "  timezone:", f"  prompt_template: prompts/{name}\n  timezone:"
