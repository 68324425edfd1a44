#!/bin/sh
# dist.sh FOLDER: writes the source distributions of this tree, and the wheels made from them, into FOLDER, and checks
# all. Run it at the top of the source; PYTHON is an interpreter that has pip and setuptools.
set -eu
folder=$1 python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh deploy/copy-sources.sh "$work/tree"
mkdir "$work/made"

echo "dist: the source distributions"
while read -r tree; do
    (cd "$tree" && "$python" -c 'import sys, setuptools.build_meta as build; build.build_sdist(sys.argv[1])' \
        "$work/made" >/dev/null)
done < "$work/tree/distributions"
echo "dist: the wheels, from the source distributions"
"$python" -m pip --quiet --disable-pip-version-check wheel --no-deps --no-build-isolation --wheel-dir "$work/made" \
    "$work"/made/*.tar.gz

echo "dist: the wheel of the service works in an environment of its own, then all together"
sed -n 's/^\([A-Za-z0-9][^ ]*==[^ ]*\) .*/\1/p' requirements.lock > "$work/versions"
"$python" -m venv "$work/venv"
pip="$work/venv/bin/pip --quiet --disable-pip-version-check"
$pip install --constraint "$work/versions" "$work"/made/coscheduling-*.whl
$pip check
(cd "$work" && venv/bin/cosched --version && venv/bin/cosched files files) >/dev/null
$pip install --constraint "$work/versions" "$work"/made/*.whl
$pip check
(cd "$work" && venv/bin/cosched trace generate eureka --days 1 eureka.swf) >/dev/null

mkdir -p "$folder"
mv "$work"/made/* "$folder"
ls "$folder"/coscheduling*
