"""The official Python SDK against a gateway: run by test/e2e/clients-python-sdk.test.ts.

Its one argument is JSON: base_url, refused_url, keys and models, question. Prints one line of JSON for each check,
{"name", "error"}, where error is null if the check held, and before them {"version", "python"}.
"""

import asyncio
import importlib
import inspect
import io
import json
import pathlib
import platform
import sys
import tempfile
import time
import traceback

import openai
from openai import AsyncOpenAI, OpenAI

# Its version 3 uses the successor, of the same interface.
httpx = importlib.import_module("httpx2" if openai.__version__ >= "3" else "httpx")

GIVEN = json.loads(sys.argv[1])
MODEL, KEY, QUESTION = GIVEN["models"], GIVEN["keys"], GIVEN["question"]
RESEARCH = {"model": MODEL["research"], "input": QUESTION}
MESSAGES = [{"role": "user", "content": QUESTION}]
CHAT = {"model": MODEL["research"], "messages": MESSAGES}
NOBODY = "resp_00000000-0000-4000-8000-000000000000"
CHECKS = []


def check(name):
    """Registers a function as a check."""

    def register(run):
        CHECKS.append((name, run))
        return run

    return register


def client(key="main", **options):
    options = {"max_retries": 0, "base_url": GIVEN["base_url"], "timeout": 30, **options}
    return OpenAI(api_key=KEY.get(key, key), **options)


