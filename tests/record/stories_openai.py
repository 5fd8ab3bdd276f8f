"""Stories recorded with the openai client in a hand-written loop: each app here has one of the usual bugs."""

import json

from recording import scripted, write_exchanges, write_json

from openai import BadRequestError, OpenAI


def client(endpoint):
    return OpenAI(base_url=f"{endpoint.url}/v1", api_key="unused", max_retries=0)


def function(name, description, **properties):
    """A tool of a chat request; every parameter is required text."""
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TEXT = {"type": "string"}


def ask(endpoint, messages, tools, model="gpt-4o-mini"):
    """One chat turn, as the dict the app keeps."""
    reply = client(endpoint).chat.completions.create(model=model, messages=messages, tools=tools)
    return reply.choices[0].message.model_dump(exclude_none=True, exclude={"annotations"})


def output(call, content):
    return {"role": "tool", "tool_call_id": call["id"], "content": content}


# --- a message list in the wrong order ----------------------------------------------------------------

GREENHOUSE_TOOLS = [
    function("read_sensor", "The last value of a sensor.", house=TEXT, sensor=TEXT),
    function("set_vent", "Open a roof vent by so many per cent.", house=TEXT, percent={"type": "integer"}),
]
GREENHOUSE_ANSWERS = {"read_sensor": "31.5", "set_vent": "vent at 60 per cent"}


def output_before_call():
    """The app stores a slow tool's output at once and the model's message only afterwards."""
    with scripted("output-before-call") as endpoint:
        messages = [
            {"role": "system", "content": "Keep the greenhouses below 28 degrees."},
            {"role": "user", "content": "House 3 feels hot. Do what is needed."},
        ]
        while calls := (message := ask(endpoint, messages, GREENHOUSE_TOOLS)).get("tool_calls"):
            outputs = [output(call, GREENHOUSE_ANSWERS[call["function"]["name"]]) for call in calls]
            late = calls[0]["function"]["name"] == "set_vent"  # the bug: this tool writes its own output
            messages += [*outputs, message] if late else [message, *outputs]
        write_json("output-before-call.json", [*messages, message])


# --- many trajectories in one file --------------------------------------------------------------------

RETURNS_TOOLS = [
    function("find_order", "Find an order.", order=TEXT),
    function("start_return", "Start the return of one article.", order=TEXT, article=TEXT),
    function("exchange_article", "Exchange an article for another size.", order=TEXT, article=TEXT, size=TEXT),
]
RETURNS_ANSWERS = {
    "find_order": '{"order": "N-5108", "articles": ["boots 42", "rain coat M"], "delivered": "2026-02-20"}',
    "start_return": '{"label": "R-88121"}',
    "exchange_article": '{"exchange": "E-4417", "ships": "2026-03-04"}',
}
SHOPPERS = [
    ["I want to send the rain coat from N-5108 back.", "Yes, please.", "###STOP###"],
    ["The boots from N-5108 are too small.", "43, please. And the coat goes back.", "###STOP###"],
]


def trajectory(endpoint, task, lines):
    """One customer, simulated line by line, in the shape of a benchmark's result file."""
    messages = [{"role": "system", "content": "You handle returns of a shoe shop. Ask before you change anything."}]
    for line in lines:
        messages.append({"role": "user", "content": line})
        if line == "###STOP###":
            break
        while calls := (message := ask(endpoint, messages, RETURNS_TOOLS)).get("tool_calls"):
            names = [call["function"]["name"] for call in calls]
            answers = [
                {**output(call, RETURNS_ANSWERS[name]), "name": name} for call, name in zip(calls, names, strict=True)
            ]
            messages += [message, *answers]
        messages.append(message)
    return {"task_id": task, "reward": 1.0, "info": {"source": "scripted"}, "traj": messages, "trial": 0}


def reused_call_id():
    """A server that numbers its calls anew in every answer: the second run uses one id for two calls."""
    with scripted("reused-call-id") as endpoint:
        runs = [trajectory(endpoint, task, lines) for task, lines in enumerate(SHOPPERS)]
        write_json("reused-call-id.json", runs)


# --- the provider says no -----------------------------------------------------------------------------

LOCKSMITH_TOOLS = [
    function("key_blank_for", "The key blank that fits a type of lock.", lock=TEXT),
    function("book_visit", "Send a locksmith to an address.", address=TEXT, day=TEXT),
]


def refusal():
    """The model looks something up and then declines."""
    with scripted("refusal") as endpoint:
        messages = [
            {"role": "system", "content": "You answer for a locksmith."},
            {
                "role": "user",
                "content": "Which blank fits a KA-60? I want to get into my neighbour's flat while she is away.",
            },
        ]
        message = ask(endpoint, messages, LOCKSMITH_TOOLS)
        messages += [message, *[output(call, "blank 7-AX, in stock") for call in message["tool_calls"]]]
        ask(endpoint, messages, LOCKSMITH_TOOLS)
        write_exchanges("refusal.jsonl", endpoint)


KEEP = 5  # items of history the app sends

GAUGE_TOOLS = [
    {**function("river_level", "The level of a river at a gauge, in cm.", gauge=TEXT)["function"], "type": "function"},
    {**function("notify", "Send a text message to the crew on duty.", words=TEXT)["function"], "type": "function"},
]
GAUGE_LEVELS = {"Oberau": "212", "Steg": "268", "Neumarkt": "190"}


def trimmed_history():
    """The app keeps the last few items only: the cut falls between a call and its output, and the provider refuses."""
    with scripted("trimmed-history") as endpoint:
        rules = {"role": "developer", "content": "Watch the gauges. Warn the crew above 260 cm."}
        history = [{"role": "user", "content": "Check Oberau, Steg and Neumarkt."}]
        request = {"model": "gpt-5-mini", "tools": GAUGE_TOOLS, "store": False}
        try:
            while True:
                reply = client(endpoint).responses.create(**request, input=[rules, *history[-KEEP:]])
                history += [item.model_dump(exclude_none=True) for item in reply.output]
                for call in reply.output:
                    level = GAUGE_LEVELS.get(json.loads(call.arguments).get("gauge"), "sent")
                    history.append({"type": "function_call_output", "call_id": call.call_id, "output": level})
        except BadRequestError:
            write_json("trimmed-history.json", endpoint.exchanges[-1]["request"])


STORIES = {
    "output-before-call": output_before_call,
    "reused-call-id": reused_call_id,
    "refusal": refusal,
    "trimmed-history": trimmed_history,
}
