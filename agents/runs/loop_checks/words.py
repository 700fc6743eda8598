"""What the checks of a loop say: sentences, and hints which cause a finding points at.

Place in the house: ``agents.runs.loop_checks``, pure. Translated where they are shown.
"""

from __future__ import annotations

from enum import StrEnum

from django.utils.translation import gettext_noop


class Cause(StrEnum):
    """What a check found."""

    CALLED = "called"
    CALLED_ANOTHER = "called_another"
    NO_CALL = "no_call"
    CALL_AS_TEXT = "call_as_text"
    UNKNOWN_NAME = "unknown_name"
    BAD_ARGUMENTS = "bad_arguments"
    CUT_OFF = "cut_off"
    EMPTY = "empty"
    MODEL_FAILED = "model_failed"
    TIME = "time"
    NO_TOOL = "no_tool"
    NO_ARGUMENTS = "no_arguments"
    RESULT_USED = "result_used"
    RESULT_TAKEN = "result_taken"
    CALLED_AGAIN = "called_again"
    CALLED_ON = "called_on"
    RESULT_REFUSED = "result_refused"
    ENDED = "ended"
    ENDED_EARLY = "ended_early"
    NOT_BEGUN = "not_begun"
    MAX_TURNS = "max_turns"
    CUT_RESULTS = "cut_results"
    REPEATS = "repeats"
    ERRORS = "errors"
    OUT_OF_TIME = "out_of_time"
    TOKENS = "tokens"
    TRUNCATED = "truncated"
    CONTEXT = "context"
    STOPPED = "stopped"
    LOOP_OFF = "loop_off"
    SANDBOX = "sandbox"
    EARLIER = "earlier"
    NO_TIME = "no_time"


TITLES = {
    1: gettext_noop("The model returns a well-formed tool call"),
    2: gettext_noop("It goes on with the result, without calling again"),
    3: gettext_noop("A loop of several turns ends by itself"),
}

SENTENCES = {
    Cause.CALLED: gettext_noop("It called %(tool)s with arguments that fit its schema."),
    Cause.CALLED_ANOTHER: gettext_noop(
        "It was asked for %(tool)s and called %(called)s, with arguments that fit its schema."
    ),
    Cause.NO_CALL: gettext_noop("It called no tool and answered in text: “%(said)s”"),
    Cause.CALL_AS_TEXT: gettext_noop("It wrote the call as text: “%(said)s”"),
    Cause.UNKNOWN_NAME: gettext_noop("It called %(called)s, which was not offered."),
    Cause.BAD_ARGUMENTS: gettext_noop("Its arguments for %(called)s cannot be used: %(said)s."),
    Cause.CUT_OFF: gettext_noop("The answer was cut off by the length limit."),
    Cause.EMPTY: gettext_noop("The answer was empty: neither text nor a call."),
    Cause.MODEL_FAILED: gettext_noop("The model could not be asked: %(error)s"),
    Cause.TIME: gettext_noop("No whole answer came within %(seconds)s seconds."),
    Cause.NO_TOOL: gettext_noop("No tool is offered to the model: %(reason)s"),
    Cause.NO_ARGUMENTS: gettext_noop("No arguments could be made up for any tool that is offered."),
    Cause.RESULT_USED: gettext_noop("It answered with what stood in the result: “%(said)s”"),
    Cause.RESULT_TAKEN: gettext_noop(
        "It answered without calling again, but not with what stood in the result: “%(said)s”"
    ),
    Cause.CALLED_AGAIN: gettext_noop("It had the result and made the same call again."),
    Cause.CALLED_ON: gettext_noop("It had the result and called %(called)s instead of answering."),
    Cause.RESULT_REFUSED: gettext_noop("The provider refused the result of the call: %(error)s"),
    Cause.ENDED: gettext_noop(
        "It ended by itself in turn %(turns)d, after %(calls)d tool calls: “%(said)s”"
    ),
    Cause.ENDED_EARLY: gettext_noop(
        "It ended by itself in turn %(turns)d; of %(planned)d calls that were asked for %(calls)d "
        "came, of which %(failed)d failed: “%(said)s”"
    ),
    Cause.NOT_BEGUN: gettext_noop("The loop never began: it answered without calling: “%(said)s”"),
    Cause.MAX_TURNS: gettext_noop(
        "It still asked for tools when all %(max_turn)d turns were used."
    ),
    Cause.CUT_RESULTS: gettext_noop(
        "It still asked for tools when all %(max_turn)d turns were used, and the result of "
        "%(called)s had been cut."
    ),
    Cause.REPEATS: gettext_noop("It made the same call again after that had been refused."),
    Cause.ERRORS: gettext_noop("Every call failed in several turns in a row; the last: %(said)s"),
    Cause.OUT_OF_TIME: gettext_noop("It was not over after %(seconds)s seconds."),
    Cause.TOKENS: gettext_noop("The run's tokens were used up before it ended."),
    Cause.TRUNCATED: gettext_noop("Its calls were cut off by the length limit twice in a row."),
    Cause.CONTEXT: gettext_noop("The conversation became too long for the model: %(error)s"),
    Cause.STOPPED: gettext_noop("It stopped for another reason (%(reason)s): %(error)s"),
    Cause.LOOP_OFF: gettext_noop("The tool loop of this assistant is off."),
    Cause.SANDBOX: gettext_noop("The provider of this assistant runs tools by itself (sandbox)."),
    Cause.EARLIER: gettext_noop("Not asked: what check %(number)d found comes first."),
    Cause.NO_TIME: gettext_noop("Not asked: the time for all checks was used up."),
}

