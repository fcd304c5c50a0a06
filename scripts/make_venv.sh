#!/usr/bin/env bash
# Makes a virtual environment with a Python that TensorFlow has wheels for, and installs what is asked into it.
#
#   scripts/make_venv.sh DIRECTORY MIN_MINOR MAX_MINOR PIP_ARGUMENT...
#
# A Python from 3.MIN_MINOR to 3.MAX_MINOR is looked for on PATH; the variable PYTHON names one by hand. A file
# DIRECTORY/.installed is touched at the end, so that `make` does all this once.
set -euo pipefail

directory=$1 min=$2 max=$3
shift 3

suits() { # Is "$1" a runnable Python in the range that can make environments?
  "$1" - "$min" "$max" <<'PYTHON' >/dev/null 2>&1
import sys
import ensurepip, venv
low, high = int(sys.argv[1]), int(sys.argv[2])
sys.exit(not (sys.version_info[0] == 3 and low <= sys.version_info[1] <= high))
PYTHON
}

find_python() {
  local candidates=(python3 python) minor
  for ((minor = max; minor >= min; minor--)); do candidates+=("python3.$minor"); done
  if [[ -n ${PYTHON:-} ]]; then candidates=("$PYTHON"); fi
  for candidate in "${candidates[@]}"; do
    if suits "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  {
    echo "No suitable Python was found for $directory: it needs Python 3.$min to 3.$max with the modules venv and ensurepip"
    echo "(looked at: ${candidates[*]}). Install one (on Debian or Ubuntu with its package python3-venv), or name"
    echo "one by hand:  make PYTHON=/path/to/python3.$max ..."
  } >&2
  return 1
}

python=$(find_python)
echo "Setting up $directory with $("$python" --version), this takes a few minutes the first time ..."
"$python" -m venv --clear "$directory"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$directory/bin/python" -m pip install -qq --upgrade pip
"$directory/bin/python" -m pip install -qq "$@" # warnings of the index and of the build are not the reader's
touch "$directory/.installed"
echo "$directory is ready."
