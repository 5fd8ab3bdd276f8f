"""Stories recorded with the openai-agents SDK: its own agent loop runs, only the model is scripted."""

import asyncio
import sqlite3
from typing import Literal

from recording import SESSIONS, scripted, write_exchanges, write_json, write_lines, write_tools

from agents import (
    Agent,
    MaxTurnsExceeded,
    ModelBehaviorError,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    WebSearchTool,
    function_tool,
)
from openai import AsyncOpenAI
from openai.types.shared import Reasoning
from pydantic import BaseModel

ANSWER_UNKNOWN_TOOLS = RunConfig(tool_not_found_behavior="return_error_to_model")


CLIENTS = []  # of the running story, closed at its end


def client(endpoint):
    CLIENTS.append(AsyncOpenAI(base_url=f"{endpoint.url}/v1", api_key="unused", max_retries=0))
    return CLIENTS[-1]


def responses(endpoint, name="gpt-5-mini"):
    return OpenAIResponsesModel(name, client(endpoint))


def chat(endpoint, name="gpt-4.1-mini"):
    return OpenAIChatCompletionsModel(name, client(endpoint))


def finish(running):
    """Runs to the end in a loop of its own and closes the clients there."""

    async def closing():
        try:
            return await running
        finally:
            while CLIENTS:
                await CLIENTS.pop().close()

    return asyncio.run(closing())


def run(agent, words, **options):
    return finish(Runner.run(agent, words, **options))


def expect(error, agent, words, **options):
    """Runs until the SDK gives up, as the story says it does."""
    try:
        run(agent, words, **options)
    except error as raised:
        return raised
    raise AssertionError(f"the run of {agent.name} did not end in {error.__name__}")


# --- tools that are not offered -----------------------------------------------------------------------


@function_tool
def find_reservation(code: str) -> str:
    """Find a reservation by its six-letter code."""
    return '{"code": "QX4R7T", "passenger": "Ines Duarte", "flight": "KS 218", "from": "LIS", "to": "CPH"}'


@function_tool
def search_direct_flight(origin: str, destination: str, date: str) -> str:
    """Direct flights between two airports on one day."""
    return "[]"


@function_tool
def search_onestop_flight(origin: str, destination: str, date: str) -> str:
    """Flights with one stop between two airports on one day."""
    return '[{"flights": ["KS 120", "KS 644"], "via": "AMS", "departs": "07:40", "seats": 5}]'


@function_tool
def change_fee(code: str) -> str:
    """What a change of this reservation costs."""
    return '{"fee_eur": 35}'


def unknown_tool():
    """The default of the SDK: one name that was never offered, and the run is lost."""
    with scripted("unknown-tool") as endpoint:
        tools = [find_reservation, search_direct_flight, search_onestop_flight, change_fee]
        agent = Agent(
            "Rebooking desk", instructions="Rebook passengers of Kestrel Air.", model=responses(endpoint), tools=tools
        )
        words = "My flight QX4R7T on Monday clashes with a meeting. Can I leave on Tuesday the 10th instead?"
        expect(ModelBehaviorError, agent, words)
        last = endpoint.exchanges[-1]
        write_json("unknown-tool.json", last["request"]["input"] + last["response"]["output"])
        write_tools("unknown-tool.tools.json", last["request"]["tools"])


@function_tool
def stock_lookup(sku: str) -> str:
    """Where an article lies and how many of it there are."""
    return '{"sku": "BR-2210", "bins": [{"bin": "C-14", "quantity": 36}, {"bin": "F-02", "quantity": 4}]}'


@function_tool
def open_orders(sku: str) -> str:
    """Orders that still wait for an article."""
    return '{"sku": "BR-2210", "orders": [{"order": 70118, "quantity": 12}]}'


@function_tool
def move_stock(sku: str, source: str, target: str, quantity: int) -> str:
    """Move pieces of an article from one bin to another."""
    return f"moved {quantity} from {source} to {target}"


def unknown_tool_recovered():
    """The agent answers the unknown name with an error, and the model finds the right one."""
    with scripted("unknown-tool-recovered") as endpoint:
        agent = Agent(
            "Picker",
            instructions="Keep the packing line supplied.",
            model=responses(endpoint),
            tools=[open_orders, stock_lookup, move_stock],
        )
        words = "Bring enough BR-2210 to packing bin P-1 for the open orders."
        result = run(agent, words, run_config=ANSWER_UNKNOWN_TOOLS)
        write_lines("unknown-tool-recovered.jsonl", result.to_input_list())
        write_tools("unknown-tool-recovered.tools.json", endpoint.exchanges[0]["request"]["tools"])


@function_tool
def get_tide_table(harbour: str, date: str) -> str:
    """High and low water of a harbour on one day."""
    return '{"high": ["04:12", "16:40"], "low": ["10:25", "22:51"]}'


@function_tool
def get_wind_forecast(harbour: str, date: str) -> str:
    """Wind at a harbour on one day, in knots."""
    return '{"morning": "SW 12", "afternoon": "SW 19"}'


