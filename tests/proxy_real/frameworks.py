"""Runs of openai-agents: a job is `{"client", "base", "streams"}`, with `namespaced` for tools in a namespace; what came of it the answer, all items, the usage, or the error."""

import asyncio
import logging
import os

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # nothing but the scripted model is talked to

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, RunConfig, Runner, function_tool, tool_namespace
from openai import AsyncOpenAI

from clients import QUESTION, TOOLS

logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # the errors are expected here

MODELS = {"openai responses": OpenAIResponsesModel, "openai chat": OpenAIChatCompletionsModel}


@function_tool
def search_flights(origin: str = "", to: str = "", date: str = "") -> str:
    """Finds the flights between two airports on a day."""
    return TOOLS["search_flights"]()


@function_tool
def get_weather(city: str, date: str) -> str:
    """Tells the weather of a day."""
    return TOOLS["get_weather"](city=city)


@function_tool
def search(q: str) -> str:
    """Looks something up."""
    return f"all about {q}"


async def run(job):
    client = AsyncOpenAI(base_url=f"{job['base']}/v1", api_key="none", max_retries=0)
    model = MODELS[job["client"]]("any", client)
    tools = [search_flights, get_weather]
    if job.get("namespaced"):
        tools = [*tool_namespace(name="library", description="What is known.", tools=[search]), get_weather]
    agent = Agent("flights", instructions="You help people to travel.", tools=tools, model=model)
    events = []
    try:
        if job["streams"]:
            result = Runner.run_streamed(agent, QUESTION, max_turns=8, run_config=RunConfig())
            async for event in result.stream_events():
                events.append(event.data.type if event.type == "raw_response_event" else event.type)
        else:
            result = await Runner.run(agent, QUESTION, max_turns=8, run_config=RunConfig())
    except Exception as raised:  # whatever the framework raises is told
        return {"events": events, "answer": None, "items": [], "error": {"class": type(raised).__name__, "message": str(raised)}}
    finally:
        await client.close()
    usage = result.context_wrapper.usage
    return {
        "events": events,
        "answer": result.final_output,
        "items": result.to_input_list(),
        "usage": [usage.requests, usage.input_tokens, usage.output_tokens],
        "error": None,
    }


def carry_out(job):
    return asyncio.run(run(job))
