"""Codex CLI without its screen: `codex exec` in a folder of its own, pointed at an address with the lines that `retake proxy` prints."""

import json
import os
import subprocess
from pathlib import Path

PATIENCE = 60  # seconds

PROMPT = "Say hello with the shell."


def carry_out(program, folder, base):
    """What it tells, without the ids that are new in each run; its errors beside."""
    home, work = Path(folder) / "codex", Path(folder) / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    provider = f'model_providers.retake={{ name = "retake", base_url = "{base}/v1", env_key = "OPENAI_API_KEY", wire_api = "responses" }}'
    command = [program, "-c", "model_provider=retake", "-c", provider]
    # It is the model's provider that is looked at here; its sandbox needs more than every machine allows.
    command += ["exec", "--json", "--skip-git-repo-check", "--ephemeral", "--dangerously-bypass-approvals-and-sandbox", "-m", "any", PROMPT]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), "OPENAI_API_KEY": "none"}
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, cwd=work, timeout=PATIENCE, check=False
    )
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return {
        "code": ran.returncode,
        "items": [item for item in items if item["type"] != "error"],
        "errors": [event.get("message") or event["error"]["message"] for event in events if event["type"] in ("error", "turn.failed")],
        "usage": [event["usage"] for event in events if event["type"] == "turn.completed"],
    }
