#!/bin/sh
# wheels.sh FOLDER [EXTRA]: writes the wheel of coscheduling into FOLDER, with the wheels that it and the extra need:
# those of this tree, and others in the versions of requirements.lock. Run it at the top of the source; PYTHON is the
# interpreter that they are for.
set -eu
folder=$1 extra=${2:+[$2]}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pip checks hashes only if it installs the whole lock, which has developers' tools too. So pip takes only the versions
# from it, and this script compares the hashes.
sed -n 's/^\([A-Za-z0-9][^ ]*==[^ ]*\) .*/\1/p' requirements.lock > "$work/versions"
bring() {  # FOLDER REQUIREMENT
    "$work/venv/bin/pip" --quiet --disable-pip-version-check download --only-binary :all: \
        --constraint "$work/versions" --find-links "$work/ours" --dest "$1" "$2"
}
check() {  # WHEEL...
    for wheel; do
        hash=$(sha256sum "$wheel" | cut -d ' ' -f 1)
        grep -q "sha256:$hash" requirements.lock || { echo "${wheel##*/} is not in requirements.lock" >&2; exit 1; }
    done
}

mkdir "$work/ours"
"${PYTHON:-python3}" -m venv "$work/venv"
bring "$work/tools" setuptools
check "$work"/tools/*.whl
"$work/venv/bin/pip" --quiet --disable-pip-version-check install --no-index "$work"/tools/*.whl

sh deploy/copy-sources.sh "$work/tree"
# shellcheck disable=SC2046  # a folder in each line
"$work/venv/bin/pip" --quiet --disable-pip-version-check wheel --no-deps --no-build-isolation \
    --wheel-dir "$work/ours" $(cat "$work/tree/distributions")

bring "$work/theirs" "$(echo "$work"/ours/coscheduling-*.whl)$extra"
mkdir -p "$folder"
mv "$work"/theirs/coscheduling*.whl "$folder"
check "$work"/theirs/*.whl
mv "$work"/theirs/*.whl "$folder"
