"""PyYAML at its fastest: libyaml's loader and dumper, no garbage collector."""

import gc
import sys

gc.disable()

import yaml  # noqa: E402
from objects import edit  # type: ignore[import-not-found]  # noqa: E402

data = yaml.load(sys.stdin.buffer, Loader=yaml.CSafeLoader)
edit(data["items"])
yaml.dump(data, sys.stdout, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
