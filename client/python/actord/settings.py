"""One setting of a client, and where it comes from."""

from __future__ import annotations

import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Setting:
    value: str
    origin: str  # for messages: "tls_ca" or "$ACTORD_CLIENT_TLS_CA"

    def wrong(self, what: str) -> ValueError:
        """The error for a file whose content is wrong."""
        return ValueError(f"{self.origin}: {self.value}: {what}")

    def unreadable(self, error: OSError) -> OSError:
        """The same error, which also names the setting."""
        return OSError(error.errno, f"{self.origin} cannot be read: {error.strerror}",
                       self.value)


def find(given: str | os.PathLike[str] | None, argument: str,
         variable: str) -> Setting | None:
    """None: it is not set. An empty argument also overrides the variable."""
    if given is not None:
        value = os.fspath(given) if isinstance(given, os.PathLike) else given
        return Setting(text(value, argument), argument) if value != "" else None
    otherwise = os.environ.get(variable)
    return Setting(otherwise, f"${variable}") if otherwise else None


def text(value: object, argument: str) -> str:
    """Raises TypeError unless it is a str. The error does not repeat the value, which
    may be a token."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a str, not {type(value).__name__}")
    return value
