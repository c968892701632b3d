"""A hook that masks the numbers of payment cards in what backends return."""

import re

from mcpedge.capability.hook import Call, Hook, Outcome, map_texts

DIGITS = re.compile(r"\b[0-9](?:[ -]?[0-9]){12,18}\b")

hook = Hook("cards")


def mask(text: str) -> str:
    """Replaces the numbers of cards, except for their last four digits. A number of a card has a valid check digit (Luhn)."""

    def one(found: "re.Match[str]") -> str:
        digits = [int(d) for d in found[0] if d.isdigit()]
        odd, even = digits[-1::-2], digits[-2::-2]
        if (sum(odd) + sum(sum(divmod(2 * d, 10)) for d in even)) % 10:
            return found[0]
        return f"[card …{''.join(map(str, digits[-4:]))}]"

    return DIGITS.sub(one, text)


@hook.result
def mask_cards(call: Call, out: Outcome) -> None:
    map_texts(out, mask)


if __name__ == "__main__":
    hook.run()
