"""ruamel.yaml's round trip, which keeps comments."""

import gc
import sys

gc.disable()

from objects import edit  # type: ignore[import-not-found]  # noqa: E402
from ruamel.yaml import YAML  # type: ignore[import-not-found]  # noqa: E402

yaml = YAML(typ="rt")
yaml.preserve_quotes = True
yaml.width = 100_000
data = yaml.load(sys.stdin.buffer)
edit(data["items"])
yaml.dump(data, sys.stdout)