def equal(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def ended(run, id):
    """The response once it is no longer in progress."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        response = run.responses.retrieve(id)
        if response.status != "in_progress":
            return response
        time.sleep(0.02)
    raise AssertionError("the run does not end")


@check("responses.create returns the finished response, with text, citations and usage")
def create():
    response = client().responses.create(**RESEARCH)
    equal(response.status, "completed")
    assert "tidal turbine" in response.output_text
    assert response.usage.total_tokens > 0
    part = response.output[-1].content[0]
    assert part.annotations
    for found in part.annotations:
        equal(found.type, "url_citation")
        equal(cut(part.text, found.start_index, found.end_index), f"[{found.index}]")


def cut(text, start, end):
    """Part of a text by indexes that count UTF-16 code units, as OpenAI's annotations do."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


@check("responses.create(stream=True) yields every event, numbered without a gap, up to response.completed")
def create_stream():
    with client().responses.create(**RESEARCH, stream=True) as stream:
        events = list(stream)
    equal([event.sequence_number for event in events], list(range(1, len(events) + 1)))
    equal((events[0].type, events[-1].type), ("response.created", "response.completed"))
    final = events[-1].response
    written = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    equal(written, final.output_text)
    equal(client().responses.retrieve(final.id).output_text, written)


@check("responses.stream() builds the response that is stored")
def stream_helper():
    snapshot = ""
    with client().responses.stream(**RESEARCH) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                snapshot = event.snapshot
        final = stream.get_final_response()
    equal(snapshot, final.output_text)
    equal(client().responses.retrieve(final.id).output_text, snapshot)


# What a version does not know is sent all the same, as its users do.
IN_BACKGROUND = {"extra_body": {"background": True}}
if "background" in inspect.signature(OpenAI(api_key="none").responses.create).parameters:
    IN_BACKGROUND = {"background": True}


@check("background=True returns at once, and polling sees the run complete")
def background():
    run = client()
    submitted = run.responses.create(**RESEARCH, **IN_BACKGROUND, metadata={"a": "b"})
    equal((submitted.status, submitted.output), ("in_progress", []))
    done = ended(run, submitted.id)
    equal((done.status, done.background, done.metadata), ("completed", True, {"a": "b"}))
    assert "tidal turbine" in done.output_text


@check("retrieve(stream=True, starting_after) resumes a dropped stream exactly where it broke off")
def resume():
    run = client()
    seen = []
    with run.responses.create(**RESEARCH, stream=True) as stream:
        for event in stream:
            seen.append(event)
            if len(seen) == 7:
                break
    id = seen[0].response.id
    with followed(run, id, starting_after=7) as stream:
        rest = list(stream)
    with followed(run, id) as stream:
        whole = list(stream)
    equal(rest[-1].type, "response.completed")
    equal([event.to_dict() for event in seen + rest], [event.to_dict() for event in whole])


def followed(run, id, **after):
    """The stream of a run, also in versions that have no argument for it."""
    if supports(run.responses.retrieve, "starting_after"):
        return run.responses.retrieve(id, stream=True, **after)
    kinds = openai.Stream[openai.types.responses.ResponseStreamEvent]
    options = {"params": {"stream": "true", **after}}
    return run.get(f"/responses/{id}", cast_to=object, stream=True, stream_cls=kinds, options=options)


@check("responses.stream(response_id, starting_after) yields the later events and builds the whole response")
def resume_helper():
    run = client()
    id = run.responses.create(**RESEARCH).id
    if not supports(run.responses.stream, "response_id"):
        return "not in this version"
    numbers = []
    with run.responses.stream(response_id=id, starting_after=10) as stream:
        for event in stream:
            numbers.append(event.sequence_number)
        final = stream.get_final_response()
    equal(numbers[0], 11)
    assert "tidal turbine" in final.output_text


def supports(method, argument):
    return argument in inspect.signature(method).parameters


@check("cancel ends a run as cancelled, and can be repeated")
def cancel():
    run = client()
    id = run.responses.create(**{**RESEARCH, "model": MODEL["slow"]}, **IN_BACKGROUND).id
    post = getattr(run.responses, "cancel", None) or by_hand(run)
    cancelled = post(id)
    equal((cancelled.id, cancelled.status, cancelled.output), (id, "cancelled", []))
    equal(post(id).status, "cancelled")


def by_hand(run):
    return lambda id: run.post(f"/responses/{id}/cancel", cast_to=openai.types.responses.Response)


@check("delete removes a response")
def delete():
    run = client()
    id = run.responses.create(**RESEARCH).id
    run.responses.delete(id)
    raises(openai.NotFoundError, lambda: run.responses.retrieve(id))


@check("input_items.list pages through the input, in order")
def input_items():
    run = client()
    roles = ["user", "assistant", "user"]
    texts = ["Hello.", "Hello! What shall I look up?", QUESTION]
    items = [{"role": role, "content": text} for role, text in zip(roles, texts)]
    id = run.responses.create(model=MODEL["research"], input=items).id
    listed = list(run.responses.input_items.list(id, limit=2, order="asc"))
    equal([item.role for item in listed], roles)


@check("continues from an earlier response by its id, and by its output items sent back")
def follow_up():
    run = client()
    first = run.responses.create(**RESEARCH)
    second = run.responses.create(**RESEARCH, previous_response_id=first.id)
    equal((second.status, second.previous_response_id), ("completed", first.id))
    items = [
        {"role": "user", "content": QUESTION},
        *[item.to_dict() for item in first.output],
        {"role": "user", "content": "And the lamp of the lighthouse?"},
    ]
    third = run.responses.create(model=MODEL["research"], input=items)
    equal(third.status, "completed")
    assert "lamp" in third.output_text.lower()


@check("responses.parse returns the answer as an object of the given model")
def parse():
    from pydantic import BaseModel

    class Report(BaseModel):
        answer: str

    parsed = client().responses.parse(**RESEARCH, text_format=Report).output_parsed
    assert isinstance(parsed, Report) and parsed.answer


@check("a failed run is a status, not an exception")
def failed():
    response = client().responses.create(model=MODEL["broken"], input=QUESTION)
    equal((response.status, response.error.code), ("failed", "upstream_error"))
    with client().responses.create(model=MODEL["cut"], input=QUESTION, stream=True) as stream:
        last = list(stream)[-1]
    equal((last.type, last.response.output_text), ("response.failed", "The first half of the answer"))


@check("with profile: openai every output item is one of the SDK's own")
def profile():
    response = client("openai").responses.create(**RESEARCH)
    kinds = {item.type for item in response.output}
    assert kinds >= {"reasoning", "web_search_call", "message"}, kinds
    assert not any(type(item).__name__ == "BaseModel" for item in response.output)
    searched = next(item for item in response.output if item.type == "web_search_call")
    equal((type(searched).__name__, searched.status), ("ResponseFunctionWebSearch", "completed"))
    with client("openai").responses.stream(**RESEARCH) as stream:
        types = {event.type for event in stream}
    assert "response.web_search_call.completed" in types, types


@check("chat.completions.create returns a cited answer with the steps that led to it")
def chat():
    completion = client().chat.completions.create(**CHAT)
    choice = completion.choices[0]
    equal(choice.finish_reason, "stop")
    assert "tidal turbine" in choice.message.content
    assert choice.message.annotations[0].url_citation.url.startswith("corpus:")
    kinds = {step["type"] for step in choice.message.reasoning_steps}
    equal(kinds, {"thinking", "web_search", "fetch_url_content"})
    equal(len(completion.citations), len(choice.message.annotations))


@check("chat.completions.create(stream=True) yields role, content, and a last chunk with usage")
def chat_stream():
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(client().chat.completions.create(**CHAT, **options))
    equal(chunks[0].choices[0].delta.role, "assistant")
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "tidal turbine" in text
    equal(chunks[-1].choices, [])
    assert chunks[-1].usage.total_tokens > 0


@check("the stream helper of chat completions builds the message that is not streamed")
def chat_helper():
    run = client()
    completions = run.chat.completions
    helper = getattr(completions, "stream", None) or run.beta.chat.completions.stream
    with helper(**CHAT) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion().choices[0].message
    whole = completions.create(**CHAT).choices[0].message
    equal(final.content, whole.content)
    numbered = lambda steps: [(step["index"], step["type"]) for step in steps]
    equal(numbered(final.reasoning_steps), numbered(whole.reasoning_steps))


@check("a chat completion whose run fails raises, streamed or not")
def chat_failed():
    body = {"model": MODEL["broken"], "messages": MESSAGES}
    for stream in (False, True):
        error = raises(openai.InternalServerError, lambda: client().chat.completions.create(**body, stream=stream))
        equal((error.status_code, error.code), (502, "upstream_error"))
    text = []

    def read():
        for chunk in client().chat.completions.create(model=MODEL["cut"], messages=MESSAGES, stream=True):
            text.append(chunk.choices[0].delta.content or "")

    equal(raises(openai.APIError, read).code, "upstream_error")
    equal("".join(text), "The first half of the answer")


@check("models and tasks can be used")
def models():
    run = client()
    listed = {model.id for model in run.models.list()}
    equal(listed, set(MODEL.values()))
    equal(run.models.retrieve(MODEL["research"]).id, MODEL["research"])
    created = run.post("/async", cast_to=object, body=CHAT)
    equal(created["status"], "CREATED")
    limit = time.monotonic() + 30
    while (task := run.get(f"/async/{created['id']}", cast_to=object))["status"] != "COMPLETED":
        assert time.monotonic() < limit, task
        time.sleep(0.02)
    assert "tidal turbine" in task["result"]["choices"][0]["message"]["content"]


REFUSALS = {
    "AuthenticationError": (401, "invalid_api_key", lambda: client("sk-wrong").models.list()),
    "BadRequestError": (400, "invalid_parameter", lambda: client().responses.create(**RESEARCH, temperature=3)),
    "PermissionDeniedError": (
        403,
        "mcp_servers_not_allowed",
        lambda: client().responses.create(
            **RESEARCH, tools=[{"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/mcp"}]
        ),
    ),
    "NotFoundError": (404, "not_found", lambda: client().responses.retrieve(NOBODY)),
    "APIStatusError": (413, "request_too_large", lambda: client().responses.create(**{**RESEARCH, "input": "x" * 100_000})),
    "UnprocessableEntityError": (422, "idempotency_key_reused", lambda: reused()),
    "RateLimitError": (429, "rate_limit_exceeded", lambda: twice("limited")),
    "InternalServerError": (502, "upstream_error", lambda: client().chat.completions.create(model=MODEL["broken"], messages=MESSAGES)),
}


def reused():
    headers = {"Idempotency-Key": "python-reused"}
    client().responses.create(**RESEARCH, extra_headers=headers)
    client().responses.create(model=MODEL["research"], input="Something else.", extra_headers=headers)


def twice(key):
    client(key).responses.create(**RESEARCH)
    client(key).responses.create(**RESEARCH)


@check("each error is the SDK's own class, with status, code and type")
def refusals():
    for name, (status, code, call) in REFUSALS.items():
        error = raises(getattr(openai, name), call)
        equal((type(error).__name__, error.status_code, error.code), (name, status, code))
        assert error.type and error.message, name
    error = raises(openai.BadRequestError, lambda: client().responses.create(**RESEARCH, temperature=3))
    equal(error.param, "temperature")
    raises(openai.APIConnectionError, lambda: client(base_url=GIVEN["refused_url"]).models.list())
    raises(
        openai.APITimeoutError,
        lambda: client(timeout=0.1).chat.completions.create(model=MODEL["slow"], messages=MESSAGES),
    )


class Lossy(httpx.HTTPTransport):
    """Loses the first answer on its way."""

    def __init__(self):
        super().__init__()
        self.attempts = []

    def handle_request(self, request):
        response = super().handle_request(request)
        self.attempts.append((request.headers.get("x-stainless-retry-count"), response.status_code))
        if len(self.attempts) == 1:
            response.read()
            response.close()
            raise httpx.ReadError("the answer was lost", request=request)
        return response


@check("a retry after a lost response gets the same run")
def retried():
    transport = Lossy()
    body = {**RESEARCH, "metadata": {"lost": "python"}}
    response = client(max_retries=1, http_client=httpx.Client(transport=transport)).responses.create(**body)
    equal(transport.attempts, [("0", 200), ("1", 200)])
    listed = client().get("/responses?limit=100", cast_to=object)["data"]
    equal([entry["id"] for entry in listed if entry["metadata"] == {"lost": "python"}], [response.id])


@check("a spent quota is not retried")
def spent():
    attempts = []
    http = httpx.Client(event_hooks={"response": [lambda response: attempts.append(response.status_code)]})
    run = client("spent", max_retries=2, http_client=http)
    run.responses.create(**RESEARCH)
    raises(openai.RateLimitError, lambda: run.responses.create(**{**RESEARCH, "input": "More."}))
    equal(attempts, [200, 429])


WEATHER = {
    "type": "function",
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


def calls_of(response):
    return [item for item in response.output if item.type == "function_call"]


@check("a function of the client is called and answered: by id, by items, streamed, on plain and research models")
def functions():
    run = client()
    for model in (MODEL["caller"], MODEL["desk"]):
        asked = {"model": model, "input": "How is the weather?", "tools": [WEATHER]}
        first = run.responses.create(**asked)
        (call,) = calls_of(first)
        equal((call.name, json.loads(call.arguments)), ("weather", {"city": "Elmsworth"}))
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "Rain."}
        second = run.responses.create(model=model, input=[result], tools=[WEATHER], previous_response_id=first.id)
        equal(second.output_text.replace("\n", ""), "The weather: Rain.")
        equal(second.status, "completed")
        with run.responses.stream(**asked) as stream:
            types = [event.type for event in stream]
            streamed = stream.get_final_response()
        assert "response.function_call_arguments.done" in types, types
        equal(json.loads(calls_of(streamed)[0].arguments), {"city": "Elmsworth"})
    items = [{"role": "user", "content": "How is the weather?"}]
    first = run.responses.create(model=MODEL["caller"], input=items, tools=[WEATHER], store=False)
    sent = [item.to_dict() for item in first.output]
    result["call_id"] = calls_of(first)[0].call_id
    again = run.responses.create(model=MODEL["caller"], input=[*items, *sent, result], tools=[WEATHER], store=False)
    equal(again.output_text, "The weather: Rain.")


@check("conversations collect the items of responses, and are listed, updated and deleted")
def conversations():
    run = client()
    if not hasattr(run, "conversations"):
        return "not in this version"
    made = run.conversations.create(metadata={"topic": "tides"}, items=[{"role": "user", "content": "Hello."}])
    equal(run.conversations.update(made.id, metadata={"topic": "moon"}).metadata, {"topic": "moon"})
    response = run.responses.create(**RESEARCH, conversation=made.id)
    equal(response.conversation.id, made.id)
    listed = [item.id for item in run.conversations.items.list(made.id, limit=2, order="asc")]
    assert {item.id for item in response.output} <= set(listed), listed
    equal(run.conversations.items.retrieve(listed[0], conversation_id=made.id).id, listed[0])
    run.conversations.items.delete(listed[0], conversation_id=made.id)
    raises(openai.NotFoundError, lambda: run.conversations.items.retrieve(listed[0], conversation_id=made.id))
    assert run.conversations.delete(made.id).deleted
    raises(openai.NotFoundError, lambda: run.conversations.retrieve(made.id))


@check("compact and input_tokens.count take what create takes")
def compaction():
    run = client()
    if not hasattr(run.responses, "compact"):
        return "not in this version"
    compacted = run.responses.compact(**RESEARCH)
    equal(compacted.object, "response.compaction")
    items = [*[item.to_dict() for item in compacted.output], {"role": "user", "content": QUESTION}]
    equal(run.responses.create(model=MODEL["research"], input=items).status, "completed")
    assert run.responses.input_tokens.count(model=MODEL["research"], input=items).input_tokens > 0


NOTES = b"# Notes\n\nThe ferry of Elmsworth leaves from pier 9 at dusk.\n"


@check("files are uploaded in each form that the SDK takes, listed, read and deleted")
def files():
    run = client()
    made = [
        run.files.create(file=form, purpose="user_data")
        for form in (("notes.md", NOTES), ("notes.md", io.BytesIO(NOTES), "text/markdown"), stored_notes())
    ]
    for one in made:
        equal((one.filename, one.bytes, one.purpose), ("notes.md", len(NOTES), "user_data"))
        equal(run.files.content(one.id).read(), NOTES)
        equal(run.files.wait_for_processing(one.id).status, "processed")
    listed = [one.id for one in run.files.list(purpose="user_data", limit=1)]
    assert {one.id for one in made} <= set(listed), listed
    asked = [{"type": "input_file", "file_id": made[0].id}, {"type": "input_text", "text": QUESTION}]
    response = run.responses.create(model=MODEL["research"], input=[{"role": "user", "content": asked}])
    equal(response.status, "completed")
    for one in made:
        assert run.files.delete(one.id).deleted
    raises(openai.NotFoundError, lambda: run.files.retrieve(made[0].id))


def stored_notes():
    path = pathlib.Path(tempfile.mkdtemp()) / "notes.md"
    path.write_bytes(NOTES)
    return path


@check("vector stores: upload_and_poll of files and batches, search, attributes, and file_search with citations")
def vector_stores():
    run = client()
    stores = getattr(run, "vector_stores", None)
    if stores is None or not hasattr(stores, "search"):
        return "not in this version"
    store = stores.create(name="Harbour", metadata={"of": "python"}, expires_after={"anchor": "last_active_at", "days": 1})
    one = stores.files.upload_and_poll(vector_store_id=store.id, file=("notes.md", NOTES), attributes={"year": "2024"})
    equal((one.status, one.attributes), ("completed", {"year": "2024"}))
    texts = [(f"part-{n}.txt", f"Part {n}: buoy number {n} is painted green.".encode()) for n in range(3)]
    batch = stores.file_batches.upload_and_poll(vector_store_id=store.id, files=texts)
    equal((batch.status, batch.file_counts.completed), ("completed", 3))
    equal(len(list(stores.file_batches.list_files(batch.id, vector_store_id=store.id, limit=2))), 3)
    wanted = {"type": "eq", "key": "year", "value": "2024"}
    found = list(stores.search(store.id, query="When does the ferry leave?", filters=wanted, max_num_results=3))
    equal([(hit.filename, hit.file_id) for hit in found], [("notes.md", one.id)])
    assert "pier 9" in found[0].content[0].text
    equal(stores.files.update(one.id, vector_store_id=store.id, attributes={"year": "1999"}).attributes, {"year": "1999"})
    assert "ferry" in "".join(part.text or "" for part in stores.files.content(one.id, vector_store_id=store.id))
    tool = {"type": "file_search", "vector_store_ids": [store.id]}
    response = run.responses.create(model=MODEL["research"], input=QUESTION, tools=[tool])
    equal(response.status, "completed")
    equal(stores.update(store.id, name="Pier").name, "Pier")
    assert store.id in [each.id for each in stores.list(limit=1)]
    equal(stores.retrieve(store.id).file_counts.completed, 4)
    stores.files.delete(one.id, vector_store_id=store.id)
    assert stores.delete(store.id).deleted
    raises(openai.NotFoundError, lambda: stores.retrieve(store.id))


@check("responses.connect() asks several times over one WebSocket, also in the async client")
def socket():
    run = client()
    if not hasattr(run.responses, "connect"):
        return "not in this version"
    with run.responses.connect() as connection:
        previous = None
        for question in (QUESTION, "And the lamp of the lighthouse?"):
            more = {"previous_response_id": previous} if previous else {}
            connection.response.create(model=MODEL["research"], input=question, **more)
            events = []
            for event in connection:
                events.append(event)
                if event.type in ("response.completed", "response.failed", "error"):
                    break
            equal((events[0].type, events[-1].type), ("response.created", "response.completed"))
            previous = events[-1].response.id
    equal(run.responses.retrieve(previous).status, "completed")

    async def asynchronously():
        async with AsyncOpenAI(api_key=KEY["main"], base_url=GIVEN["base_url"]) as other:
            async with other.responses.connect() as connection:
                await connection.response.create(**RESEARCH)
                async for event in connection:
                    if event.type in ("response.completed", "response.failed", "error"):
                        return event.type

    equal(asyncio.run(asynchronously()), "response.completed")


@check("the async client: streams, several at once, and closes one in the middle")
def asynchronous():
    async def both():
        async with AsyncOpenAI(api_key=KEY["main"], base_url=GIVEN["base_url"], max_retries=0) as run:

            async def text():
                written = ""
                async for event in await run.responses.create(**RESEARCH, stream=True):
                    if event.type == "response.output_text.delta":
                        written += event.delta
                return written

            texts = await asyncio.gather(text(), text(), text())
            assert all("tidal turbine" in found for found in texts)
            stream = await run.chat.completions.create(**CHAT, stream=True)
            async for _ in stream:
                break
            await stream.close()
            async with run.responses.stream(**RESEARCH) as helper:
                final = await helper.get_final_response()
            equal(final.status, "completed")

    asyncio.run(both())


@check("raw and streaming responses show the request id and the rate limit")
def raw():
    answer = client("narrow").responses.with_raw_response.create(**RESEARCH)
    assert answer.headers["x-request-id"]
    equal(answer.parse()._request_id, answer.headers["x-request-id"])
    with client().responses.with_streaming_response.create(**RESEARCH, stream=True) as answer:
        assert "event: response.completed" in "\n".join(answer.iter_lines())


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def main():
    print(json.dumps({"version": openai.__version__, "python": platform.python_version()}), flush=True)
    for name, run in CHECKS:
        error = skipped = None
        try:
            skipped = run()
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"name": name, "error": error, "skipped": skipped}), flush=True)


main()
