#!/usr/bin/env bash
# Builds the wheel, unpacks it into a scratch folder and uses it from outside the checkout.
#
#   scripts/check_wheel.sh PYTHON
#
# PYTHON is one whose environment has the dependencies; its own (editable) symgrad must not be what is imported.
set -euo pipefail

python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$python" -m build --wheel --outdir "$scratch/dist" . >"$scratch/build.log" 2>&1 || { cat "$scratch/build.log" >&2; exit 1; }
"$python" -m pip install -qq --no-deps --target "$scratch/site" "$scratch"/dist/*.whl
cd "$scratch"
PYTHONPATH="$scratch/site" TF_CPP_MIN_LOG_LEVEL=2 "$python" - "$scratch/site" <<'PYTHON'
import importlib
import importlib.metadata
import pathlib
import sys

import symgrad

site = pathlib.Path(sys.argv[1])
home = pathlib.Path(symgrad.__file__).resolve()
assert home.is_relative_to(site.resolve()), f"symgrad came from {home}, not from the wheel"
assert importlib.metadata.version("symgrad") == symgrad.__version__
for shipped in ("py.typed", "__init__.pyi", "_picture/viewer/page.html", "_picture/viewer/main.mjs"):
    assert (home.parent / shipped).exists(), f"the wheel lacks symgrad/{shipped}"
assert not (site / "tests").exists(), "the wheel ships the tests"
for name in symgrad.__all__:
    getattr(symgrad, name)
for module in sorted(home.parent.rglob("*.py")):
    importlib.import_module(".".join(("symgrad", *module.relative_to(home.parent).with_suffix("").parts)).removesuffix(".__init__"))
print(f"The wheel of symgrad {symgrad.__version__} imports, all its modules and names.")
PYTHON
