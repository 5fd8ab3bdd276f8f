"""Agents that leave their history with the provider: the tool runner of anthropic on a thread, and `previous_response_id` with openai
and openai-agents.

A job is as those of `clients.py`; `carry_out` gives the tools that ran, the answer, or the error that ended it. `kept.mjs` does the same on
Node.
"""

import asyncio
import os

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # nothing but the scripted model is talked to

import json

import anthropic
import openai
from agents import Agent, OpenAIResponsesModel, Runner
from anthropic import beta_tool

import frameworks
from clients import QUESTION, SCHEMAS, TOOLS


def runner(job, ran):
    """`client.beta.messages.tool_runner`, which keeps a thread unless it is told not to."""
    client = anthropic.Anthropic(base_url=job["base"], api_key="none", max_retries=0, timeout=job["timeout"])

    def tool(name):
        def call(**arguments):
            ran.append(name)
            return TOOLS[name](**arguments)

        return beta_tool(call, name=name, description=name, input_schema=SCHEMAS[name])

    last = None
    request = {"model": "any", "max_tokens": 1000, "messages": [{"role": "user", "content": QUESTION}], "tools": [tool(name) for name in TOOLS]}
    if job["streams"]:
        for stream in client.beta.messages.tool_runner(**request, stream=True):
            last = stream.get_final_message()
    else:
        for message in client.beta.messages.tool_runner(**request):
            last = message
    return "".join(block.text for block in last.content if block.type == "text")


def responses(job, ran):
    """A loop of one's own over `client.responses`."""
    client = openai.OpenAI(base_url=f"{job['base']}/v1", api_key="none", max_retries=0, timeout=job["timeout"])
    tools = [{"type": "function", "name": name, "parameters": schema, "strict": True} for name, schema in SCHEMAS.items()]
    own, previous = [{"role": "user", "content": QUESTION}], None
    while True:
        request = {"model": "any", "input": own, "tools": tools, "previous_response_id": previous}
        if job["streams"]:
            with client.responses.stream(**request) as stream:
                reply = stream.until_done().get_final_response()
        else:
            reply = client.responses.create(**request)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        ran += [call.name for call in calls]
        outputs = [(call.call_id, TOOLS[call.name](**json.loads(call.arguments))) for call in calls]
        own = [{"type": "function_call_output", "call_id": call_id, "output": output} for call_id, output in outputs]
        previous = reply.id


async def agents(job):
    client = openai.AsyncOpenAI(base_url=f"{job['base']}/v1", api_key="none", max_retries=0, timeout=job["timeout"])
    model = OpenAIResponsesModel("any", client)
    tools = [frameworks.search_flights, frameworks.get_weather]
    agent = Agent("flights", instructions="You help people to travel.", tools=tools, model=model)
    options = {"max_turns": 8, "auto_previous_response_id": True}
    try:
        if job["streams"]:
            result = Runner.run_streamed(agent, QUESTION, **options)
            async for _ in result.stream_events():
                pass
        else:
            result = await Runner.run(agent, QUESTION, **options)
    finally:
        await client.close()
    return result.final_output


CLIENTS = {
    "anthropic tool runner": runner,
    "openai previous response": responses,
    "openai-agents previous response": lambda job, ran: asyncio.run(agents(job)),
}


def carry_out(job):
    ran, answer, error = [], None, None
    try:
        answer = CLIENTS[job["client"]](job, ran)
    except Exception as raised:  # whatever an SDK raises is told
        error = {"class": type(raised).__name__, "status": getattr(raised, "status_code", None), "message": str(raised)}
    return {"ran": ran, "answer": answer, "error": error}
