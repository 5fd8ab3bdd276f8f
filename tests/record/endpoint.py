"""A scripted model endpoint on loopback: OpenAI Responses, OpenAI Chat and Anthropic Messages, whole and streamed.

    python3 endpoint.py SCRIPT.json [--port N] [--log FILE] [--idle SECONDS] [--strict]

The first line on stdout is the base URL. The endpoint answers each request with the next reply of the script
(README.md shows one) and stops by itself: when the last reply was sent, or when nobody asked for `--idle` seconds.
`--log` writes every exchange as one JSON line, `{"request", "response", "url", "status"}`.
`--strict` refuses a request whose history the provider would refuse, in its words (verdicts.py); such a request
takes no reply of the script.

Inside Python, `with Endpoint(script) as endpoint:` does the same; `endpoint.exchanges` holds what was said and
`endpoint.streams` the bytes of each streamed answer. Only the standard library is used, and only loopback is bound.
"""

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from replies import DIALECTS, Ids, server_sent
from verdicts import ANTHROPIC, CHAT, RESPONSES, refusal

JUDGED_AS = {"/responses": RESPONSES, "/chat/completions": CHAT, "/messages": ANTHROPIC}


def load_script(path):
    """A script file; its name seeds the ids."""
    script = json.loads(Path(path).read_text(encoding="utf-8"))
    return {"name": Path(path).stem, **script}


class Endpoint:
    """Serves one script on a free port of 127.0.0.1, from entering the context to leaving it."""

    def __init__(self, script, port=0, strict=False):
        self.replies = [reply for reply in script["replies"] for _ in range(reply.get("times", 1))]
        self.ids = Ids(script["name"])
        self.strict, self.played = strict, 0
        self.exchanges, self.streams = [], []
        self.lock = threading.Lock()
        self.asked_at = time.monotonic()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def finished(self):
        return self.played >= len(self.replies)

    def answer(self, path, request):
        """The next reply for a request: (status, content type, bytes)."""
        end = next((end for end in DIALECTS if path.split("?")[0].endswith(end)), None)
        with self.lock:
            self.asked_at = time.monotonic()
            if end is None or self.finished:
                message = f"nothing is scripted for request {len(self.exchanges) + 1} to {path}"
                return 404, "application/json", json.dumps({"error": {"message": message}}).encode()
            refused = refusal(JUDGED_AS[end], request) if self.strict else None
            if refused:
                status, body, stream = self._spell(DIALECTS[end], {"error": refused.body()}, request, self.played)
            else:
                status, body, stream = self._spell(DIALECTS[end], self.replies[self.played], request, self.played)
                self.played += 1
            self.exchanges.append({"request": request, "response": body, "url": path, "status": status})
            if stream is not None:
                self.streams.append(stream)
                return status, "text/event-stream; charset=utf-8", stream
            return status, "application/json", json.dumps(body, ensure_ascii=False).encode()

    def _spell(self, dialect, reply, request, number):
        whole, events, beside_error = dialect
        if "error" in reply:
            return reply.get("status", 400), {**beside_error, "error": reply["error"]}, None
        body = whole(reply, request, self.ids, number)
        stream = server_sent(events(body)) if request.get("stream") else None
        return 200, body, stream

    def _handler(self):
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers.get("content-length", 0))
                status, kind, content = endpoint.answer(self.path, json.loads(self.rfile.read(length)))
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                """Quiet: stdout is the URL only."""

        return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("script")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", help="write each exchange as a JSON line")
    parser.add_argument("--strict", action="store_true", help="refuse what the provider would refuse")
    parser.add_argument("--idle", type=float, default=60.0, help="stop after so many seconds without a request")
    options = parser.parse_args()
    with Endpoint(load_script(options.script), options.port, options.strict) as endpoint:
        print(endpoint.url, flush=True)
        while not endpoint.finished and time.monotonic() - endpoint.asked_at < options.idle:
            time.sleep(0.05)
        time.sleep(0.2)  # the last answer is still being written
        if options.log:
            lines = [json.dumps(exchange, ensure_ascii=False) for exchange in endpoint.exchanges]
            Path(options.log).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
