"""An input filter for openai-agents.

    from retake.hooks.openai_agents import heal_input
    Runner.run(agent, history, run_config=RunConfig(call_model_input_filter=heal_input))
"""

from __future__ import annotations

from typing import Any

from agents.run_config import CallModelData, ModelInputData

from . import healed


def heal_input(data: CallModelData[Any]) -> ModelInputData:
    """Heals what the model is about to be sent."""
    model_data = data.model_data
    history = healed(model_data.input, "responses", "openai-responses")
    return model_data if history is None else ModelInputData(input=history, instructions=model_data.instructions)
