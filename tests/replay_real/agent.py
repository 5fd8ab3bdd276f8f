"""An agent as users write it, on openai-agents: base URL and key come from the environment.

    python agent.py responses|chat [--stream] [--question TEXT] [--instructions TEXT] [--city]

Prints one line of JSON: the answer, all items, the usage, the kinds of the events of a stream, and the error that ended it.
"""

import argparse
import asyncio
import json
import logging

from agents import Agent, Runner, function_tool, set_default_openai_api
from pydantic import BaseModel

logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # the errors are expected here


class City(BaseModel):
    city: str


@function_tool
def search_flights(origin: str = "", to: str = "", date: str = "") -> str:
    """Finds the flights between two airports on a day."""
    return "TP 204, 18:30 to 06:25 the next day, 489.50 EUR"


@function_tool
def get_weather(city: str, date: str) -> str:
    """Tells the weather of a day."""
    return f"{city}: 18 degrees, sunny"


async def run(options):
    agent = Agent("flights", instructions=options.instructions, tools=[search_flights, get_weather], model="any", output_type=City if options.city else None)
    kinds = []
    if options.stream:
        result = Runner.run_streamed(agent, options.question, max_turns=8)
        async for event in result.stream_events():
            kinds.append(event.type)
    else:
        result = await Runner.run(agent, options.question, max_turns=8)
    usage = result.context_wrapper.usage
    return {
        "answer": result.final_output,
        "items": result.to_input_list(),
        "usage": [usage.requests, usage.input_tokens, usage.output_tokens],
        "kinds": sorted(set(kinds)),
        "error": None,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("api", choices=["responses", "chat"])
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--question", default="From New York to Lisbon on 11 May, please.")
    parser.add_argument("--instructions", default="You help people to travel.")
    parser.add_argument("--city", action="store_true", help="the answer is a city, and checked to be one")
    options = parser.parse_args()
    set_default_openai_api({"responses": "responses", "chat": "chat_completions"}[options.api])
    try:
        came = asyncio.run(run(options))
    except Exception as raised:  # whatever the framework raises is told
        status, code = getattr(raised, "status_code", None), getattr(raised, "code", None)
        came = {"answer": None, "error": {"class": type(raised).__name__, "status": status, "code": code, "message": str(raised)}}
    print(json.dumps(came, default=vars))
    raise SystemExit(0 if came["error"] is None else 3)


if __name__ == "__main__":
    main()
