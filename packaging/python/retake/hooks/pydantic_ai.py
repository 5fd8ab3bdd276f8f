"""Histories for pydantic-ai, which refuses a history that ends on an open call before any processor sees it.

    from retake.hooks.pydantic_ai import heal_history
    agent.run_sync(prompt, message_history=heal_history(history))
    agent = Agent(model, capabilities=[ProcessHistory(heal_history)])
"""

from __future__ import annotations

from typing import List

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from . import healed


def heal_history(messages: List[ModelMessage]) -> List[ModelMessage]:
    """Heals what the model is about to be sent."""
    history = healed(ModelMessagesTypeAdapter.dump_python(messages, mode="json"), None, "pydantic-ai")
    return messages if history is None else ModelMessagesTypeAdapter.validate_python(history)
