"""Every way in which a run can end, told one by one, with what the page says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents.loop import events
from agents.loop.results import Outcome
from tests.traces.inspection.recorded import Recorded, RunTeller, weather_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A story, and what it ends as: status, stop reason, level, headline, the last sentence."""

    name: str
    tell: Callable[[Recorded, RunTeller], None]
    status: str
    reason: str
    level: int | None
    headline: str
    sentence: str = ""

    def recorded(self) -> Recorded:
        """The story told."""
        recorded = Recorded()
        self.tell(recorded, recorded.teller())
        return recorded


def _at_once(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.answer_in(0)


def _after_tools(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.loop_turn(0)
    run.answer_in(1)


def _half_an_answer(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.answer_in(0, finish="length")


def _filtered(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.answer_in(0, finish="content_filter")


def _loop_off(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.loop_turn(0, decision="answered")
    run.deliver("- sunny", source="results")
    run.finish()


def _loop_off_with_text(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.loop_turn(0, decision="answered")
    run.deliver("I look.")
    run.finish()


def _text_for_a_retry(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a", Outcome.INVALID_ARGUMENTS, error="wrong", is_correctable=True)
    run.tell(events.ParameterRetry, attempt=2, calls=("call_a",), notice="Mend.", errors=("wrong",))
    run.say("It cannot be known.", attempt=2)
    run.close(0, "answered", calls=1, failed=1)
    run.deliver("It cannot be known.")
    run.finish()


def _run_by_provider(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.say("Done.")
    run.tell(events.ToolCallsObserved, turn=0, calls=(weather_call("a"), weather_call("b")))
    run.close(0, "answered")
    run.deliver("Done.")
    run.finish()


def _by_hook(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a")
    run.tell(events.HookStarted, hook="next", path="shop.hooks.after")
    run.tell(events.HookFinished, hook="next", path="shop.hooks.after", returned=("data",))
    run.close(0, "answered", calls=1)
    run.deliver("42", source="hook")
    run.finish()


def _hand_over(recorded: Recorded, run: RunTeller) -> RunTeller:
    run.begin()
    run.turn(0)
    run.say("Let me ask.")
    run.tell(events.HookStarted, hook="next", path="shop.hooks.after")
    run.tell(events.HookFinished, hook="next", path="shop.hooks.after", returned=("delegate",))
    run.close(0, "delegated")
    run.tell(events.Delegated, assistant="billing")
    child = recorded.teller("r2")
    child.told = run.told
    child.start(assistant="billing", assistant_name="Billing", parent_run="r1", limits={})
    return child


def _delegated(recorded: Recorded, run: RunTeller) -> None:
    child = _hand_over(recorded, run)
    child.answer_in(0)
    run.told = child.told
    run.finish(stop_reason="delegated")


def _delegated_to_a_failure(recorded: Recorded, run: RunTeller) -> None:
    child = _hand_over(recorded, run)
    child.turn(0)
    child.fail_request("The provider refused the key.", kind="ModelKeyRefused", status=401)
    child.close(0, "failed", "provider_error")
    child.end_fixed("provider_error", "The provider refused the key.")
    run.told = child.told
    run.finish("failed", stop_reason="provider_error", level=3)


def _delegated_to_a_fallback(recorded: Recorded, run: RunTeller) -> None:
    child = _hand_over(recorded, run)
    child.loop_turn(0, decision="")
    child.give_up("time", turn=0)
    child.fall_back("time")
    run.told = child.told
    run.finish(stop_reason="delegated", level=2)


def _turns_used(recorded: Recorded, run: RunTeller) -> None:
    run.begin(max_turn=2)
    run.loop_turn(0)
    run.loop_turn(1)
    run.loop_turn(2, decision="")
    run.give_up("max_turns", option="max_turn", turn=2)


def _max_turns(recorded: Recorded, run: RunTeller) -> None:
    _turns_used(recorded, run)
    run.fall_back("max_turns")


def _max_turns_to_the_end(recorded: Recorded, run: RunTeller) -> None:
    _turns_used(recorded, run)
    run.fail_fallback("max_turns", "The provider is down.")


def _errors(recorded: Recorded, run: RunTeller) -> None:
    run.begin(max_consecutive_errors=2)
    run.loop_turn(0, Outcome.TOOL_ERROR, error="no station in Atlantis")
    run.loop_turn(1, Outcome.TIMEOUT, error="No answer within 30 seconds.", decision="")
    run.give_up("errors", option="max_consecutive_errors")
    run.fall_back("errors")


def _repeats(recorded: Recorded, run: RunTeller) -> None:
    run.begin(repeat_limit=3)
    run.loop_turn(0)
    run.loop_turn(1, Outcome.SKIPPED, error="not executed", decision="")
    run.give_up("repeats", option="repeat_limit")
    run.fall_back("repeats")


def _time(recorded: Recorded, run: RunTeller) -> None:
    run.begin(run_timeout_seconds=90)
    run.loop_turn(0)
    run.turn(1)
    run.say("", weather_call("slow"), turn=1)
    run.run_call("slow", Outcome.CANCELLED, turn=1, error="The call was cancelled.")
    run.give_up("time", option="run_timeout_seconds")
    run.fall_back("time")


def _tokens(recorded: Recorded, run: RunTeller) -> None:
    run.begin(max_run_tokens=200)
    run.loop_turn(0)
    run.loop_turn(1, decision="")
    run.give_up("tokens", option="max_run_tokens")
    run.fall_back("tokens")


def _truncated(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.loop_turn(0, Outcome.INVALID_ARGUMENTS, error="cut off")
    run.loop_turn(1, Outcome.INVALID_ARGUMENTS, error="cut off", decision="")
    run.give_up("truncated", option="truncated")
    run.fall_back("truncated")


def _provider_error_after_tools(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.loop_turn(0)
    run.turn(1)
    run.fail_request("The provider answered 503.", turn=1, status=503)
    run.give_up("provider_error")
    run.fall_back("provider_error")


def _key_refused(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.fail_request(
        "The provider refused the key.", kind="ModelKeyRefused", status=401, hint="Check the key."
    )
    run.close(0, "failed", "provider_error")
    run.end_fixed("provider_error", "The provider refused the key.")


def _empty(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.say("")
    run.say("")
    run.close(0, "failed", "empty")
    run.end_fixed("empty")


def _context(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.loop_turn(0)
    run.turn(1)
    for chars in (2000, 500):
        run.fail_request("The request is too long.", turn=1, kind="ContextTooLong", status=400)
        detail = f"1 tool results cut to {chars} characters: the request was too long"
        run.tell(events.LimitReached, turn=1, option="context", detail=detail)
    run.close(1, "failed", "context")
    run.end_fixed("context", "The request is too long.")


def _strict(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.say("", weather_call("a"))
    run.run_call("a", Outcome.TOOL_ERROR, error="no station in Atlantis")
    run.close(0, "failed", "errors")
    run.end_fixed("errors", "weather.get: no station in Atlantis")


def _hook_raised(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    error = "The next hook shop.hooks.after raised KeyError: 'total'"
    run.turn(0)
    run.say("Hm.")
    run.tell(events.HookStarted, hook="next", path="shop.hooks.after")
    run.tell(
        events.HookFinished, hook="next", path="shop.hooks.after", error=error, traceback="Trace"
    )
    run.close(0, "failed", "hook_error")
    run.end_fixed("hook_error", error)


def _compacted(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.tell(events.CompactionStarted, turn=0, reason="asked", messages=13, tokens=1310)
    run.say("The summary.")
    run.tell(
        events.Compacted, turn=0, reason="asked", summary="The summary.", messages_before=13,
        messages_after=1, tokens_before=1310, tokens_after=107,
    )  # fmt: skip
    run.finish("completed", stop_reason="compacted", level=None)


def _stopped(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.say("", weather_call("slow"))
    run.run_call("slow", Outcome.CANCELLED, error="The call was cancelled.")
    run.close(0, "cancelled")
    run.finish("cancelled", stop_reason="cancelled", level=None)


def _stopped_in_the_fallback(recorded: Recorded, run: RunTeller) -> None:
    _turns_used(recorded, run)
    run.tell(
        events.FallbackStarted, level=2, reason="max_turns", assistant="toolloop.loop_fallback"
    )
    run.turn("F")
    run.ask({"role": "user", "content": "Brief"}, turn="F")
    run.tell(events.ModelCancelled, turn="F", attempt=1, partial="")
    run.finish("cancelled", stop_reason="cancelled", level=None)


def _lost(recorded: Recorded, run: RunTeller) -> None:
    run.begin()
    run.turn(0)
    run.say("", weather_call("a"), weather_call("b"))
    run.start_call(weather_call("a"), server="weather", tool="get")
    run.start_call(weather_call("b"), server="weather", tool="history")
    run.finish_call(weather_call("a"), server="weather", tool="get")
    recorded.forget_process()
    run.finish("interrupted", stop_reason="worker_lost", level=3)


ENDINGS = (
    Ending(
        name="at once", tell=_at_once, status="completed", reason="answered", level=1,
        headline="Answered by the model at once, without a tool.",
        sentence="stopped: no tool calls",
    ),
    Ending(
        name="summed up", tell=_compacted, status="completed", reason="compacted", level=None,
        headline="Summed up 13 messages, as a person asked for it.",
    ),
    Ending(
        name="after tools", tell=_after_tools, status="completed", reason="answered", level=1,
        headline="Answered by the model in turn 1, after 1 tool call.",
        sentence="stopped: no tool calls",
    ),
    Ending(
        name="half an answer", tell=_half_an_answer, status="completed", reason="answered",
        level=1,
        headline="Answered by the model at once, without a tool. "
        "The answer was cut off at the length limit.",
        sentence="stopped: no tool calls, the answer was cut off at the length limit",
    ),
    Ending(
        name="filtered", tell=_filtered, status="completed", reason="answered", level=1,
        headline="Answered by the model at once, without a tool. "
        "The answer was cut off by the provider's content filter.",
        sentence="stopped: no tool calls, the answer was cut off by the provider's content filter",
    ),
    Ending(
        name="loop off", tell=_loop_off, status="completed", reason="answered", level=1,
        headline="Answered with a list of 1 result: the tool loop is off and the model wrote no "
        "text.",
        sentence="stopped: the tool loop is off, 1 tool call answered",
    ),
    Ending(
        name="loop off with text", tell=_loop_off_with_text, status="completed",
        reason="answered", level=1,
        headline="Answered with the text beside 1 tool call: the tool loop is off.",
        sentence="stopped: the tool loop is off, 1 tool call answered",
    ),
    Ending(
        name="text for a retry", tell=_text_for_a_retry, status="completed", reason="answered",
        level=1,
        headline="Answered by the model in turn 0, after 1 tool call, which failed.",
        sentence="stopped: text in place of a corrected call in attempt 2",
    ),
    Ending(
        name="run by the provider", tell=_run_by_provider, status="completed", reason="answered",
        level=1,
        headline="Answered by the model, whose provider ran 2 tool calls by itself.",
        sentence="stopped: the provider ran 2 tool calls by itself",
    ),
    Ending(
        name="by a hook", tell=_by_hook, status="completed", reason="answered", level=1,
        headline="Answered by the next hook `shop.hooks.after`, in place of the model.",
        sentence="stopped: the next hook `shop.hooks.after` gave the answer",
    ),
    Ending(
        name="delegated", tell=_delegated, status="completed", reason="delegated", level=1,
        headline="Answered by Billing, to which a hook handed it over.",
        sentence="stopped: no tool calls",
    ),
    Ending(
        name="delegated to a failure", tell=_delegated_to_a_failure, status="failed",
        reason="provider_error", level=3,
        headline="Handed over to Billing, which failed: No answer: The provider refused the key.",
    ),
    Ending(
        name="delegated to a fallback", tell=_delegated_to_a_fallback, status="completed",
        reason="delegated", level=2,
        headline="Answered by the fallback of Billing, to which it was handed over: "
        "the time limit was reached.",
        sentence="stopped: no tool calls, answer level 2",
    ),
    Ending(
        name="max turns", tell=_max_turns, status="completed", reason="max_turns", level=2,
        headline="Answered by the fallback: all 2 turns were used and the model still asked for "
        "1 tool.",
        sentence="fell back: 2 of 2 turns used and the model still asked for 1 tool",
    ),
    Ending(
        name="max turns to the end", tell=_max_turns_to_the_end, status="failed",
        reason="max_turns", level=3,
        headline="No answer: all 2 turns were used and the model still asked for 1 tool, and the "
        "fallback failed too: The provider is down.",
        sentence="the fallback gave no answer: The provider is down",
    ),
    Ending(
        name="errors", tell=_errors, status="completed", reason="errors", level=2,
        headline="Answered by the fallback: every call failed in 2 turns in a row, the last one "
        "weather / get: No answer within 30 seconds.",
        sentence="fell back: every call failed in 2 turns in a row, the last one weather / get: "
        "No answer within 30 seconds",
    ),
    Ending(
        name="repeats", tell=_repeats, status="completed", reason="repeats", level=2,
        headline="Answered by the fallback: weather / get was asked for again after it had been "
        "refused: the same arguments had given the same result 3 times.",
        sentence="fell back: weather / get was asked for again after it had been refused: "
        "the same arguments had given the same result 3 times",
    ),
    Ending(
        name="time", tell=_time, status="completed", reason="time", level=2,
        headline="Answered by the fallback: the time limit of 90 s was reached while "
        "weather / get was running.",
        sentence="fell back: the time limit of 90 s was reached while weather / get was running",
    ),
    Ending(
        name="tokens", tell=_tokens, status="completed", reason="tokens", level=2,
        headline="Answered by the fallback: 220 tokens used, the limit is 200.",
        sentence="fell back: 220 tokens used, the limit is 200",
    ),
    Ending(
        name="truncated", tell=_truncated, status="completed", reason="truncated", level=2,
        headline="Answered by the fallback: the model's tool calls were cut off by the length "
        "limit twice in a row.",
        sentence="fell back: the model's tool calls were cut off by the length limit twice in a "
        "row",
    ),
    Ending(
        name="provider error after tools", tell=_provider_error_after_tools, status="completed",
        reason="provider_error", level=2,
        headline="Answered by the fallback: The provider answered 503.",
        sentence="fell back: The provider answered 503",
    ),
    Ending(
        name="key refused", tell=_key_refused, status="failed", reason="provider_error", level=3,
        headline="No answer: The provider refused the key.",
        sentence="failed: The provider refused the key",
    ),
    Ending(
        name="empty", tell=_empty, status="failed", reason="empty", level=3,
        headline="No answer: the model's answer was empty, also when it was asked once more "
        "without tools.",
        sentence="failed: the model's answer was empty, also when it was asked once more without "
        "tools",
    ),
    Ending(
        name="context", tell=_context, status="failed", reason="context", level=3,
        headline="No answer: the request is too long for the model's window, also with tool "
        "results cut to 500 characters.",
        sentence="failed: the request is too long for the model's window, also with tool results "
        "cut to 500 characters",
    ),
    Ending(
        name="strict", tell=_strict, status="failed", reason="errors", level=3,
        headline="No answer: weather / get failed (“no station in Atlantis”), and this assistant "
        "ends on tool errors.",
        sentence="failed: weather / get failed (“no station in Atlantis”), and this assistant ends "
        "on tool errors",
    ),
    Ending(
        name="hook raised", tell=_hook_raised, status="failed", reason="hook_error", level=3,
        headline="No answer: the next hook shop.hooks.after raised KeyError: 'total'.",
        sentence="failed: the next hook shop.hooks.after raised KeyError: 'total'",
    ),
    Ending(
        name="stopped", tell=_stopped, status="cancelled", reason="cancelled", level=None,
        headline="Stopped by a person in turn 0 while weather / get was running.",
        sentence="stopped by a person while weather / get was running",
    ),
    Ending(
        name="stopped in the fallback", tell=_stopped_in_the_fallback, status="cancelled",
        reason="cancelled", level=None,
        headline="Stopped by a person while the fallback was answering.",
        sentence="stopped by a person while the fallback was answering",
    ),
    Ending(
        name="lost", tell=_lost, status="interrupted", reason="worker_lost", level=3,
        headline="Interrupted: the process that worked on it ended in turn 0 while "
        "weather / history was running, 1 of 2 calls had answered.",
        sentence="interrupted: the process that worked on it ended while weather / history was "
        "running",
    ),
)  # fmt: skip
