#!/usr/bin/env python3
"""Makes repro_receipts/_settings.py of what `repro explain --list settings` says, so that both know the same settings:

    cargo run --release -- list settings --format json | scripts/python/make_settings.py            # writes it
    cargo run --release -- list settings --format json | scripts/python/make_settings.py --check    # ends with 1 where it is another
"""
import json
import pathlib
import pprint
import sys

FILE = pathlib.Path(__file__).resolve().parent / "repro_receipts" / "_settings.py"
TEXT = '''"""What `repro replay` knows of configs; made by make_settings.py from `repro explain --list settings`.

`READ`: by model, the settings that are read of it. `KNOWN`: those that are read of all models, or change no step. `UPDATES`:
those that only describe how updates are made, which slices state. `HARMLESS`: those that change nothing at one value: `off`
(null, false, 0, empty), `on`, `one`, some `words`, the `same` number as another setting, or anything `unless` another is on.
`ANGLES`: by `rope_type`, what is read of a table of rotary angles.
"""

'''


def made(settings):
    """The text of the file."""
    by_role = lambda *roles: [one["name"] for one in settings if one.get("role") in roles]
    read = {model: [one["name"] for one in settings if model in one["models"] and "angles" not in one]
            for model in sorted({model for one in settings for model in one["models"]})}
    harmless = {one["name"]: (one["harmless"]["kind"], one["harmless"]["words"]) for one in settings if "harmless" in one}
    nested = [(one["name"].rpartition(".")[2], one["angles"]) for one in settings if "angles" in one]
    angles = {kind: [name for name, kinds in nested if kind in kinds] for kind in sorted({k for _, ks in nested for k in ks})}
    parts = {"READ": read, "KNOWN": by_role("read", "without-effect"), "UPDATES": by_role("of-updates"), "HARMLESS": harmless,
             "ANGLES": angles}
    return TEXT + "\n".join(f"{name} = {pprint.pformat(part, width=120, compact=True)}" for name, part in parts.items()) + "\n"


def main():
    text = made(json.load(sys.stdin))
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text, "utf-8")
    elif FILE.read_text("utf-8") != text:
        raise SystemExit(f"{FILE.name} is not what the program says; run make_settings.py")


if __name__ == "__main__":
    main()
