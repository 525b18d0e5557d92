"""Settings of the validator service: environment variables `CATRACA_...`, each with a default (`docs/operating.md`)."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What may be set; every field is the variable `CATRACA_` with its name in capitals."""

    model_config = SettingsConfigDict(env_prefix="CATRACA_", env_ignore_empty=True, extra="ignore")

    redis_url: str = Field(
        "redis://127.0.0.1:6379/0",
        description="Endereço do Redis: redis://, rediss:// (TLS) ou unix://.",
    )
    redis_timeout_ms: int = Field(
        200, ge=10, le=5_000, description="Espera máxima por uma ida e volta ao Redis, em milissegundos."
    )
    redis_reconnect_ms: int = Field(
        100, ge=10, le=60_000, description="Pausa entre tentativas de conexão ao Redis, em milissegundos."
    )
    redis_lanes: int = Field(
        2,
        ge=1,
        le=64,
        description="Conexões ao Redis em cada processo: toques na primeira, lotes na menos ocupada.",
    )
    redis_cycle_taps: int = Field(
        125, ge=1, le=125, description="Máximo de toques em uma chamada de script ao Redis."
    )
    redis_attempts: int = Field(
        10, ge=1, le=100, description="Quantas vezes um toque é decidido de novo sob disputa, antes do 503."
    )
    max_taps_in_flight: int = Field(
        512, ge=1, le=100_000, description="Toques em andamento em cada processo; além deles, 503 na hora."
    )
    max_wait_ms: int = Field(
        150,
        ge=10,
        le=60_000,
        description="Enquanto um toque esperar mais que isto, em milissegundos, os novos recebem 503 na hora.",
    )
    max_batches_in_flight: int = Field(
        8, ge=1, le=1_000, description="Lotes em andamento em cada processo; além deles, 503 na hora."
    )
    city_poll_ms: int = Field(
        250, ge=10, le=60_000, description="Intervalo entre leituras da cidade publicada, em milissegundos."
    )
    body_timeout_ms: int = Field(
        10_000, ge=100, le=600_000, description="Espera máxima pelo corpo de um pedido, em milissegundos."
    )
    response_timeout_ms: int = Field(
        10_000,
        ge=100,
        le=600_000,
        description="Espera máxima por um cliente que não lê a resposta, em milissegundos.",
    )
    keep_alive_s: int = Field(
        300, ge=1, le=86_400, description="Quanto tempo uma conexão sem pedidos fica aberta, em segundos."
    )
    max_connections: int = Field(
        10_000,
        ge=1,
        le=1_000_000,
        description="Conexões abertas em cada processo; além delas, fecha na hora.",
    )
    drain_ms: int = Field(
        10_000, ge=1_000, le=600_000, description="Quanto tempo o que está em andamento tem ao encerrar."
    )
    worker_hung_s: int = Field(
        30, ge=2, le=3_600, description="Depois de quantos segundos um processo que não reage é reiniciado."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="O que vai para o log: debug, info, warning ou error."
    )
    boarding_log: bool = Field(True, description="Uma linha de log por embarque, sem dado pessoal.")
    demo_clock_offset_seconds: float = Field(
        0.0, description="Só para demonstrações: desvio do relógio do serviço, em segundos."
    )
    demo_clock_file: Path | None = Field(
        None, description="Só para demonstrações: arquivo de 8 bytes com o instante do serviço."
    )


_FAULTS = {
    "int_parsing": "não é um número inteiro",
    "bool_parsing": "não é verdadeiro (1) nem falso (0)",
    "greater_than_equal": "é menor que {ge}",
    "less_than_equal": "é maior que {le}",
    "literal_error": "não é um destes: {expected}",
}


def faults_of(error: ValidationError) -> list[str]:
    """A line for each setting that cannot be read, in Portuguese; never its value, which may hold a password."""
    lines = []
    for fault in error.errors():
        name = str(fault["loc"][0])
        said = _FAULTS.get(fault["type"], "não é um valor aceito").format(**fault.get("ctx", {}))
        lines.append(f"CATRACA_{name.upper()} {said}. {Settings.model_fields[name].description}")
    return lines
