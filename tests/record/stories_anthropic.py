"""Stories recorded with the anthropic client in a hand-written loop."""

from recording import SESSIONS, scripted, write_json

from anthropic import Anthropic

MODEL = "claude-opus-4-6"


def client(endpoint):
    return Anthropic(base_url=endpoint.url, api_key="unused", max_retries=0)


def tool(name, description, required=(), **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "input_schema": schema}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def say(endpoint, messages, tools, **options):
    """One turn; the reply joins the messages as the client's own dict."""
    reply = client(endpoint).messages.create(model=MODEL, max_tokens=1024, messages=messages, tools=tools, **options)
    content = [block.model_dump(exclude_none=True) for block in reply.content]
    messages.append({"role": "assistant", "content": content})
    return [block for block in content if block["type"] == "tool_use"]


def result(call, words, **flags):
    return {"type": "tool_result", "tool_use_id": call["id"], "content": words, **flags}


# --- blocks in the wrong place ------------------------------------------------------------------------

LAB_TOOLS = [
    tool("find_sample", "Find a sample by its barcode.", ["barcode"], barcode=TEXT),
    tool("queue_assay", "Queue an assay for a sample.", ["barcode", "assay"], barcode=TEXT, assay=TEXT),
    tool("print_label", "Print a label for a tube.", ["barcode"], barcode=TEXT, copies=WHOLE),
]


def misplaced_results():
    """Every call has its result, and two of them stand where the API forbids it."""
    with scripted("misplaced-results") as endpoint:
        messages = [{"role": "user", "content": "Queue an iron assay for sample 40-771 and print its label."}]
        (found,) = say(endpoint, messages, LAB_TOOLS)
        messages.append({"role": "user", "content": [result(found, "rack 6, position B4, 1.8 ml")]})
        (queued,) = say(endpoint, messages, LAB_TOOLS)
        hurry = {"type": "text", "text": "By the way: it is urgent."}  # the bug: the user's words come first
        messages.append({"role": "user", "content": [hurry, result(queued, "queued as run 118")]})
        (printed,) = say(endpoint, messages, LAB_TOOLS)  # here the model writes on after its call
        messages.append({"role": "user", "content": [result(printed, "1 label printed")]})
        say(endpoint, messages, LAB_TOOLS)
        write_json("misplaced-results.json", messages)


# --- a call written as text ---------------------------------------------------------------------------

ARCHIVE_TOOLS = [
    tool("search_archive", "Search the photo archive.", ["words"], words=TEXT, before={"type": "integer"}),
    tool("open_record", "Open one record of the archive.", ["record"], record=TEXT),
]


def leaked_call():
    """The model writes its call into the answer; nothing runs and the turn ends."""
    with scripted("leaked-call") as endpoint:
        messages = [{"role": "user", "content": "Do we have pictures of the old tram bridge from before 1930?"}]
        (searched,) = say(endpoint, messages, ARCHIVE_TOOLS)
        found = '[{"record": "P-2207", "title": "Tram bridge, flood"}, {"record": "P-3310", "title": "Bridge opening"}]'
        messages.append({"role": "user", "content": [result(searched, found)]})
        say(endpoint, messages, ARCHIVE_TOOLS)
        messages.append({"role": "user", "content": "And what does the record say?"})
        say(endpoint, messages, ARCHIVE_TOOLS, system="You look after the photo archive of a town.")
        write_json("leaked-call.json", endpoint.exchanges[-1]["request"])


# --- a tool that keeps failing ------------------------------------------------------------------------

PRINTER_TOOLS = [
    tool("list_printers", "The printers of the workshop."),
    tool("start_print", "Start a print job.", ["printer", "file"], printer=TEXT, file=TEXT),
]


def failing_tool():
    """Three errors of one tool in a row, with other arguments each time: no loop, but a tool to switch off."""
    with scripted("failing-tool") as endpoint:
        messages = [{"role": "user", "content": "Print bracket-v4 on whatever is free."}]
        (listed,) = say(endpoint, messages, PRINTER_TOOLS)
        messages.append({"role": "user", "content": [result(listed, '["ender", "prusa", "voron"]')]})
        while calls := say(endpoint, messages, PRINTER_TOOLS):
            refused = (
                f"Permission denied: the print queue of {calls[0]['input']['printer']} is locked by the night shift"
            )
            messages.append({"role": "user", "content": [result(calls[0], refused, is_error=True)]})
        write_json("failing-tool.json", messages)


# --- a stream that was cut ----------------------------------------------------------------------------

ITINERARY_TOOLS = [
    tool("get_weather", "The forecast for a place.", ["place"], place=TEXT),
    tool(
        "save_itinerary", "Store a travel plan.", ["title", "days"], title=TEXT, days={"type": "array", "items": TEXT}
    ),
]


def cut_at_limit():
    """One streamed answer that reaches its token limit in the middle of a call's arguments."""
    with scripted("cut-at-limit") as endpoint:
        ask = [{"role": "user", "content": "Plan five days on foot around Lake Orta, save it, and check the weather."}]
        with client(endpoint).messages.stream(
            model=MODEL, max_tokens=120, messages=ask, tools=ITINERARY_TOOLS
        ) as stream:
            final = stream.get_final_message()
        assert final.stop_reason == "max_tokens"
        (SESSIONS / "cut-at-limit.sse").write_bytes(endpoint.streams[0])


STORIES = {
    "misplaced-results": misplaced_results,
    "leaked-call": leaked_call,
    "failing-tool": failing_tool,
    "cut-at-limit": cut_at_limit,
}
