#!/bin/sh
# Make the peers' environment: diffprivlib 0.6.6 cannot be imported beside scikit-learn 1.9, so it gets one of its own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/.venv-diffprivlib"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check diffprivlib==0.6.6 scikit-learn==1.8.0 numpy==2.4.6
"$venv/bin/python" -c "import diffprivlib.models"
