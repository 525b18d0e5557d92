"""Settings of the back office: environment variables `CATRACA_...`, each with a default (`docs/operating.md`).

Two addresses choose everything: without them the database is SQLite and Redis is a server of our own, both in the data
folder; with them they are PostgreSQL and a Redis that somebody else runs.
"""

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What may be set; every field is the variable `CATRACA_` with its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="CATRACA_", env_ignore_empty=True, extra="ignore")

    data_dir: Path = Field(Path("catraca-data"), description="Pasta de dados: banco, Redis, chaves, saídas.")
    database_url: str | None = Field(
        None, description="Endereço do banco de dados. Vazio: SQLite na pasta de dados."
    )
    redis_url: str | None = Field(
        None, description="Endereço do Redis. Vazio: um servidor próprio na pasta de dados."
    )
    law_file: Path | None = Field(None, description="Tabela de regras em TOML. Vazio: a de Pato Branco.")
    backoffice_host: str = Field("127.0.0.1", description="Onde a retaguarda escuta.")
    backoffice_port: int = Field(8090, ge=0, le=65535, description="Porta da retaguarda.")
    validator_host: str = Field("127.0.0.1", description="Onde o serviço de embarques escuta.")
    validator_port: int = Field(8080, ge=0, le=65535, description="Porta do serviço de embarques.")
    validator_workers: int = Field(1, ge=1, le=64, description="Processos do serviço de embarques.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="O que vai para o log: debug, info, warning ou error."
    )

    demo_clock_file: Path | None = Field(
        None, description="Só a demonstração define: o arquivo do seu relógio. Em serviço fica vazio."
    )

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: str | None) -> str | None:
        if url is not None and not re.match(r"(postgresql(\+psycopg)?|sqlite)://", url):
            raise ValueError("escreva o endereço do PostgreSQL, como postgresql://usuario@servidor/banco")
        return url

    @field_validator("redis_url")
    @classmethod
    def _known_redis(cls, url: str | None) -> str | None:
        if url is not None and not re.match(r"(rediss?|unix)://", url):
            raise ValueError(
                "escreva o endereço do Redis, como redis://servidor:6379/0, rediss:// ou unix://"
            )
        return url

    @property
    def database(self) -> str:
        """The database's address, also where none was set."""
        return self.database_url or f"sqlite:///{self.embedded_file}"

    @property
    def embedded_file(self) -> Path:
        """The file of our own SQLite."""
        return self.data_dir.absolute() / "catraca.sqlite"

    @property
    def embedded_database(self) -> bool:
        """Whether the database is our own SQLite, which migrates itself."""
        return self.database_url is None

    @property
    def keys_dir(self) -> Path:
        """Where the private halves of the city's keys lie."""
        return self.data_dir / "keys"
