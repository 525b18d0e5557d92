"""All tables at once: importing a module registers its tables, so this imports every module beside it."""

import importlib
import pkgutil

from sqlalchemy import MetaData

import backoffice.persistence
from backoffice.persistence.base import Base


def all_tables() -> MetaData:
    """The metadata with every table of the back office in it."""
    for module in pkgutil.iter_modules(backoffice.persistence.__path__):
        if not module.ispkg:
            importlib.import_module(f"backoffice.persistence.{module.name}")
    return Base.metadata
