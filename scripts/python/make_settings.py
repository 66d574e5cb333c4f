#!/usr/bin/env python3
"""Makes repro_settings.py from the source of `repro replay`, so that both know the same settings:

    scripts/python/make_settings.py            # writes it
    scripts/python/make_settings.py --check    # ends with 1 where it is another
"""
import pathlib
import pprint
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODEL, REPLAY = (HERE.parent.parent / "src" / "train" / part for part in ("model", "replay"))
FILE = HERE / "repro_settings.py"
TEXT = '''"""What `repro replay` knows of configs; made by make_settings.py from the source of the program.

`FAMILIES`: the models. `KNOWN`: settings that are read or change no step. `UPDATES`: settings that only describe how updates
are made, which slices state themselves. `HARMLESS`: settings that change nothing at one value: where they are off (null,
false, 0, empty), some words, 1, the same number as another setting, or anything unless another setting is on.
"""

'''


def words(text):
    return re.findall(r'"([^"]*)"', text)


def lists(source):
    """The lists of texts in the source, by name."""
    found = re.findall(r"const (\w+): &\[&str\] =\s*&\[(.*?)\];", source, re.DOTALL)
    return {name: words(text) for name, text in found}


def harmless(source):
    """The settings that change nothing at one value: by name the kind, and what belongs to it."""
    table = re.search(r"const HARMLESS: [^=]*=\s*&\[(.*?)\n\];", source, re.DOTALL)[1]
    rows = re.findall(r'\(\s*"(\w+)",\s*Harmless::(\w+)(?:\((.*?)\))?,?\s*\)', table, re.DOTALL)
    values = {"Words": words, "Same": lambda text: words(text)[0], "Unless": lambda text: words(text)[0]}
    return {name: (kind, values.get(kind, lambda _: None)(rest)) for name, kind, rest in rows}


def made():
    """The text of the file."""
    settings = (REPLAY / "settings.rs").read_text("utf-8")
    models = [path.read_text("utf-8") for path in sorted(MODEL.glob("*.rs"))]
    types = {kind for text in models for kind in re.findall(r'model_type: "([^"]+)"', text)}
    own = {word for text in models for word in words(text) if re.fullmatch("repro-[a-z-]+", word)}
    known = lists(settings)
    updates = known.pop("OF_UPDATES")
    known.update((name, one) for text in models for name, one in lists(text).items() if name.startswith("READ"))
    parts = {"FAMILIES": sorted(types | own), "KNOWN": sorted({word for one in known.values() for word in one}),
             "UPDATES": updates, "HARMLESS": harmless(settings)}
    return TEXT + "\n".join(f"{name} = {pprint.pformat(part, width=120, compact=True)}" for name, part in parts.items()) + "\n"


def main():
    if "--check" not in sys.argv[1:]:
        FILE.write_text(made(), "utf-8")
    elif FILE.read_text("utf-8") != made():
        raise SystemExit(f"{FILE.name} is not what the source says; run make_settings.py")


if __name__ == "__main__":
    main()
