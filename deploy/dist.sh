#!/bin/sh
# dist.sh FOLDER: writes the source distribution of this tree, and the wheel made from it, into FOLDER, and checks both.
# Run it at the top of the source; PYTHON is an interpreter that has pip and setuptools.
set -eu
folder=$1 python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Build a copy: a build leaves folders in the tree, and would include what is in them.
mkdir "$work/tree" "$work/made"
cp -R CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE MANIFEST.in README.md adapters cosched deploy docs proto \
    pyproject.toml setup.py sim "$work/tree"

echo "dist: the source distribution"
(cd "$work/tree" && "$python" - "$work/made" <<'BUILD' >/dev/null
import sys
from setuptools.build_meta import build_sdist
build_sdist(sys.argv[1])
BUILD
)
echo "dist: the wheel, from the source distribution"
"$python" -m pip --quiet --disable-pip-version-check wheel --no-deps --no-build-isolation --wheel-dir "$work/made" \
    "$work"/made/*.tar.gz

echo "dist: the wheel works in an environment of its own"
sed -n 's/^\([A-Za-z0-9][^ ]*==[^ ]*\) .*/\1/p' requirements.lock > "$work/versions"
"$python" -m venv "$work/venv"
pip="$work/venv/bin/pip --quiet --disable-pip-version-check"
$pip install --constraint "$work/versions" "$work"/made/*.whl
$pip check
(cd "$work" && venv/bin/cosched --version && venv/bin/cosched files files) >/dev/null

mkdir -p "$folder"
mv "$work"/made/* "$folder"
ls "$folder"/coscheduling-*
