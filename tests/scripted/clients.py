"""The official SDKs talk to `retake scripted`: OpenAI Responses, OpenAI Chat, Anthropic Messages, Gemini and Bedrock Converse, whole
and streamed.

    python3 clients.py PATH/TO/retake

Each client goes through the story of flights.script.toml: a misspelled tool, an error that names the right one, the right call, the
answer. Then flaky.script.toml: the SDKs wait as `Retry-After` says, try again, and notice the stream that breaks off.
"""

import json
import subprocess
import sys
from contextlib import contextmanager

import anthropic
import boto3
import httpx2
import openai
from botocore.config import Config
from botocore.exceptions import ClientError
from google import genai
from google.genai import types
from urllib3.exceptions import ProtocolError

QUESTION = "From New York to Lisbon on 11 May, please."
NAMES = ("search_flights", "book_flight", "get_weather")
OUTPUTS = ("There is no tool named serch_flights. Did you mean search_flights?", "TP 204 at 18:25")
CALLS = ["serch_flights", "search_flights"]
WANTED = {"from": "JFK", "to": "LIS", "date": "2026-05-11"}
SCHEMA = {"type": "object", "properties": {}}


@contextmanager
def served(program, script):
    """A script as an endpoint; gives its address."""
    command = [program, "scripted", f"sessions/agents/{script}.script.toml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def check(found, wanted, where):
    if found != wanted:
        sys.exit(f"{where}: {found!r} instead of {wanted!r}")


class Responses:
    """`client.responses` of openai."""

    name = "openai responses"

    def __init__(self, address, retries=0):
        self.client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=retries)
        self.input = [{"role": "user", "content": QUESTION}]
        self.tools = [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in NAMES]

    def ask(self, streams):
        """The texts in pieces, the whole text, and the calls."""
        request = {"model": "any", "input": self.input, "tools": self.tools}
        pieces = []
        if streams:
            with self.client.responses.stream(**request) as stream:
                pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
                reply = stream.get_final_response()
        else:
            reply = self.client.responses.create(**request)
        check(reply.model.startswith("scripted:"), True, "the model's name")
        check(reply.usage.output_tokens > 0, True, "usage")
        self.input += [item.model_dump(exclude={"status", "parsed_arguments"}, exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        return pieces, reply.output_text, [(call.call_id, call.name, json.loads(call.arguments)) for call in calls]

    def answer(self, call_id, output):
        self.input.append({"type": "function_call_output", "call_id": call_id, "output": output})


class Chat:
    """`client.chat.completions` of openai."""

    name = "openai chat"

    def __init__(self, address, retries=0):
        self.client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=retries)
        self.messages = [{"role": "user", "content": QUESTION}]
        functions = [{"name": name, "parameters": SCHEMA, "strict": True} for name in NAMES]
        self.tools = [{"type": "function", "function": function} for function in functions]

    def ask(self, streams):
        request = {"model": "any", "messages": self.messages, "tools": self.tools}
        pieces = []
        if streams:
            with self.client.chat.completions.stream(**request, stream_options={"include_usage": True}) as stream:
                pieces = [event.delta for event in stream if event.type == "content.delta"]
                reply = stream.get_final_completion()
        else:
            reply = self.client.chat.completions.create(**request)
        check(reply.usage.completion_tokens > 0, True, "usage")
        message = reply.choices[0].message
        calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
        check(reply.choices[0].finish_reason, "tool_calls" if calls else "stop", "finish_reason")
        made = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for call_id, name, arguments in calls
        ]
        self.messages.append({"role": "assistant", "content": message.content, **({"tool_calls": made} if made else {})})
        return pieces, message.content, calls

    def answer(self, call_id, output):
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": output})


class Messages:
    """`client.messages` of anthropic."""

    name = "anthropic messages"

    def __init__(self, address, retries=0):
        self.client = anthropic.Anthropic(base_url=address, api_key="none", max_retries=retries)
        self.messages = [{"role": "user", "content": QUESTION}]
        self.tools = [{"name": name, "input_schema": SCHEMA} for name in NAMES]

    def ask(self, streams):
        request = {"model": "any", "max_tokens": 1000, "messages": self.messages, "tools": self.tools}
        pieces = []
        if streams:
            with self.client.messages.stream(**request) as stream:
                pieces = list(stream.text_stream)
                reply = stream.get_final_message()
        else:
            reply = self.client.messages.create(**request)
        check(reply.usage.output_tokens > 0, True, "usage")
        self.messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in reply.content]})
        text = "".join(block.text for block in reply.content if block.type == "text")
        calls = [(block.id, block.name, block.input) for block in reply.content if block.type == "tool_use"]
        check(reply.stop_reason, "tool_use" if calls else "end_turn", "stop_reason")
        return pieces, text, calls

    def answer(self, call_id, output):
        result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        self.messages.append({"role": "user", "content": [result]})


class Contents:
    """`client.models` of google-genai."""

    name = "google-genai"

    def __init__(self, address, retries=0):
        options = types.HttpOptions(base_url=address, retry_options=types.HttpRetryOptions(attempts=retries + 1))
        self.client = genai.Client(api_key="none", http_options=options)
        self.contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
        functions = [types.FunctionDeclaration(name=name, parameters_json_schema=SCHEMA) for name in NAMES]
        self.config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=functions)],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    def ask(self, streams):
        request = {"model": "any", "contents": self.contents, "config": self.config}
        if streams:
            chunks = list(self.client.models.generate_content_stream(**request))
        else:
            chunks = [self.client.models.generate_content(**request)]
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
        check(chunks[-1].model_version.startswith("scripted:"), True, "the model's name")
        check(chunks[-1].usage_metadata.candidates_token_count > 0, True, "usage")
        check(chunks[-1].candidates[0].finish_reason.value, "STOP", "finishReason")
        self.contents.append(types.Content(role="model", parts=parts))
        pieces = [part.text for part in parts if part.text]
        calls = [part.function_call for part in parts if part.function_call]
        return pieces if streams else [], "".join(pieces), [((call.id, call.name), call.name, call.args) for call in calls]

    def answer(self, call, output):
        call_id, name = call
        response = types.FunctionResponse(id=call_id, name=name, response={"output": output})
        self.contents.append(types.Content(role="user", parts=[types.Part(function_response=response)]))


