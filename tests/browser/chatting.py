"""What a person does and sees on the chat page, in words."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

RUN_MILLISECONDS = 20_000

SURVEY = "Run the survey of all weather stations."


def long_request(words: int = 100) -> str:
    """A message whose answer repeats so many numbered words: about 30 ms each."""
    name = " ".join(f"w{n:03}" for n in range(words))
    return f'call notes__write with {{"name": "{name}", "text": "t"}}'


def say(page: Page, text: str) -> None:
    """Type a message and press Enter; returns when a conversation shows it."""
    page.fill("#say", text)
    page.press("#say", "Enter")
    wait_for_text(page, ".msg.user .bub", text.splitlines()[-1])
    page.wait_for_load_state()
    expect(page.locator(".msg.user .bub").last).to_have_text(text)


def start(page: Page, text: str) -> None:
    """Click the starter prompt that sends this text."""
    page.locator(f'[data-starter][value="{text}"]').click()
    wait_for_text(page, ".msg.user .bub", text)
    page.wait_for_load_state()


def start_survey(page: Page) -> None:
    """Start the slow tool and wait until it works."""
    start(page, SURVEY)
    wait_for_text(page, ".prog-text", "station")


def wait_for_text(page: Page, selector: str, text: str) -> None:
    """Wait until such an element with this text is seen; sooner than ``expect`` would look."""
    page.locator(selector).filter(has_text=text).last.wait_for(timeout=RUN_MILLISECONDS)


def wait_for_end(page: Page, runs: int = 1) -> None:
    """Wait until so many runs are shown and all of them have ended."""
    ended = page.locator(".msg.run:not(.live)")
    ended.nth(runs - 1).wait_for(timeout=RUN_MILLISECONDS)
    page.locator("#status[hidden]").wait_for(state="attached", timeout=RUN_MILLISECONDS)
    expect(page.locator(".msg.run")).to_have_count(runs)


def states(page: Page) -> list[str]:
    """The state of every card, in order."""
    cards = page.locator("#log [data-state]")
    return [str(card.get_attribute("data-state")) for card in cards.all()]


def last_answer(page: Page) -> Locator:
    """The last run's last text."""
    return page.locator(".msg.run").last.locator(".prose").last


def text_of(page: Page) -> str:
    """Everything in the log as a person reads it."""
    return page.locator("#log").inner_text()


def stored_text(page: Page) -> str:
    """The log as the server shows it to a page that is loaded anew."""
    page.reload()
    expect(page.locator("#log")).to_be_visible()
    return text_of(page)
