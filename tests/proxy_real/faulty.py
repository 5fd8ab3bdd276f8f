"""A provider with whom something is wrong: the first segment of the path says what.

`http://127.0.0.1:PORT/cut/v1/responses` is a stream that breaks off. Errors are spelled as their provider spells them, replies by
`../record/replies.py`. Only loopback is bound.
"""

import json
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "record"))

from replies import DIALECTS, Ids, server_sent

SLOW = 1.5  # seconds until the first byte; more than the patience of a client that is to give up

ITEMS = [{"text": "I look up the weather in Lisbon, on the eleventh of May."}, {"call": "get_weather", "arguments": {"city": "Lisbon"}}]

STATUSES = {"400": 400, "401": 401, "429": 429, "500": 500, "529": 529}

# What a client meets: a refusal, a reply that never ends well, one that is none, one that is late.
FAULTS = [*STATUSES, "cut", "cut-in-event", "ended-early", "malformed", "failing", "empty", "page", "slow"]

WORDS = {
    400: ("invalid_request_error", "No tool output found for function call call_1."),
    401: ("authentication_error", "Incorrect API key provided."),
    429: ("rate_limit_error", "Too many requests. Please wait a moment."),
    500: ("api_error", "The server had an error while processing your request."),
    529: ("overloaded_error", "Overloaded"),
}


def error_body(end, status):
    kind, message = WORDS[status]
    if end == "/messages":
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def failure_event(end):
    """A failure that is reported in the stream."""
    kind, message = WORDS[529]
    if end == "/messages":
        event = {"type": "error", "error": {"type": kind, "message": message}}
        return f"event: error\ndata: {json.dumps(event)}\n\n".encode()
    if end == "/chat/completions":
        return f"data: {json.dumps(error_body(end, 529))}\n\n".encode()
    event = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 9}
    return f"event: error\ndata: {json.dumps(event)}\n\n".encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fault = self.path.split("/")[1]
        end = next(end for end in DIALECTS if self.path.split("?")[0].endswith(end))
        if fault in STATUSES:
            headers = {"retry-after": "1"} if fault == "429" else {}
            return self.whole(STATUSES[fault], "application/json", json.dumps(error_body(end, STATUSES[fault])).encode(), headers)
        if fault == "page":
            return self.whole(200, "text/html", b"<html><body>Please log in to this network.</body></html>")
        if fault == "slow":
            time.sleep(SLOW)
        whole, events, _ = DIALECTS[end]
        body = whole({"items": ITEMS}, request, Ids("faulty"), 0)
        if not request.get("stream"):
            return self.reply(fault, json.dumps(body).encode())
        pieces = server_sent(events(body)).split(b"\n\n")[:-1]
        self.stream(fault, end, [piece + b"\n\n" for piece in pieces])

    def reply(self, fault, body):
        half = len(body) // 2
        if fault in ("cut", "cut-in-event", "ended-early"):
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:half])
            self.close_connection = True
        elif fault in ("malformed", "failing"):
            self.whole(200, "application/json", body[:half])
        elif fault == "empty":
            self.whole(200, "application/json", b"")
        else:
            self.whole(200, "application/json", body)

    def stream(self, fault, end, pieces):
        some = pieces[: len(pieces) // 3]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        sent = {
            "cut": some,
            "cut-in-event": [*some, pieces[len(some)][:20]],
            "ended-early": some,
            "malformed": [*some, b'data: {"broken\n\n', *pieces[len(some) :]],
            "failing": [*some, failure_event(end)],
            "empty": [],
        }.get(fault, pieces)
        for piece in sent:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if fault in ("cut", "cut-in-event"):
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def whole(self, status, kind, body, headers=None):
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def handle(self):
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # a client that gave up

    def log_message(self, *_):
        """Quiet."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # all clients come at once


@contextmanager
def faulty():
    """Gives the address, without the fault."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
