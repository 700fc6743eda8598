"""Finding notes: by words, and by meaning where a provider of embeddings is set.

Place in the house: ``agents.memory``. The score of a piece is its BM25 as a share of the best one;
with embeddings 0.3 of that and 0.7 of how close its vector is to the question's.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from operator import mul

from agents.memory.notes import Memory
from agents.memory.pieces import words_of
from agents.memory.word_index import find_pieces
from agents.models.notes import NotePiece
from agents.runs.embeddings import EmbeddingProblem, Embeddings, configured_embeddings

WORD_SHARE, MEANING_SHARE = 0.3, 0.7
CANDIDATES = 50
"""Pieces found by words that are looked at."""

MOST_VECTORS = 3000
"""Pieces that are compared by meaning; the newest."""

NEW_VECTORS = 256
"""Pieces that are embedded for one question; the others follow with the next ones."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A piece of a note; ``score`` between 0 and 1."""

    path: str
    from_line: int
    to_line: int
    score: float
    text: str


def search_notes(memory: Memory, query: str, top_k: int = 5) -> list[Found]:
    """The pieces that fit best, best first."""
    scored = find_pieces(words_of(query), memory.user_id, memory.assistant_id, CANDIDATES)
    best = max((score for _, score in scored), default=0.0)
    scores = {key: score / best for key, score in scored} if best > 0 else {}
    embeddings = configured_embeddings()
    if embeddings is not None:
        scores = _with_meaning(memory, query, scores, embeddings)
    order = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:top_k]
    pieces = NotePiece.objects.select_related("note").in_bulk([key for key, _ in order])
    return [_found(pieces[key], score) for key, score in order if key in pieces]


def _found(piece: NotePiece, score: float) -> Found:
    return Found(
        path=piece.note.path,
        from_line=piece.from_line,
        to_line=piece.to_line,
        score=round(score, 3),
        text=piece.text,
    )


def _with_meaning(
    memory: Memory, query: str, by_words: dict[int, float], embeddings: Embeddings
) -> dict[int, float]:
    """Both shares together; the words alone where the provider does not answer."""
    pieces = NotePiece.objects.filter(
        note__user_id=memory.user_id, note__assistant_id=memory.assistant_id
    ).order_by("-pk")[:MOST_VECTORS]
    try:
        vectors = _vectors_of(list(pieces), embeddings)
        [asked] = embeddings.embed([query])
    except EmbeddingProblem as problem:
        logger.warning("notes are found by words alone: %s", problem)
        return by_words
    near = {key: max(_cosine(asked, vector), 0.0) for key, vector in vectors.items()}
    return {
        key: WORD_SHARE * by_words.get(key, 0.0) + MEANING_SHARE * near.get(key, 0.0)
        for key in by_words.keys() | near.keys()
    }


def _vectors_of(pieces: Sequence[NotePiece], embeddings: Embeddings) -> dict[int, array[float]]:
    """The vectors of pieces; missing ones and those of another length are asked for and stored."""
    missing = [piece for piece in pieces if piece.vector is None][:NEW_VECTORS]
    if missing:
        for piece, vector in zip(
            missing, embeddings.embed([piece.text for piece in missing]), strict=True
        ):
            piece.vector = vector.tobytes()
        NotePiece.objects.bulk_update(missing, ["vector"], batch_size=100)
    return {piece.pk: array("f", bytes(piece.vector)) for piece in pieces if piece.vector}


def _cosine(first: array[float], second: array[float]) -> float:
    if len(first) != len(second):
        return 0.0
    length = sqrt(_product(first, first) * _product(second, second))
    return _product(first, second) / length if length else 0.0


def _product(first: array[float], second: array[float]) -> float:
    return sum(map(mul, first, second))
