"""Checks that the components of config.yml are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rasa.engine.recipes.recipe import Recipe
from rasa.shared.exceptions import InvalidConfigException

from rasa_react_ext.explain.setting import nearest
from rasa_react_ext.host.inspection.finding import Finding, Inspection

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["check_components"]

_UNKNOWN = re.compile(r"load class for name '([^']+)'")


def check_components(inspection: Inspection, config: Source) -> None:
    """Have the host look up each component; what else it refuses, others tell.

    Args:
        inspection: Takes a name that is unknown.
        config: config.yml.
    """
    values = config.values()
    if not isinstance(values, dict):
        return
    recipe = Recipe.recipe_for_name(values.get("recipe"))
    try:
        recipe.graph_config_for_recipe(values, {})
    except InvalidConfigException as error:
        found = _UNKNOWN.search(str(error))
        if found is not None:
            _tell(inspection, config, found[1], getattr(recipe, "_registered_components", {}))
    except Exception:  # noqa: BLE001 - what is wrong otherwise is found where it is read
        return


def _tell(inspection: Inspection, config: Source, name: str, known: dict[str, object]) -> None:
    kind = next((kind for kind in ("pipeline", "policies") if config.has([kind, name])), "")
    parts = [kind, name] if kind else []
    inspection.add(
        Finding(
            file=config.path,
            line=config.line(parts),
            key=": ".join(parts),
            problem=f"there is no component {name!r}.",
            fix=nearest(name, known) or "Write the name of a component, or the path of a class.",
        ),
        [repr(name)],
    )