def invalid_tool_name():
    """A prefix with a dot: the agent answers it with an error, but the name stays in the history for good."""
    with scripted("invalid-tool-name") as endpoint:
        agent = Agent(
            "Harbour guide",
            instructions="Advise small boats.",
            model=chat(endpoint),
            tools=[get_tide_table, get_wind_forecast],
        )
        run(
            agent,
            "Can I leave Fowey with a 1.9 m draught on Saturday the 7th, around noon?",
            run_config=ANSWER_UNKNOWN_TOOLS,
        )
        write_json("invalid-tool-name.json", endpoint.exchanges[-1]["request"])


# --- arguments ----------------------------------------------------------------------------------------


@function_tool
def list_offers(amount: int, years: int) -> str:
    """Offers of the lenders for a loan."""
    return '[{"lender": "Nordbank", "annual_rate": 4.1}, {"lender": "Hansa Direct", "annual_rate": 4.35}]'


@function_tool
def monthly_payment(principal: float, monthly_rate: float, months: int) -> str:
    """The monthly payment of a loan."""
    return f"{principal * monthly_rate / (1 - (1 + monthly_rate) ** -months):.2f}"


def broken_json():
    """Arithmetic where JSON wants a number."""
    with scripted("broken-json") as endpoint:
        agent = Agent(
            "Loan adviser",
            instructions="Compare loans. Never guess a payment.",
            model=chat(endpoint),
            tools=[list_offers, monthly_payment],
        )
        run(agent, "What would I pay a month for 310,000 over 25 years at the cheapest lender?")
        write_json("broken-json.json", endpoint.exchanges[-1]["request"])


class Recipient(BaseModel):
    name: str
    street: str
    postcode: str
    country: Literal["DE", "AT", "CH"]


class Parcel(BaseModel):
    weight_kg: float
    fragile: bool


@function_tool
def get_order(order: int) -> str:
    """An order with its address and its parcels."""
    return '{"name": "Jonas Keller", "street": "Lindenweg 4", "city": "Graz", "kg": [2.5, 0.8], "note": "glass"}'


@function_tool
def find_postcode(city: str, street: str) -> str:
    """The postcode of a street."""
    return '{"postcode": "8010", "country": "AT"}'


@function_tool
def create_shipment(
    order: int, recipient: Recipient, parcels: list[Parcel], service: Literal["economy", "express"]
) -> str:
    """Order the pick-up of the parcels of one order."""
    return '{"shipment": "SH-55120", "pickup": "2026-03-03"}'


def schema_break():
    """Valid JSON that breaks the schema in five places at once."""
    with scripted("schema-break") as endpoint:
        agent = Agent(
            "Shipping clerk",
            instructions="Ship orders.",
            model=responses(endpoint),
            tools=[get_order, find_postcode, create_shipment],
        )
        run(agent, "Send order 8841 by express, please.")
        write_json("schema-break.json", endpoint.exchanges[-1]["request"])


# --- the end of a run ---------------------------------------------------------------------------------


class ClaimDecision(BaseModel):
    decision: Literal["approve", "decline", "ask"]
    amount_eur: float
    reason: str


@function_tool
def get_claim(claim: str) -> str:
    """A claim as the customer filed it."""
    return '{"claim": "W-3071", "item": "washing machine", "age_years": 3, "damage": "water", "asked_eur": 480}'


@function_tool
def residual_value(item: str, age_years: int) -> str:
    """What an item is still worth, in euros."""
    return '{"value_eur": 420}'


def invalid_final_output():
    """The answer is JSON, but not the one that was asked for."""
    with scripted("invalid-final-output") as endpoint:
        agent = Agent(
            "Claims",
            instructions="Decide small claims.",
            model=responses(endpoint),
            tools=[get_claim, residual_value],
            output_type=ClaimDecision,
        )
        expect(ModelBehaviorError, agent, "Decide claim W-3071.")
        write_exchanges("invalid-final-output.jsonl", endpoint)


@function_tool
def parcel_status(tracking: str) -> str:
    """Where a parcel is."""
    return '{"tracking": "EX 4407 118", "status": "label printed, not handed over"}'


def parcel_agent(endpoint):
    words = "Tell customers where their parcel is."
    return Agent("Parcel desk", instructions=words, model=responses(endpoint), tools=[parcel_status])


def endless_repeat():
    """The same question to the same tool, five times."""
    with scripted("endless-repeat") as endpoint:
        expect(MaxTurnsExceeded, parcel_agent(endpoint), "Has EX 4407 118 left the shop?", max_turns=5)
        write_exchanges("endless-repeat.jsonl", endpoint)


async def streamed_to_its_limit(agent, words, max_turns):
    result = Runner.run_streamed(agent, words, max_turns=max_turns)
    try:
        async for _ in result.stream_events():
            pass
    except MaxTurnsExceeded:
        return result.to_state()
    raise AssertionError("the run ended before its turn limit")


def turn_limit():
    """A loop as the run's own state keeps it: the limit and the turns are in the file."""
    with scripted("turn-limit") as endpoint:
        words = "When does the courier bring EX 4407 118? Wait until it is out for delivery."
        state = finish(streamed_to_its_limit(parcel_agent(endpoint), words, 4))
        write_json("turn-limit.json", state.to_json())


