"""A hundred kilobytes that would unpack to 40 megabytes, within every limit on sizes and on the ratio of an entry."""

import random

from making import overlapping, upload

numbers = random.Random(0)
text = bytes(numbers.choices(b"abcdefgh", k=40_000))

upload("bot.zip", overlapping((f"{number}.py" for number in range(1000)), text))
