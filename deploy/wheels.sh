#!/bin/sh
# wheels.sh FOLDER [EXTRA]: writes the wheel of coscheduling into FOLDER, with the wheels that it and the extra need:
# those of this tree, and others as requirements.lock has them. Run it at the top of the source; PYTHON is the
# interpreter that they are for.
set -eu
folder=$1 wanted=coscheduling${2:+[$2]} python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pip() {
    "$work/venv/bin/pip" --quiet --disable-pip-version-check "$@"
}

$python -m venv "$work/venv"
$python deploy/locked.py "$wanted" > "$work/lock"
pip download --require-hashes --only-binary :all: --dest "$work/theirs" --requirement "$work/lock"
pip install --upgrade --no-index --find-links "$work/theirs" setuptools

sh deploy/copy-sources.sh "$work/tree"
# shellcheck disable=SC2046  # a folder in each line
pip wheel --no-deps --no-build-isolation --wheel-dir "$work/ours" $(cat "$work/tree/distributions")

# The lock has what any version of Python needs, and ours are three: of both, what is wanted here.
pip download --no-index --find-links "$work/ours" --find-links "$work/theirs" --dest "$folder" "$wanted"
