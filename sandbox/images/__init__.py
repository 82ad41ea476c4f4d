"""The judge image's name. Its tag contains its recipe, so another checkout's image never takes the place of ours."""

import hashlib
from functools import cache
from pathlib import Path

IMAGES = "deadheat/judge:"
HASH_CHARACTERS = 12


@cache
def own_image(image: str) -> str:
    """Return the tag that this checkout's deploy/images/build gives `deadheat/judge:VARIANT`. Return any other name as
    it is, and every name where the recipe's files are not installed.
    """
    here = Path(__file__).resolve().parent
    recipes = here.parents[1] / "deploy" / "images"
    variant = image.removeprefix(IMAGES)
    lists = [recipes / f"{name}.{kind}" for kind in ("packages", "play") for name in dict.fromkeys(("core", variant))]
    sources = [recipes / "build", recipes / "play.py", *lists, here / "init.c"]
    if IMAGES + variant != image or not all(path.is_file() for path in sources):
        return image
    recipe = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return f"{image}-{recipe[:HASH_CHARACTERS]}"