class Converse:
    """`bedrock-runtime` of boto3; its signature is of dummy credentials."""

    name = "boto3 converse"

    def __init__(self, address, retries=0):
        config = Config(retries={"total_max_attempts": retries + 1, "mode": "standard"})
        keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "us-east-1"}
        self.client = boto3.client("bedrock-runtime", endpoint_url=address, config=config, **keys)
        self.messages = [{"role": "user", "content": [{"text": QUESTION}]}]
        specs = [{"name": name, "inputSchema": {"json": SCHEMA}} for name in NAMES]
        self.tools = {"tools": [{"toolSpec": spec} for spec in specs]}

    def ask(self, streams):
        request = {"modelId": "any.model-v1:0", "messages": self.messages, "toolConfig": self.tools}
        pieces, blocks = [], {}
        if streams:
            for event in self.client.converse_stream(**request)["stream"]:
                ((kind, value),) = event.items()
                if kind == "contentBlockStart":
                    blocks[value["contentBlockIndex"]] = {"toolUse": value["start"]["toolUse"] | {"input": ""}}
                elif kind == "contentBlockDelta":
                    index, delta = value["contentBlockIndex"], value["delta"]
                    if "text" in delta:
                        pieces.append(delta["text"])
                        blocks.setdefault(index, {"text": ""})["text"] += delta["text"]
                    elif "toolUse" in delta:
                        blocks[index]["toolUse"]["input"] += delta["toolUse"]["input"]
                    else:
                        reasoning = blocks.setdefault(index, {"reasoningContent": {"reasoningText": {}}})
                        told = reasoning["reasoningContent"]["reasoningText"]
                        for key, text in delta["reasoningContent"].items():
                            told[key] = told.get(key, "") + text
                elif kind == "contentBlockStop" and "toolUse" in blocks[value["contentBlockIndex"]]:
                    call = blocks[value["contentBlockIndex"]]["toolUse"]
                    call["input"] = json.loads(call["input"])
                elif kind == "messageStop":
                    reason = value["stopReason"]
                elif kind == "metadata":
                    usage = value["usage"]
            message = {"role": "assistant", "content": list(blocks.values())}
        else:
            reply = self.client.converse(**request)
            message, reason, usage = reply["output"]["message"], reply["stopReason"], reply["usage"]
        check(usage["outputTokens"] > 0, True, "usage")
        self.messages.append(message)
        text = "".join(block["text"] for block in message["content"] if "text" in block)
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        check(reason, "tool_use" if calls else "end_turn", "stopReason")
        return pieces, text, [(call["toolUseId"], call["name"], call["input"]) for call in calls]

    def answer(self, call_id, output):
        result = {"toolUseId": call_id, "content": [{"text": output}], "status": "success"}
        self.messages.append({"role": "user", "content": [{"toolResult": result}]})


CLIENTS = (Responses, Chat, Messages, Contents, Converse)


def flights(address, client, streams):
    """The whole story with one client."""
    where = f"{client.name}, {'streamed' if streams else 'whole'}"
    talk = client(address)
    for wanted, output in zip(CALLS, OUTPUTS):
        pieces, text, calls = talk.ask(streams)
        check([(name, arguments) for _, name, arguments in calls], [(wanted, WANTED)], where)
        if streams:
            check("".join(pieces), text, where)
            check(len(pieces) > 1, True, f"{where}: the text comes in pieces")
        talk.answer(calls[0][0], output)
    _, text, calls = talk.ask(streams)
    check((text.endswith(OUTPUTS[-1]), calls), (True, []), where)
    print(f"{where}: {', '.join(CALLS)}, answer")


def flaky(program, client):
    """429, 500, a stream that breaks off, and then all is well."""
    with served(program, "flaky") as address:
        once = client(address)
        try:
            once.ask(False)
            sys.exit(f"{client.name}: the first attempt should have failed")
        except (openai.RateLimitError, anthropic.RateLimitError) as error:
            check(error.response.headers["retry-after"], "1", client.name)
        except genai.errors.ClientError as error:
            check((error.code, error.status), (429, "RESOURCE_EXHAUSTED"), client.name)
        except ClientError as error:
            check(error.response["Error"]["Code"], "ThrottlingException", client.name)
    with served(program, "flaky") as address:
        patient = client(address, retries=2)
        try:
            patient.ask(True)
            sys.exit(f"{client.name}: the stream should have broken off")
        except (httpx2.RemoteProtocolError, openai.APIError, anthropic.APIError, genai.errors.APIError, ProtocolError) as error:
            told = type(error).__name__
        _, _, calls = patient.ask(True)
        check([name for _, name, _ in calls], ["get_weather"], client.name)
        print(f"{client.name}: 429, 500, {told}, get_weather")


def main():
    program = sys.argv[1]
    with served(program, "flights") as address:
        for client in CLIENTS:
            for streams in (False, True):
                flights(address, client, streams)
    for client in CLIENTS:
        flaky(program, client)


if __name__ == "__main__":
    main()
