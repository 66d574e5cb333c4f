"""What the reference trainers of this folder share: their arguments, their text, and where the recorder lies."""
import argparse
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))


def parser_of(description, **defaults):
    """The arguments of all of them, with these defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--text", type=pathlib.Path, required=True, help="the text, read as bytes")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the bundle is made")
    parser.add_argument("--name", required=True, help="the name of the run and of its folder")
    parser.add_argument("--hidden", type=int, default=32, help="width of the model")
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=32, help="tokens of a row")
    parser.add_argument("--rows", type=int, default=4, help="rows of a micro-batch")
    parser.add_argument("--vocabulary", type=int, default=256, help="at least 256, as tokens are bytes")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--slice", action="append", metavar="K:N", default=[], help="keep the N updates from update K")
    parser.add_argument("--micro", type=int, default=1, help="micro-batches of an update")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.set_defaults(**defaults)
    return parser


def begin(parser):
    """The arguments as they were given, with `slices` as pairs; threads and seed are set."""
    chosen = parser.parse_args()
    chosen.slices = [tuple(map(int, text.split(":"))) for text in chosen.slice]
    torch.set_num_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    return chosen


def text_of(chosen):
    """The text as tokens, one for each byte."""
    return torch.frombuffer(bytearray(chosen.text.read_bytes()), dtype=torch.uint8).long()


def batches(chosen):
    """Without end: inputs and the token after each, (rows, length), from places of the text that the seed draws."""
    text, order = text_of(chosen), torch.Generator().manual_seed(chosen.seed)
    while True:
        starts = torch.randint(len(text) - chosen.length, (chosen.rows,), generator=order)
        rows = torch.stack([text[start:start + chosen.length + 1] for start in starts])
        yield rows[:, :-1], rows[:, 1:]