# --- approvals and stored sessions --------------------------------------------------------------------


@function_tool
def find_booking(booking: str) -> str:
    """A hotel booking."""
    return '{"booking": "H-90217", "hotel": "Casa Mirador", "nights": 3, "paid_eur": 486, "cancellable": false}'


@function_tool
def leave_note(booking: str, note: str) -> str:
    """Write a note into a booking; colleagues see it."""
    return "noted"


@function_tool(needs_approval=True)
def refund(booking: str, amount_eur: float, reason: str) -> str:
    """Pay money back to the guest."""
    return "paid"


def waiting_approval():
    """A refund that a person must allow; the call beside it ran at once."""
    with scripted("waiting-approval") as endpoint:
        agent = Agent(
            "Guest relations",
            instructions="Be fair. Refunds need a person.",
            model=responses(endpoint),
            tools=[find_booking, leave_note, refund],
        )
        result = run(
            agent, "Booking H-90217: the lift was broken all three nights and I use a wheelchair. I want my money back."
        )
        assert result.interruptions, "the refund must wait for its approval"
        write_json("waiting-approval.json", result.to_state().to_json())


@function_tool
def renew_loan(card: str, title: str) -> str:
    """Renew a borrowed book by two weeks."""
    return "renewed until 2026-03-16"


@function_tool(needs_approval=True)
def buy_title(card: str, title: str) -> str:
    """Buy a book that a reader asks for; a librarian must agree."""
    return "ordered"


async def library_evening(endpoint, path):
    """Ben's wish waits for a librarian when the process ends; the stored call never gets its output."""
    agent = Agent(
        "Library desk", instructions="Help readers.", model=responses(endpoint), tools=[renew_loan, buy_title]
    )
    anna, ben = SQLiteSession("reader-anna", path), SQLiteSession("reader-ben", path)
    await Runner.run(agent, "Please renew The Salt Road, card 5512.", session=anna)
    await Runner.run(agent, "Card 7730. Do you have Night Ferries?", session=ben)
    waiting = await Runner.run(agent, "Then please buy it.", session=ben)
    assert waiting.interruptions, "the purchase must wait for its approval"
    await Runner.run(agent, "Hello? Did you order it?", session=ben)
    anna.close()
    ben.close()


def library_desk():
    """Two readers in one database, one of them with a call that was never answered."""
    path = SESSIONS / "library-desk.db"
    path.unlink(missing_ok=True)
    with scripted("library-desk") as endpoint:
        finish(library_evening(endpoint, path))
    tidy_database(path)


def tidy_database(path):
    """One file without a write-ahead log, with the recording's own clock."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=DELETE")
    database.execute(
        "UPDATE agent_messages SET created_at = datetime('2026-03-02 17:00:00', '+' || (id * 7) || ' seconds')"
    )
    database.execute("UPDATE agent_sessions SET created_at = '2026-03-02 17:00:00', updated_at = '2026-03-02 17:10:00'")
    database.execute("VACUUM")
    database.close()


# --- nothing wrong ------------------------------------------------------------------------------------


@function_tool
def rail_connections(origin: str, destination: str, date: str) -> str:
    """Trains between two cities on one day."""
    return '[{"train": "ICE 371", "departs": "08:14", "arrives": "13:02", "price_eur": 79}]'


@function_tool
def hotel_rooms(city: str, date: str, nights: int) -> str:
    """Free rooms in a city."""
    return '[{"hotel": "Zum Anker", "price_eur": 112, "free": 3}]'


@function_tool
def book_train(train: str, date: str, passenger: str) -> str:
    """Book a seat."""
    return '{"ticket": "T-771043", "seat": "22A"}'


def clean_handoff():
    """Reasoning, a hosted search, parallel calls and a handoff, all as they should be."""
    with scripted("clean-handoff") as endpoint:
        model = responses(endpoint)
        booking = Agent("Booking agent", instructions="Book what the traveller chose.", model=model, tools=[book_train])
        settings = ModelSettings(
            reasoning=Reasoning(effort="low"), store=False, response_include=["reasoning.encrypted_content"]
        )
        triage = Agent(
            "Travel desk", instructions="Plan trips, then hand over to booking.", model=model, model_settings=settings
        )
        triage.tools, triage.handoffs = [rail_connections, hotel_rooms, WebSearchTool()], [booking]
        run(
            triage,
            "Two days in Basel from the 12th, I am Mira Novak, from Frankfurt. Anything on there? Book the train.",
        )
        write_exchanges("clean-handoff.jsonl", endpoint)


STORIES = {
    "unknown-tool": unknown_tool,
    "unknown-tool-recovered": unknown_tool_recovered,
    "invalid-tool-name": invalid_tool_name,
    "broken-json": broken_json,
    "schema-break": schema_break,
    "invalid-final-output": invalid_final_output,
    "endless-repeat": endless_repeat,
    "turn-limit": turn_limit,
    "waiting-approval": waiting_approval,
    "library-desk": library_desk,
    "clean-handoff": clean_handoff,
}
