"""What may go wrong in the back office, each with a Portuguese sentence that says what to do.

RegisterError               a request that cannot be carried out as asked
+-- NotFound                nothing has this number or code
+-- Invalid                 a value is not what the field takes
+-- Conflict                it contradicts what is registered
+-- Forbidden               this person may not do it
+-- NotBuilt                reserved by the design and not there yet
"""


class RegisterError(Exception):
    """A request that cannot be carried out as asked.

    Attributes:
        sentence: Portuguese, for the desk; without personal data.
        english: The same in English.
        code: A word that never changes, for programs.
    """

    code = "REGISTER_ERROR"

    def __init__(self, sentence: str, english: str | None = None, *, code: str | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.english = english or sentence
        if code is not None:
            self.code = code


class NotFound(RegisterError):
    """Nothing has this number or code."""

    code = "NOT_FOUND"


class Invalid(RegisterError):
    """A value is not what the field takes."""

    code = "INVALID"


class Conflict(RegisterError):
    """It contradicts what is registered."""

    code = "CONFLICT"


class Forbidden(RegisterError):
    """This person may not do it."""

    code = "FORBIDDEN"


class NotBuilt(RegisterError):
    """Reserved by the design and not there yet."""

    code = "NOT_BUILT"
