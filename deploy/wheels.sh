#!/bin/sh
# wheels.sh FOLDER [EXTRA]: writes this tree's wheel into FOLDER, with the wheels that it and the extra need, in the
# versions of requirements.lock. Run it at the top of the source; PYTHON is the interpreter that they are for.
set -eu
folder=$1 extra=${2:+[$2]}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pip checks hashes only if it installs the whole lock, which has developers' tools too. So pip takes only the versions
# from it, and this script compares the hashes.
sed -n 's/^\([A-Za-z0-9][^ ]*==[^ ]*\) .*/\1/p' requirements.lock > "$work/versions"
bring() {  # FOLDER REQUIREMENT
    "$work/venv/bin/pip" --quiet --disable-pip-version-check download --only-binary :all: \
        --constraint "$work/versions" --dest "$1" "$2"
}
check() {  # WHEEL...
    for wheel; do
        hash=$(sha256sum "$wheel" | cut -d ' ' -f 1)
        grep -q "sha256:$hash" requirements.lock || { echo "${wheel##*/} is not in requirements.lock" >&2; exit 1; }
    done
}

"${PYTHON:-python3}" -m venv "$work/venv"
bring "$work/tools" setuptools
check "$work"/tools/*.whl
"$work/venv/bin/pip" --quiet --disable-pip-version-check install --no-index "$work"/tools/*.whl

# Build a copy: a build leaves folders in the tree, and would include what is in them.
mkdir "$work/tree" "$work/ours"
cp -R adapters cosched sim deploy docs pyproject.toml setup.py README.md LICENSE "$work/tree"
"$work/venv/bin/pip" --quiet --disable-pip-version-check wheel --no-deps --no-build-isolation \
    --wheel-dir "$work/ours" "$work/tree"

bring "$work/theirs" "$(echo "$work"/ours/*.whl)$extra"
rm "$work"/theirs/coscheduling-*.whl
check "$work"/theirs/*.whl
mkdir -p "$folder"
mv "$work"/ours/*.whl "$work"/theirs/*.whl "$folder"
