"""The hooks under the frameworks themselves, before a provider that refuses broken histories.

    python hooks.py

Exit code 1: a story went another way.
"""

import asyncio
import logging
import os
import sys
import traceback
import warnings

os.environ.update(OPENAI_API_KEY="none", OPENAI_AGENTS_DISABLE_TRACING="1", LANGSMITH_TRACING="false")
logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # refusals are expected here
logging.getLogger("retake").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", message="create_react_agent has been moved")

from provider import ANSWER, provider

import retake

CALL = {"type": "function_call", "call_id": "c1", "name": "weigh", "arguments": '{"what": "crate 7"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "12 kg"}
ASK, AGAIN = ({"role": "user", "content": text} for text in ("Weigh crate 7.", "Go on."))
ITEMS = {
    "sound": [ASK, CALL, OUTPUT, AGAIN],
    "a call without its output": [ASK, CALL, AGAIN],
    "an output without its call": [ASK, OUTPUT, AGAIN],
}


def openai_agents(url, kind, heals):
    from agents import Agent, OpenAIResponsesModel, RunConfig, Runner
    from openai import AsyncOpenAI

    from retake.hooks.openai_agents import heal_input

    model = OpenAIResponsesModel("m", AsyncOpenAI(base_url=url, max_retries=0))
    config = RunConfig(call_model_input_filter=heal_input if heals else None)
    return asyncio.run(Runner.run(Agent("scale", model=model), ITEMS[kind], run_config=config)).final_output


def pydantic_ai(url, kind, heals):
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from retake.hooks.pydantic_ai import heal_history

    of_item = {
        "Weigh crate 7.": ModelRequest(parts=[UserPromptPart("Weigh crate 7.")]),
        "function_call": ModelResponse(parts=[ToolCallPart("weigh", CALL["arguments"], "c1")]),
        "function_call_output": ModelRequest(parts=[ToolReturnPart("weigh", "12 kg", "c1")]),
    }
    history = [of_item[item.get("type") or item["content"]] for item in ITEMS[kind][:-1]]
    # pydantic-ai looks at the history that it is given before a processor sees it.
    history = heal_history(history) if heals else history
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, capabilities=[ProcessHistory(heal_history)] if heals else [])
    return agent.run_sync(AGAIN["content"], message_history=history).output


def messages(kind):
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    call = {"name": "weigh", "args": {"what": "crate 7"}, "id": "c1"}
    of_item = {
        None: HumanMessage,
        "function_call": lambda _: AIMessage("", tool_calls=[call]),
        "function_call_output": lambda _: ToolMessage("12 kg", tool_call_id="c1"),
    }
    return [of_item[item.get("type")](item.get("content")) for item in ITEMS[kind]]


def langchain(url, kind, heals):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    from retake.hooks.langgraph import HealMessages

    model = ChatOpenAI(model="m", base_url=url, max_retries=0)
    agent = create_agent(model, [], middleware=[HealMessages()] if heals else [])
    return agent.invoke({"messages": messages(kind)})["messages"][-1].content


def langgraph(url, kind, heals):
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    from retake.hooks.langgraph import pre_model_hook

    model = ChatOpenAI(model="m", base_url=url, max_retries=0)
    agent = create_react_agent(model, [], pre_model_hook=pre_model_hook if heals else None)
    return agent.invoke({"messages": messages(kind)})["messages"][-1].content


def story(framework, kind):
    """What is broken is refused without the hook, and goes on with it; what is sound is sent as it is."""
    with provider() as (url, bodies):
        refusal = None
        try:
            framework(url, kind, False)
        except Exception as error:
            refusal = error
        without = bodies[-1] if bodies else None
        answer = framework(url, kind, True)
        assert answer == ANSWER, answer
        if kind == "sound":
            assert refusal is None, refusal
            assert bodies[-1] == without, (bodies[-1], without)
        else:
            assert retake.will_accept(bodies[-1]), bodies[-1]
    return refusal


def main():
    failed = 0
    for framework in (openai_agents, pydantic_ai, langchain, langgraph):
        for kind in ITEMS:
            try:
                refusal = story(framework, kind)
            except Exception:
                traceback.print_exc()
                failed += 1
                print(f"FAILED  {framework.__name__}: {kind}")
                continue
            without = "accepted" if refusal is None else f"{type(refusal).__name__}: {refusal}"
            print(f"ok  {framework.__name__}: {kind}; without the hook {without[:110]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
