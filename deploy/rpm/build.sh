#!/bin/sh
# build.sh FOLDER [EXTRA]: writes the RPM package of this tree into FOLDER. Run it at the top of the source, on the
# release that the package is for, since the package uses this release's Python. It needs rpmbuild, and no root.
set -eu
folder=$1 extra=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^VERSION = "\(.*\)"$/\1/p' cosched/version.py)

mkdir -p "$work/SOURCES" "$folder"
sh deploy/copy-sources.sh "$work/cosched-$version"
cp requirements.lock "$work/cosched-$version"
tar -czf "$work/SOURCES/cosched-$version.tar.gz" -C "$work" "cosched-$version"
rpmbuild -bb --quiet --define "_topdir $work" --define "cosched_version $version" \
    --define "python ${PYTHON:-/usr/bin/python3}" ${extra:+--define "extra $extra"} deploy/rpm/cosched.spec >&2
mv "$work"/RPMS/*/*.rpm "$folder"
ls "$folder/cosched-$version"-*.rpm
