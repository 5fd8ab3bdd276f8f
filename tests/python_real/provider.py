"""A provider of OpenAI's dialects on the loopback that refuses what OpenAI refuses: a call without its output, an output without its call."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

ANSWER = "All is well."


class Provider(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        fault = fault_of_chat(body["messages"]) if "messages" in body else fault_of_items(body["input"])
        if fault:
            self.send(400, {"error": {"message": fault, "type": "invalid_request_error", "param": None, "code": None}})
        elif "messages" in body:
            message = {"role": "assistant", "content": ANSWER}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            self.send(200, {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage})
        else:
            text = {"type": "output_text", "text": ANSWER, "annotations": []}
            message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
            usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
            details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
            rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": {**usage, **details}}
            self.send(200, {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [message], **rest})

    def send(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def fault_of_chat(messages):
    open_calls = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            break
        else:
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
    if open_calls:
        return f"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': {open_calls}"


def fault_of_items(items):
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    for call in calls:
        if call not in outputs:
            return f"No tool output found for function call {call}."
    for output in outputs:
        if output not in calls:
            return f"No tool call found for function call output with call_id {output}."


@contextmanager
def provider():
    """The address of a provider, and the bodies that it was sent."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.bodies = []
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", server.bodies
    finally:
        server.shutdown()
        server.server_close()
