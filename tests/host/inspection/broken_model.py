"""Values of a model that have the wrong kind."""

from __future__ import annotations

from tests.host.inspection.mistake import Broken

LAST = "        max_completion_tokens: 1024\n"
PLACE = "model_groups: agents: models: 0: "

MODELS = {
    f"a model with {value}": Broken(
        file="endpoints.yml",
        old=LAST,
        new=f"        {value}\n",
        line=value,
        key=PLACE + value.partition(":")[0],
        problem=problem,
        fix=fix,
    )
    for value, problem, fix in (
        ("temperature: hot", "must be a number", "such as 10 or 2.5"),
        ("temperature: true", "must be a number", "such as 10 or 2.5"),
        ("top_p: [1]", "must be a number", "such as 10 or 2.5"),
        ("max_completion_tokens: many", "must be a whole number", "such as 10"),
        ("max_tokens: 2.5", "must be a whole number", "such as 10"),
        ("num_retries: often", "must be a whole number", "such as 10"),
        ("parallel_tool_calls: sometimes", "must be true or false", "without quotes"),
    )
}
