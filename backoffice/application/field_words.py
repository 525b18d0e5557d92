"""What a field that cannot be read should hold, in Portuguese, by the kind of fault that the parser names.

The parser's own sentences are English; neither the API nor the command line shows them to a Portuguese reader.
"""

from collections.abc import Mapping
from typing import Any

_SENTENCES = {
    "missing": "falta este campo",
    "extra_forbidden": "este campo não existe",
    "json_invalid": "o corpo não é JSON",
    "string_type": "envie um texto",
    "int_type": "envie um número inteiro, sem aspas",
    "int_parsing": "envie um número inteiro",
    "int_parsing_size": "o número é grande demais",
    "int_from_float": "envie um número inteiro, sem casas decimais",
    "float_parsing": "envie um número",
    "float_type": "envie um número",
    "finite_number": "envie um número finito",
    "bool_type": "envie true ou false",
    "bool_parsing": "envie true ou false",
    "list_type": "envie uma lista",
    "dict_type": "envie um objeto JSON, com campos entre chaves",
    "model_type": "envie um objeto JSON, com campos entre chaves",
    "model_attributes_type": "envie um objeto JSON, com campos entre chaves",
    "uuid_type": "envie um UUID, como 0193c0de-7b0a-7000-8000-000000000001",
    "uuid_parsing": "envie um UUID, como 0193c0de-7b0a-7000-8000-000000000001",
    "greater_than": "o valor tem de ser maior que {gt}",
    "greater_than_equal": "o valor mínimo é {ge}",
    "less_than": "o valor tem de ser menor que {lt}",
    "less_than_equal": "o valor máximo é {le}",
    "string_too_short": "são necessários ao menos {min_length} caracteres",
    "string_too_long": "cabem no máximo {max_length} caracteres",
    "too_short": "são necessários ao menos {min_length} itens ou caracteres",
    "too_long": "cabem no máximo {max_length} itens ou caracteres",
    "string_pattern_mismatch": "o texto não tem a forma {pattern}",
    "enum": "envie um de: {expected}",
    "literal_error": "envie um de: {expected}",
}

UNREAD = "o valor não tem a forma que o campo aceita; veja a documentação do campo"
"""Of a kind of fault that nobody has foreseen."""


def field_fault(kind: str, context: Mapping[str, Any]) -> str:
    """The sentence for a kind of fault. The value that was sent is never repeated: it may be personal."""
    sentence = _SENTENCES.get(kind, UNREAD)
    words = {name: str(value) for name, value in context.items()}
    if "expected" in words:
        words["expected"] = words["expected"].replace(" or ", " ou ")
    try:
        return sentence.format(**words)
    except KeyError:
        return UNREAD
