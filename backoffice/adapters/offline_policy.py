"""The offline policy as a TOML file: the one in the package, or another city's by path."""

import tomllib
from importlib import resources
from pathlib import Path

from backoffice.domain.offline_policy import OfflinePolicy, PolicyError, parse_policy

PACKAGED = "offline_policy.toml"


def policy_from(path: Path | None) -> OfflinePolicy:
    """The policy of a file, or the packaged one for None.

    Raises:
        PolicyError: the file cannot be read or breaks its form; the message names it.
    """
    source = resources.files("backoffice.adapters") / PACKAGED if path is None else path
    name = PACKAGED if path is None else str(path)
    try:
        return parse_policy(tomllib.loads(source.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, PolicyError) as error:
        raise PolicyError(f"{name}: {error}") from error
