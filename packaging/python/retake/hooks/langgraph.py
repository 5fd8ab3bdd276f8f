"""Hooks for LangGraph and LangChain agents.

    from retake.hooks.langgraph import HealMessages, pre_model_hook
    create_agent(model, tools, middleware=[HealMessages()])
    create_react_agent(model, tools, pre_model_hook=pre_model_hook)
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Mapping, Sequence, cast

from langchain_core.messages import AnyMessage, BaseMessage, messages_from_dict, messages_to_dict

from . import healed


def heal_messages(messages: Sequence[BaseMessage]) -> List[BaseMessage]:
    """Heals what the model is about to be sent."""
    history = healed(messages_to_dict(messages), None, "langchain")
    return list(messages) if history is None else messages_from_dict(history)


def pre_model_hook(state: Mapping[str, Any]) -> Dict[str, Any]:
    """Heals what the model is sent; the messages of the state stay as they are."""
    return {"llm_input_messages": heal_messages(state["messages"])}


try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
except ImportError:
    pass
else:

    class HealMessages(AgentMiddleware):
        """Heals what the model is sent; the messages of the state stay as they are."""

        def wrap_model_call(
            self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
        ) -> ModelResponse[Any]:
            return handler(_healed(request))

        async def awrap_model_call(
            self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
        ) -> ModelResponse[Any]:
            return await handler(_healed(request))

    def _healed(request: ModelRequest[Any]) -> ModelRequest[Any]:
        return request.override(messages=cast(List[AnyMessage], heal_messages(request.messages)))
