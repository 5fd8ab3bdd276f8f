"""A program on openai-agents as users write it. `default` leaves everything to the SDK; `answering` has it tell the model which tools there are.
Responses come whole, Chat is streamed."""

import asyncio
import os
import sys

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # nothing but the proxy is talked to
os.environ.setdefault("OPENAI_API_KEY", "none")

from agents import Agent, RunConfig, Runner, function_tool
from agents.models.openai_provider import OpenAIProvider


@function_tool
def search_flights(origin: str, to: str, date: str) -> str:
    """Finds the flights between two airports on a day."""
    return "TP 204, 18:25, 402 EUR"


@function_tool
def get_weather(city: str, date: str) -> str:
    """Tells the weather of a day."""
    return f"{city}: sunny"


SETTINGS = {"default": {}, "answering": {"tool_not_found_behavior": "return_error_to_model"}}


def main(way, api):
    agent = Agent("flights", instructions="You help people to travel.", tools=[search_flights, get_weather], model="any")
    config = RunConfig(model_provider=OpenAIProvider(use_responses=api == "responses"), **SETTINGS[way])
    question = "Where is it warm, and how do I get there?"
    if api == "responses":
        print(Runner.run_sync(agent, question, max_turns=8, run_config=config).final_output)
    else:
        asyncio.run(streamed(agent, question, config))


async def streamed(agent, question, config):
    result = Runner.run_streamed(agent, question, max_turns=8, run_config=config)
    async for _ in result.stream_events():
        pass
    print(result.final_output)


main(*sys.argv[1:])
