#!/bin/sh
# copy-sources.sh FOLDER: copies what the distributions are built from into the new folder FOLDER, and writes into
# FOLDER/distributions where each is. A build leaves folders in its tree, and would include what is in them: so all
# builds use a copy. Run it at the top of the source.
set -eu
mkdir "$1"
cp -R CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE MANIFEST.in README.md adapters cosched deploy docs proto \
    papers pyproject.toml setup.py sim "$1"
find "$1" -name __pycache__ -type d -prune -exec rm -rf {} +
for part in sim papers; do
    cp LICENSE "$1/$part"
    echo "$1/$part"
done > "$1/distributions"
echo "$1" >> "$1/distributions"