HINTS = {
    Cause.CALLED_ANOTHER: gettext_noop(
        "Look whether the descriptions of the two tools can be told apart."
    ),
    Cause.NO_CALL: gettext_noop(
        "The model may not take tools, or a gateway drops the field tools: press Test on the "
        "provider's page, or choose another model. If it does take them: write into the system "
        "prompt that facts come from tools and never from memory, and describe the tool plainly."
    ),
    Cause.CALL_AS_TEXT: gettext_noop(
        "The provider does not read the model's calls. A server of your own needs its tool call "
        "parser switched on, with the one that belongs to this model; else choose another model."
    ),
    Cause.UNKNOWN_NAME: gettext_noop(
        "The model makes names up or a gateway changes them: look at the names in the raw exchange "
        "and offer fewer tools, or choose another model."
    ),
    Cause.BAD_ARGUMENTS: gettext_noop(
        "Describe each argument in the tool's schema with an example, add a sample on the tool's "
        "page, or choose another model."
    ),
    Cause.CUT_OFF: gettext_noop("Raise or remove max_tokens in the options of the assistant."),
    Cause.EMPTY: gettext_noop(
        "Look at the raw exchange: a gateway may drop calls from the stream, or the model used up "
        "max_tokens in thinking."
    ),
    Cause.MODEL_FAILED: gettext_noop(
        "%(hint)s The provider's own words are in the raw exchange; Test on its page tells more."
    ),
    Cause.TIME: gettext_noop(
        "Is the model being loaded? Try again, or give the checks more time (--seconds)."
    ),
    Cause.NO_TOOL: gettext_noop(
        "Look at the servers and the ticked tools of the assistant; its preview tells what is left "
        "out and why."
    ),
    Cause.NO_ARGUMENTS: gettext_noop(
        "Add a sample with an input on a tool's page, or name a tool and give its arguments: "
        "manage.py verify_loop ASSISTANT --tool SERVER.TOOL --arguments JSON"
    ),
    Cause.RESULT_TAKEN: gettext_noop(
        "The loop is closed, but the model may not read results: compare the answer with the "
        "result in the raw exchange."
    ),
    Cause.CALLED_AGAIN: gettext_noop(
        "The result was not recognised as that of the call. Compare tool_call_id with the id of "
        "the call in the raw exchange; a gateway between may change ids or drop the role tool. "
        "Press Test on the provider's page, which finds the ids that it takes. A "
        "weak model does the same: try another one."
    ),
    Cause.CALLED_ON: gettext_noop(
        "The model goes on calling: look whether the system prompt makes it use tools for "
        "everything, and whether the tool's description says what it returns."
    ),
    Cause.RESULT_REFUSED: gettext_noop(
        "%(hint)s Press Test on the provider's page: it finds which ids and which messages the "
        "provider refuses, and offers the setting."
    ),
    Cause.ENDED_EARLY: gettext_noop(
        "Try the tools by hand on their pages where calls failed; the raw exchange shows the rest."
    ),
    Cause.NOT_BEGUN: gettext_noop(
        "It called when it was asked for one call: ask again, and see whether the model is steady "
        "(temperature in the options)."
    ),
    Cause.MAX_TURNS: gettext_noop(
        "The model goes in circles: what the tools return does not tell it that it is done. Make "
        "descriptions and errors of the tools plainer, or raise max_turn where the work needs it."
    ),
    Cause.CUT_RESULTS: gettext_noop(
        "What it needs may have been cut away: raise tool_result_max_chars, or let the tool return "
        "less."
    ),
    Cause.REPEATS: gettext_noop(
        "The result does not satisfy it: look in the raw exchange what the tool returned; an error "
        "must be plain to see, and arguments must be described so that they are not guessed."
    ),
    Cause.ERRORS: gettext_noop("Try the tool by hand on its page; the server may need attention."),
    Cause.OUT_OF_TIME: gettext_noop(
        "Look in the raw exchange whether the model or a tool was slow; then raise "
        "run_timeout_seconds, or give the checks more time (--seconds)."
    ),
    Cause.TOKENS: gettext_noop("Raise max_run_tokens, or offer fewer tools and shorter prompts."),
    Cause.TRUNCATED: gettext_noop("Raise or remove max_tokens in the options of the assistant."),
    Cause.CONTEXT: gettext_noop(
        "Lower tool_result_max_chars, offer fewer tools, or choose a model with a larger window."
    ),
    Cause.STOPPED: gettext_noop("Look in the raw exchange what came before."),
    Cause.LOOP_OFF: gettext_noop("Switch tool_loop on if calls are to be followed by an answer."),
    Cause.NO_TIME: gettext_noop("Give the checks more time (--seconds)."),
}
