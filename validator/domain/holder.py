"""A holder: a person's rights and purses, without any name."""

from dataclasses import dataclass

from validator.domain.city import LawOfDay
from validator.domain.purses import Purse
from validator.domain.reasons import Reason
from validator.domain.rights import AgeRight, Right, refusal_of
from validator.domain.vocabulary import AGE_RIGHTS, RIGHTS_IN_ORDER, Category, Product


@dataclass(frozen=True, slots=True)
class Holder:
    """A person's rights and purses, without any name: registered rights, rights of age, and passes."""

    rights: tuple[Right, ...] = ()
    ages: tuple[AgeRight, ...] = ()
    purses: tuple[Purse, ...] = ()

    def rights_on(self, law: LawOfDay) -> list[Category]:
        """The rights that are options of this holder, best first; one of age only while the age test holds."""
        if not self.rights and not self.ages:
            return []
        found = [right.category for right in self.rights if right.category not in AGE_RIGHTS]
        found += [age.category for age in self.ages if age.period.holds_on(law.day)]
        return found if len(found) < 2 else sorted(set(found), key=_RANK.__getitem__)

    def refusal_of_right(self, category: Category, law: LawOfDay) -> Reason | None:
        """Why one of `rights_on` does not hold on the day; None when it does."""
        if category in AGE_RIGHTS:
            return None
        return refusal_of([right for right in self.rights if right.category is category], law.day)

    def purses_of(self, product: Product) -> tuple[Purse, ...]:
        """The purses of one product, over all networks."""
        purses = self.purses
        if len(purses) == 1:
            return purses if purses[0].product is product else ()
        return tuple([purse for purse in purses if purse.product is product])


_RANK = {category: rank for rank, category in enumerate(RIGHTS_IN_ORDER)}

NOBODY = Holder()
