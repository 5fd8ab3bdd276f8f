"""What every recorded story needs: ids that do not change, its script's endpoint, and the writing of its files.

Import it before an SDK: it replaces `uuid.uuid4`, which the SDKs take for run ids.
"""

import json
import os
import random
import uuid
from pathlib import Path

from endpoint import Endpoint, load_script

HERE = Path(__file__).parent
SESSIONS = HERE.parent.parent / "sessions"

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"  # nothing but the scripted endpoint is talked to

_random = random.Random()


def _uuid4():
    return uuid.UUID(int=_random.getrandbits(128), version=4)


uuid.uuid4 = _uuid4


def restart_ids(story):
    """The ids of a story depend on its name only."""
    _random.seed(story)


def scripted(story):
    """The endpoint that plays `scripts/<story>.json`."""
    return Endpoint(load_script(HERE / "scripts" / f"{story}.json"))


def write_json(name, value):
    """One JSON document, indented as `json.dump(..., indent=2)` leaves it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    (SESSIONS / name).write_text(text + "\n", encoding="utf-8")


def write_lines(name, values):
    """One JSON value a line."""
    lines = [json.dumps(value, ensure_ascii=False) for value in values]
    (SESSIONS / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_exchanges(name, endpoint):
    """Each request with its response, one exchange a line."""
    write_lines(name, [{"request": said["request"], "response": said["response"]} for said in endpoint.exchanges])


def write_tools(name, tools):
    """The tools a recording without tools was made with, as a bare list beside it."""
    bare = [{key: tool[key] for key in ("name", "description", "parameters")} for tool in tools if tool.get("name")]
    write_json(name, bare)
