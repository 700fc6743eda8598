"""Model fields whose values are stored encrypted.

Place in the house: ``agents``, below the models. Keys are ``TOOLLOOP_ENCRYPTION_KEYS``: the first
one encrypts, all of them decrypt. Without any, one key is derived from ``SECRET_KEY``. Empty values
are stored as they are, so that "is a key set?" needs no key.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import FieldError, ValidationError
from django.db import models

DUMP_PREFIX = "encrypted:"
"""Marks a value in ``dumpdata`` output, which holds the stored text and never the plain one."""

_PURPOSE = b"toolloop encrypted fields v1"


class DecryptionFailed(Exception):
    """Raised when no key that is set fits a stored value. Names what to set, never the value."""


def encrypt(text: str) -> str:
    """The stored form of a text; ``""`` stays empty."""
    return _cipher().encrypt(text.encode()).decode() if text else ""


def decrypt(stored: str, *, column: str = "a value") -> str:
    """The text of a stored form. Raises ``DecryptionFailed`` that names ``column``."""
    if not stored:
        return ""
    try:
        return _cipher().decrypt(stored.encode()).decode()
    except InvalidToken:
        source = "TOOLLOOP_ENCRYPTION_KEYS" if settings.TOOLLOOP_ENCRYPTION_KEYS else "SECRET_KEY"
        raise DecryptionFailed(
            f"{column} cannot be decrypted: it was stored under a key other than those of "
            f"{source}. Add the former key to TOOLLOOP_ENCRYPTION_KEYS (after the new one), or "
            "enter the value again."
        ) from None


def derived_key(secret_key: str) -> str:
    """The Fernet key that stands in where ``TOOLLOOP_ENCRYPTION_KEYS`` is not set."""
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    return base64.urlsafe_b64encode(derivation.derive(secret_key.encode())).decode()


def _cipher() -> MultiFernet:
    return _cipher_of(tuple(settings.TOOLLOOP_ENCRYPTION_KEYS), settings.SECRET_KEY)


@lru_cache(maxsize=8)
def _cipher_of(keys: Sequence[str], secret_key: str) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys or (derived_key(secret_key),)])


class _EncryptedField(models.TextField):
    """What both fields share: the column is text, and only emptiness can be asked for."""

    def from_db_value(self, value: str | None, expression: object, connection: object) -> object:
        return None if value is None else self.from_text(decrypt(value, column=self._column_name()))

    def get_prep_value(self, value: object) -> str | None:
        return None if value is None else encrypt(self.to_text(value))

    def get_lookup(self, lookup_name: str) -> type | None:
        if lookup_name in ("exact", "isnull"):
            return super().get_lookup(lookup_name)
        raise FieldError(f"{self._column_name()} is encrypted: only exact ('') and isnull work")

    def value_to_string(self, obj: models.Model) -> str:
        return DUMP_PREFIX + (self.get_prep_value(self.value_from_object(obj)) or "")

    def to_text(self, value: object) -> str:
        """The plain text that is encrypted; ``""`` for an empty value."""
        raise NotImplementedError

    def from_text(self, text: str) -> object:
        """The value of a plain text."""
        raise NotImplementedError

    def _column_name(self) -> str:
        return f"{self.model._meta.label}.{self.name}"


class EncryptedTextField(_EncryptedField):
    """A text that is stored encrypted."""

    def to_text(self, value: object) -> str:
        return str(value)

    def from_text(self, text: str) -> str:
        return text

    def to_python(self, value: object) -> object:
        if isinstance(value, str) and value.startswith(DUMP_PREFIX):
            return decrypt(value.removeprefix(DUMP_PREFIX), column=self._column_name())
        return super().to_python(value)


class EncryptedJSONField(_EncryptedField):
    """A JSON object that is stored encrypted; ``{}`` is stored as an empty text."""

    empty_values = [None, "", {}, []]

    def to_text(self, value: object) -> str:
        return json.dumps(value, ensure_ascii=False) if value else ""

    def from_text(self, text: str) -> object:
        return json.loads(text) if text else {}

    def to_python(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        if value.startswith(DUMP_PREFIX):
            text = decrypt(value.removeprefix(DUMP_PREFIX), column=self._column_name())
            return self.from_text(text)
        try:
            return self.from_text(value)
        except ValueError as error:
            raise ValidationError(f"expected a JSON object, got something else: {error}") from error

    def formfield(self, **kwargs: object) -> object:
        from django.forms import JSONField  # forms are needed in the admin only

        return models.Field.formfield(self, **{"form_class": JSONField, **kwargs})
