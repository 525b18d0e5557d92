"""A holder: a person's rights and purses, without any name."""

from dataclasses import dataclass

from validator.domain.city import LawOfDay
from validator.domain.purses import Purse
from validator.domain.reasons import Reason
from validator.domain.rights import AgeRight, Right, refusal_of
from validator.domain.vocabulary import AGE_RIGHTS, Category, Product


@dataclass(frozen=True, slots=True)
class Holder:
    """A person's rights and purses, without any name: registered rights, rights of age, and passes."""

    rights: tuple[Right, ...] = ()
    ages: tuple[AgeRight, ...] = ()
    purses: tuple[Purse, ...] = ()

    def has(self, category: Category, law: LawOfDay) -> bool:
        """Whether a category is an option of this holder; a right of age is one only while the age test holds."""
        if category in AGE_RIGHTS:
            return self._of_age(category, law)
        return any(right.category is category for right in self.rights)

    def refusal_of_right(self, category: Category, law: LawOfDay) -> Reason | None:
        """Why an option's right does not hold on the day; None when it does."""
        if category in AGE_RIGHTS:
            return None if self._of_age(category, law) else Reason.RIGHT_ENDED
        return refusal_of((right for right in self.rights if right.category is category), law.day)

    def purses_of(self, product: Product) -> list[Purse]:
        """The purses of one product, over all networks."""
        return [purse for purse in self.purses if purse.product is product]

    def _of_age(self, category: Category, law: LawOfDay) -> bool:
        return any(age.category is category and age.period.holds_on(law.day) for age in self.ages)


NOBODY = Holder()
