"""A provider that refuses what providers refuse: it stands before `retake scripted` and keeps what was asked.

The refusals are those of tests/record/verdicts.py, in the providers' words; Gemini's is that of unequal numbers of calls and responses.
"""

import json
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "record"))

from verdicts import ANTHROPIC, CHAT, RESPONSES, refusal

JUDGED_AS = {"/responses": RESPONSES, "/chat/completions": CHAT, "/messages": ANTHROPIC}
PASSED_ON = {"content-type", "anthropic-version", "anthropic-beta"}


def gemini_refusal(request):
    """What Gemini says of a turn of calls that is not answered by as many responses."""
    contents = request.get("contents", [])
    counts = [[sum(kind in part for part in content.get("parts", [])) for kind in ("functionCall", "functionResponse")] for content in contents]
    for calls, answers in zip(counts, [*counts[1:], [0, 0]]):
        if calls[0] != answers[1]:
            return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
    return None


def verdict(path, request):
    """The provider's words, or None."""
    if "generateContent" in path or "streamGenerateContent" in path:
        return gemini_refusal(request)
    dialect = next((dialect for end, dialect in JUDGED_AS.items() if path.endswith(end)), None)
    refused = refusal(dialect, request) if dialect else None
    return refused and refused.message


class Relay:
    """Listens from entering the context to leaving it; `asked` holds each request with what became of it."""

    def __init__(self, upstream):
        self.upstream, self.asked = upstream, []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path, headers, body):
        request = json.loads(body)
        refused = verdict(path.split("?")[0], request)
        self.asked.append((request, refused))
        if refused:
            error = {"message": refused, "type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT"}
            return 400, "application/json", json.dumps({"type": "error", "error": error}).encode()
        kept = {name: value for name, value in headers.items() if name.lower() in PASSED_ON}
        passed = urllib.request.Request(self.upstream + path, data=body, headers=kept)
        try:
            with urllib.request.urlopen(passed) as reply:
                return reply.status, reply.headers["content-type"], reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("content-type", "application/json"), error.read()

    def _handler(self):
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                self._reply(*relay.answer(self.path, self.headers, body))

            def do_GET(self):
                self._reply(404, "application/json", b"{}")

            def _reply(self, status, kind, content):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                """Quiet: stdout is for the stories."""

        return Handler
