"""Agents as users write them, on the SDKs of OpenAI, Anthropic and Google for Python.

A job is `{"client", "base", "streams", "once", "timeout"}`; `carry_out` gives what came of it: each turn, the answer, or the error that ended it.
`clients.mjs` does the same on Node, but for Google's.
"""

import json

import anthropic
import boto3
import openai
from botocore.config import Config
from google import genai
from google.genai import types

QUESTION = "From New York to Lisbon on 11 May, please."
TEXT = {"type": "string"}


def schema(*names):
    return {"type": "object", "properties": {name: TEXT for name in names}, "required": list(names), "additionalProperties": False}


SCHEMAS = {"search_flights": schema("from", "to", "date"), "get_weather": schema("city", "date")}
TOOLS = {
    "search_flights": lambda **_: "TP 204, 18:30 to 06:25 the next day, 489.50 EUR",
    "get_weather": lambda **arguments: f"{arguments['city']}: 18 degrees, sunny",
}


class Responses:
    """`client.responses` of openai."""

    def __init__(self, job):
        self.client = openai.OpenAI(base_url=f"{job['base']}/v1", api_key="none", max_retries=0, timeout=job["timeout"])
        self.input = [{"role": "user", "content": QUESTION}]
        self.tools = [{"type": "function", "name": name, "parameters": schema, "strict": True} for name, schema in SCHEMAS.items()]

    def ask(self, streams, seen):
        request = {"model": "any", "input": self.input, "tools": self.tools}
        if streams:
            with self.client.responses.stream(**request) as stream:
                for event in stream:
                    seen.append(event.type)
                reply = stream.get_final_response()
        else:
            reply = self.client.responses.create(**request)
        self.input += [item.model_dump(exclude={"status", "parsed_arguments"}, exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        return reply, reply.output_text, [(call.call_id, call.name, json.loads(call.arguments)) for call in calls]

    def answer(self, outputs):
        self.input += [{"type": "function_call_output", "call_id": call_id, "output": output} for call_id, output in outputs]


class Chat:
    """`client.chat.completions` of openai."""

    def __init__(self, job):
        self.client = openai.OpenAI(base_url=f"{job['base']}/v1", api_key="none", max_retries=0, timeout=job["timeout"])
        self.messages = [{"role": "user", "content": QUESTION}]
        functions = [{"name": name, "parameters": schema, "strict": True} for name, schema in SCHEMAS.items()]
        self.tools = [{"type": "function", "function": function} for function in functions]

    def ask(self, streams, seen):
        request = {"model": "any", "messages": self.messages, "tools": self.tools}
        if streams:
            with self.client.chat.completions.stream(**request, stream_options={"include_usage": True}) as stream:
                for event in stream:
                    seen.append(event.type)
                reply = stream.get_final_completion()
        else:
            reply = self.client.chat.completions.create(**request)
        message = reply.choices[0].message
        calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
        made = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for call_id, name, arguments in calls
        ]
        self.messages.append({"role": "assistant", "content": message.content, **({"tool_calls": made} if made else {})})
        return reply, message.content, calls

    def answer(self, outputs):
        self.messages += [{"role": "tool", "tool_call_id": call_id, "content": output} for call_id, output in outputs]


class Messages:
    """`client.messages` of anthropic."""

    def __init__(self, job):
        self.client = anthropic.Anthropic(base_url=job["base"], api_key="none", max_retries=0, timeout=job["timeout"])
        self.messages = [{"role": "user", "content": QUESTION}]
        self.tools = [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()]

    def ask(self, streams, seen):
        request = {"model": "any", "max_tokens": 1000, "messages": self.messages, "tools": self.tools}
        if streams:
            with self.client.messages.stream(**request) as stream:
                for event in stream:
                    seen.append(event.type)
                reply = stream.get_final_message()
        else:
            reply = self.client.messages.create(**request)
        self.messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
        text = "".join(block.text for block in reply.content if block.type == "text")
        return reply, text, [(block.id, block.name, block.input) for block in reply.content if block.type == "tool_use"]

    def answer(self, outputs):
        results = [{"type": "tool_result", "tool_use_id": call_id, "content": output} for call_id, output in outputs]
        self.messages.append({"role": "user", "content": results})


class Contents:
    """`client.models` of google-genai."""

    def __init__(self, job):
        options = types.HttpOptions(base_url=job["base"], timeout=int(job["timeout"] * 1000))
        self.client = genai.Client(api_key="none", http_options=options)
        self.contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
        functions = [types.FunctionDeclaration(name=name, parameters_json_schema=schema) for name, schema in SCHEMAS.items()]
        self.config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=functions)],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    def ask(self, streams, seen):
        request = {"model": "any", "contents": self.contents, "config": self.config}
        if streams:
            chunks = list(self.client.models.generate_content_stream(**request))
        else:
            chunks = [self.client.models.generate_content(**request)]
        for chunk in chunks:
            # Heads of HTTP differ by their dates.
            chunk.sdk_http_response = None
            seen.append(chunk.model_dump(mode="json", exclude_none=True))
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
        self.contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        text = "".join(part.text for part in parts if part.text)
        return chunks[-1], text, [((call.id, call.name), call.name, call.args) for call in calls]

    def answer(self, outputs):
        responses = [types.FunctionResponse(id=call[0], name=call[1], response={"output": output}) for call, output in outputs]
        if responses:
            self.contents.append(types.Content(role="user", parts=[types.Part(function_response=one) for one in responses]))


