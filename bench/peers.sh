#!/bin/sh
# Make the environment of a peer: `peers.sh diffprivlib`, `peers.sh interpret`, `peers.sh lightgbm` or `peers.sh dpmm`.
# diffprivlib 0.6.6 cannot be imported with scikit-learn 1.9. dpmm needs Python 3.10 or 3.11, and pins NumPy 1.26.
# The others can be imported with scikit-learn 1.9, but no other program here needs them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/.venv-$1"
numpy=2.4.6
case $1 in
    diffprivlib) packages="diffprivlib==0.6.6 scikit-learn==1.8.0" module=diffprivlib.models ;;
    interpret) packages="interpret-core==0.7.8 scikit-learn==1.9.1" module=interpret.privacy ;;
    lightgbm)
        packages="lightgbm==4.7.0 xgboost-cpu==3.2.0 onnxruntime==1.32.0 onnxmltools==1.16.0 treelite==4.8.1 scikit-learn==1.9.1"
        module=treelite
        ;;
    diffprivlib-linear) packages="diffprivlib==0.6.6 scikit-learn==1.7.2" module=diffprivlib.models ;;
    dpmm) packages="dpmm==0.1.9" module=dpmm.pipelines numpy=1.26.4 ;;
    *) echo "unknown peer: $1" >&2; exit 1 ;;
esac
trap 'rm -rf "$venv"; exit 1' EXIT
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check $packages "numpy==$numpy"
"$venv/bin/python" -c "import $module"
trap - EXIT
