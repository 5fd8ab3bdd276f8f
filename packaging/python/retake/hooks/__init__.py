"""Heal histories before agent frameworks send them. Each module needs its framework; import the one that you use.

A history that cannot be read is sent as it is: a hook never ends a run.
"""

from __future__ import annotations

import logging
from typing import Any, List, Optional, Sequence

from .. import RetakeError, heal

logger = logging.getLogger("retake")


def healed(history: Sequence[Any], provider: Optional[str], format: Optional[str]) -> Optional[List[Any]]:
    """The healed history; ``None`` where it is sound, or cannot be read."""
    if not history:
        return None
    try:
        fixed = heal(list(history), provider=provider, format=format)
    except RetakeError as error:
        logger.warning("the history is sent as it is: %s", error)
        return None
    for step in fixed.applied:
        logger.warning("item %d, %s: %s", step.item, step.rule, step.action)
    return fixed.history if fixed.is_changed else None