class Plain(dict):
    """A reply of boto3, which is a dictionary already."""

    def model_dump(self, **_):
        return self


class Converse:
    """`bedrock-runtime` of boto3; its signature is of dummy credentials."""

    def __init__(self, job):
        config = Config(read_timeout=job["timeout"], retries={"total_max_attempts": 1})
        keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
        self.client = boto3.client("bedrock-runtime", endpoint_url=job["base"], config=config, **keys)
        self.messages = [{"role": "user", "content": [{"text": QUESTION}]}]
        specs = [{"name": name, "inputSchema": {"json": schema}} for name, schema in SCHEMAS.items()]
        self.tools = {"tools": [{"toolSpec": spec} for spec in specs]}

    def ask(self, streams, seen):
        request = {"modelId": "any.model-v1:0", "messages": self.messages, "toolConfig": self.tools}
        if streams:
            events = list(self.client.converse_stream(**request)["stream"])
            seen += events
            blocks = {}
            for event in (event for event in events if "contentBlockIndex" in str(event)):
                ((kind, value),) = event.items()
                block = blocks.setdefault(value["contentBlockIndex"], {})
                if kind == "contentBlockStart":
                    block |= {"toolUse": value["start"]["toolUse"] | {"input": ""}}
                elif "text" in value.get("delta", {}):
                    block["text"] = block.get("text", "") + value["delta"]["text"]
                elif "toolUse" in value.get("delta", {}):
                    block["toolUse"]["input"] += value["delta"]["toolUse"]["input"]
            content = [block for block in blocks.values() if block]
            for call in (block["toolUse"] for block in content if "toolUse" in block):
                call["input"] = json.loads(call["input"])
            reply = {"content": content}
        else:
            reply = self.client.converse(**request)
            # It holds the headers, which differ by their dates.
            del reply["ResponseMetadata"]
            content = reply["output"]["message"]["content"]
        self.messages.append({"role": "assistant", "content": content})
        text = "".join(block["text"] for block in content if "text" in block)
        calls = [block["toolUse"] for block in content if "toolUse" in block]
        return Plain(reply), text, [(call["toolUseId"], call["name"], call["input"]) for call in calls]

    def answer(self, outputs):
        results = [{"toolUseId": call_id, "content": [{"text": output}]} for call_id, output in outputs]
        if results:
            self.messages.append({"role": "user", "content": [{"toolResult": result} for result in results]})


CLIENTS = {"openai responses": Responses, "openai chat": Chat, "anthropic messages": Messages}
# Of the SDKs of Google and Amazon there is no story on Node.
ON_PYTHON = {**CLIENTS, "google-genai": Contents, "boto3": Converse}


def carry_out(job):
    """Asks until the model has answered, or only once; a tool that is not there raises, as it does in most agents."""
    turns, answer, error = [], None, None
    talk = ON_PYTHON[job["client"]](job)
    while answer is None and error is None:
        seen = []
        try:
            reply, text, calls = talk.ask(job["streams"], seen)
            turns.append({"events": seen, "reply": reply.model_dump(mode="json")})
            talk.answer([(call_id, TOOLS[name](**arguments)) for call_id, name, arguments in calls])
            if job["once"] or not calls:
                answer = text
        except Exception as raised:  # whatever an SDK raises is told
            error = {"class": type(raised).__name__, "status": getattr(raised, "status_code", None), "message": str(raised)}
            if len(seen) and (not turns or turns[-1]["events"] is not seen):
                turns.append({"events": seen, "reply": None})
    return {"turns": turns, "answer": answer, "error": error}
