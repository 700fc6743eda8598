"""A hundred browsers on one run, and a hundred runs with a browser each: nobody misses a word.

    python -m bench.many_browsers [--browsers 100] [--deltas 2000] [--across] [--check]

Serves the application in a process of its own with a provider that streams so many deltas; with
``--across`` on PostgreSQL with two workers and Redis, so that every word travels between processes.
What each socket was sent is put together as a page does it, and compared with what is stored.
Prints how many deltas came, how long the last socket took after the first, and how many sockets
were sent the whole again, being too slow or new. ``--check`` ends with 1 where a text differs.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.streaming import stream_pieces
from tests.several.person import Page, Person
from tests.several.processes import Installation, Web
from tests.several.services import private_postgres, private_redis

PAUSE_SECONDS = 0.002
"""Between two deltas of the provider."""

WAIT_SECONDS = 240.0


def words(count: int) -> list[str]:
    """The answer, one piece per delta."""
    return [f"w{number:05} " for number in range(count)]


@contextmanager
def serving(folder: Path, provider_url: str, *, across: bool, runs: int) -> Iterator[Web]:
    """The application, with its workers where it has some."""
    limits = {"TOOLLOOP_RUNS_PER_PROCESS": str(runs), "TOOLLOOP_RUNS_PER_USER": str(runs)}
    more = {"OPENAI_BASE_URL": provider_url, "OPENAI_MODEL": "words", **limits}
    with ExitStack() as stack:
        database = f"sqlite:///{folder}/bench.sqlite3"
        if across:
            database = stack.enter_context(private_postgres()).url
            more["REDIS_URL"] = stack.enter_context(private_redis()).url
        made = stack.enter_context(Installation(folder=folder, database=database))
        web = made.web(**more, TOOLLOOP_WEB_TAKES_RUNS="0" if across else "1")
        for _ in range(2 if across else 0):
            made.worker(runs=runs, **more)
        yield web


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one part: ``wrong`` texts, sockets that were sent the whole ``anew``, the deltas
    of a socket, and by how much the last socket was later than the first."""

    name: str
    wrong: int
    anew: int
    deltas: int
    seconds: float
    spread: float

    def as_line(self) -> str:
        """The outcome for a person."""
        return (
            f"{self.name}: {self.wrong} wrong, {self.anew} were sent the whole again, "
            f"{self.deltas} deltas a socket, {self.seconds:.1f} s, "
            f"the last socket {self.spread * 1000:.0f} ms late"
        )


async def watch(person: Person, pages: list[Page], expected: str, name: str) -> Outcome:
    """Wait until every page shows the whole answer; compare with what is stored."""
    began, ends = time.perf_counter(), list[float]()

    async def wait(page: Page) -> None:
        last = expected.split()[-1]
        await page.wait_for(lambda: is_ended(page, last), "the end", WAIT_SECONDS)
        ends.append(time.perf_counter())

    await asyncio.gather(*(wait(page) for page in pages))
    wrong = anew = 0
    stored: dict[str, str] = {}
    for page in pages:
        if page.conversation not in stored:
            stored[page.conversation] = answer_in(await person.html(page.conversation))
        shown = answer_in(next(html for html in reversed(page.pieces()) if 'class="prose' in html))
        has_synced = any(message["type"] == "sync" for message in page.got)
        is_live = has_synced or page.live_text() == expected
        anew += has_synced
        wrong += not (shown == stored[page.conversation] == expected.strip() and is_live)
    deltas = sum(len(page.of("delta")) for page in pages) // len(pages)
    return Outcome(
        name=name, wrong=wrong, anew=anew, deltas=deltas, seconds=max(ends) - began,
        spread=max(ends) - min(ends),
    )  # fmt: skip


def is_ended(page: Page, last: str) -> bool:
    """Whether the stored answer was sent after the status went away."""
    status = page.last("status")
    return "hidden" in status.split(">")[0] and any(
        last in html and 'class="prose' in html for html in page.pieces()[-40:]
    )


def answer_in(html: str) -> str:
    """The words of the last answer in a piece of the page."""
    return " ".join(re.findall(r"w\d{5}", html.rpartition('class="prose')[2]))


async def measure(web: Web, browsers: int, deltas: int) -> list[Outcome]:
    """Both parts."""
    person, expected = Person(web.url), "".join(words(deltas))
    await person.log_in(web.password)
    outcomes = []
    for name, count in (("one run", 1), (f"{browsers} runs", browsers)):
        talks = [await person.start_conversation() for _ in range(count)]
        pages = [await person.open(talks[number % count]) for number in range(browsers)]
        for page in pages:
            await page.wait_for(lambda page=page: page.of("current") or page.of("sync"), "hello")
            page.got.clear()
        await asyncio.gather(*(page.say("Go on.") for page in pages[:count]))
        outcomes.append(await watch(person, pages, expected, name))
        for page in pages:
            await page.close()
    await person.close()
    return outcomes


async def run(browsers: int, deltas: int, *, across: bool) -> list[Outcome]:
    """Serve, measure, end."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await stream_pieces(reader, writer, lambda: words(deltas), pause=PAUSE_SECONDS)

    provider = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{provider.sockets[0].getsockname()[1]}/v1"
    with tempfile.TemporaryDirectory() as name:
        place = serving(Path(name), url, across=across, runs=browsers)
        web = await asyncio.to_thread(place.__enter__)
        try:
            return await measure(web, browsers, deltas)
        finally:
            await asyncio.to_thread(place.__exit__, None, None, None)
            provider.close()


def main() -> None:
    """Measure, print, and judge where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browsers", type=int, default=100)
    parser.add_argument("--deltas", type=int, default=2000)
    parser.add_argument("--across", action="store_true", help="workers, PostgreSQL and Redis")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    outcomes = asyncio.run(run(options.browsers, options.deltas, across=options.across))
    for outcome in outcomes:
        print(outcome.as_line())
    if options.check and any(outcome.wrong for outcome in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main()
