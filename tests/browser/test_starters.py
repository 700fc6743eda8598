"""Every starter prompt, clicked from the empty state, in both languages."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chatting import last_answer, start, states, wait_for_end, wait_for_text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What should I wear in Beijing today?", "Wear a heavy coat and a hat."),
        ("北京今天适合穿什么?", "建议穿厚外套、帽子"),
    ],
)
def test_two_steps_end_in_an_answer_made_of_both_results(
    page: Page, question: str, answer: str
) -> None:
    start(page, question)
    wait_for_end(page)
    expect(last_answer(page)).to_contain_text(answer)
    assert states(page) == ["ok", "ok"]
    expect(page.locator(".call-name")).to_have_text(["weather / get", "weather / clothing_advise"])
    expect(page.locator(".step .node > [aria-hidden]")).to_have_text(["0", "1", "2"])
    expect(page.locator(".ending")).to_have_count(0)


@pytest.mark.parametrize(
    ("question", "city"),
    [
        ("Compare the weather in Beijing, Oslo and Lima.", "Beijing"),
        ("比较北京、Oslo 和 Lima 的天气。", "北京"),
    ],
)
def test_three_calls_of_one_answer_are_one_group(page: Page, question: str, city: str) -> None:
    start(page, question)
    wait_for_end(page)
    expect(page.locator(".group > .call")).to_have_count(3)
    expect(page.locator(".group-line b")).to_have_text("3 tool calls")
    assert states(page) == ["ok", "ok", "ok"]
    expect(last_answer(page).locator("tbody td:first-child")).to_have_text([city, "Oslo", "Lima"])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many days are there from 3 March to 24 December 2026?", "there are 296 days."),
        ("从2026年3月3日到12月24日有多少天?", "共 296 天"),
    ],
)
def test_wrong_arguments_are_asked_for_again(page: Page, question: str, answer: str) -> None:
    start(page, question)
    wait_for_end(page)
    assert states(page) == ["invalid_arguments", "ok"]
    expect(page.locator(".step-note")).to_contain_text("attempt 2 of")
    expect(page.locator(".step-note .kr")).to_have_text("R")
    expect(page.locator(".call").last.locator(".att .kr")).to_have_text("R")
    expect(page.locator(".call").last.locator(".call-arg")).to_contain_text("2026-03-03")
    expect(last_answer(page)).to_contain_text(answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Keep adding 1 until I say stop.", "The last result so far is 6."),
        ("一直加 1,直到我说停。", "目前得到的最后结果是 6"),
    ],
)
def test_the_turn_limit_ends_in_the_answer_of_the_fallback(
    page: Page, question: str, answer: str
) -> None:
    start(page, question)
    wait_for_end(page)
    assert states(page) == ["ok"] * 6
    expect(last_answer(page)).to_contain_text(answer)
    expect(page.locator(".ending")).to_contain_text(
        "Turn limit 5 reached, answered by the fallback."
    )
    expect(page.locator(".step.fb .node")).to_contain_text("F")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the weather in Atlantis?", "I could not find out"),
        ("亚特兰蒂斯的天气怎么样?", "查不到"),
    ],
)
def test_a_failing_tool_is_shown_and_the_answer_comes_all_the_same(
    page: Page, question: str, answer: str
) -> None:
    start(page, question)
    wait_for_end(page)
    assert states(page) == ["tool_error"]
    expect(last_answer(page)).to_contain_text(answer)
    expect(page.locator(".ending")).to_have_count(0)
    page.locator(".call-line").click()
    expect(page.locator('.call [data-panel="result"]')).to_contain_text("refused")


@pytest.mark.parametrize(
    "question", ["Run the survey of all weather stations.", "运行所有气象站的普查。"]
)
def test_the_slow_survey_is_stopped_by_the_button(page: Page, question: str) -> None:
    start(page, question)
    wait_for_text(page, ".prog-text", "of 60")
    page.locator("#status [data-stop]").click()
    wait_for_end(page)
    assert states(page) == ["cancelled"]
    expect(page.locator(".ending")).to_contain_text("Stopped by you.")


def test_the_slow_survey_is_stopped_by_escape(page: Page) -> None:
    start(page, "Run the survey of all weather stations.")
    wait_for_text(page, ".prog-text", "station")
    page.keyboard.press("Escape")
    wait_for_end(page)
    assert states(page) == ["cancelled"]
    expect(page.locator(".ending")).to_contain_text("Stopped by you.")


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Delete all my notes.", "Done: "), ("删除我的所有笔记。", "完成：")],
)
def test_what_was_allowed_once_is_done(page: Page, question: str, answer: str) -> None:
    start(page, question)
    ask = page.locator("[data-ask]")
    expect(ask).to_contain_text("notes.delete_all")
    page.get_by_role("button", name="Allow once").click()
    wait_for_end(page)
    assert states(page) == ["ok"]
    expect(last_answer(page)).to_contain_text(answer)
    expect(last_answer(page)).to_contain_text("notes deleted")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Delete all my notes.", "Nothing was deleted."),
        ("删除我的所有笔记。", "没有删除任何笔记。"),
    ],
)
def test_what_was_denied_is_told_with_its_reason(page: Page, question: str, answer: str) -> None:
    start(page, question)
    page.locator("[data-ask] input").fill("I still need the shopping list")
    page.get_by_role("button", name="Deny").click()
    wait_for_end(page)
    assert states(page) == ["denied"]
    expect(last_answer(page)).to_contain_text(answer)
    expect(last_answer(page)).to_contain_text("I still need the shopping list")


def test_after_the_turn_limit_one_click_goes_on(page: Page) -> None:
    start(page, "Keep adding 1 until I say stop.")
    wait_for_end(page)
    page.get_by_role("button", name="Continue with 5 more").click()
    wait_for_end(page, runs=2)
    expect(page.locator(".msg.user .bub").last).to_have_text("Please continue where you stopped.")
