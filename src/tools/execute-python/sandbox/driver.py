"""Runs one piece of code and reports how it ended. Loaded into a fresh interpreter before any code of a model runs.

Nothing here is a security boundary, because code can change all of it. See ../command.ts for the boundaries.
"""

import json
import linecache
import os
import random
import sys
import traceback

from pyodide.code import eval_code_async

FILENAME = "<code>"
NO_NETWORK = (
    "There is no network in this sandbox. Fetch what you need with the other tools and put it into the code as data."
)
NO_PACKAGE = (
    "Only the Python standard library is available here, and nothing can be installed: there is no network and no pip."
)
NO_PROCESS = "No processes can be started in this sandbox, and no files of the host exist in it."

sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")
# All sandboxes start from one memory snapshot, so with the same state of the generator.
random.seed()


def _deny(*_args, **_kwargs):
    raise PermissionError(NO_PROCESS)


for _module in (os, sys.modules["posix"]):
    for _name in ("system", "popen", "fork", "execv", "execve", "posix_spawn", "posix_spawnp"):
        if hasattr(_module, _name):
            setattr(_module, _name, _deny)


def _short(text, limit):
    return text if len(text) <= limit else text[:limit] + f"\n[cut: {len(text)} characters]"


def _own_frames(error):
    """Cuts the frames of this driver off the traceback, so that it begins with the first frame of the code."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != FILENAME:
        frame = frame.tb_next
    return error.with_traceback(frame) if frame is not None else error


def _chain(error):
    seen = []
    while error is not None and error not in seen and len(seen) < 20:
        seen.append(error)
        reason = getattr(error, "reason", None)
        error = error.__cause__ or error.__context__ or (reason if isinstance(reason, BaseException) else None)
    return seen


def _is_network(error):
    text = str(error)
    if isinstance(error, OSError):
        return isinstance(error, ConnectionError) or "Host is unreachable" in text or type(error).__name__ == "gaierror"
    return isinstance(error, NotImplementedError) and "socket" in text


def _describe(error, limit):
    if isinstance(error, ModuleNotFoundError):
        first = str(error).splitlines()[0] if str(error) else "No such module."
        return {"code": "missing_package", "message": f"ModuleNotFoundError: {first}\n{NO_PACKAGE}"}
    if any(_is_network(each) for each in _chain(error)):
        last = "".join(traceback.format_exception_only(error))
        return {"code": "no_network", "message": _short(last, limit) + NO_NETWORK}
    lines = "".join(traceback.format_exception(_own_frames(error), limit=-20))
    if isinstance(error, MemoryError):
        return {"code": "memory_limit", "message": _short(lines, limit) + "The memory limit of the sandbox is reached."}
    return {"code": "python_error", "message": _short(lines, limit).rstrip()}


async def run(code, limit):
    """Returns JSON: `{"result": str | None, "error"?: {"code", "message"}}`; texts have at most about `limit` characters."""
    dumps = json.dumps
    # Lets tracebacks show the lines of the code.
    linecache.cache[FILENAME] = (len(code), None, code.splitlines(keepends=True), FILENAME)
    report = {"result": None}
    try:
        value = await eval_code_async(
            code, globals={"__name__": "__main__", "__builtins__": __builtins__}, filename=FILENAME
        )
        report["result"] = None if value is None else _short(repr(value), limit)
    except SystemExit as end:
        if end.code not in (None, 0):
            report["error"] = {"code": "python_error", "message": _short(f"SystemExit: {end.code}", limit)}
    except BaseException as error:
        try:
            report["error"] = _describe(error, limit)
        except BaseException:
            report["error"] = {"code": "python_error", "message": type(error).__name__}
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    return dumps(report)
