#!/bin/sh
# build.sh FOLDER [EXTRA]: writes the Debian package of this tree into FOLDER. Run it at the top of the source, on the
# release of Debian that the package is for, since the package uses this release's Python. It needs no root.
set -eu
umask 022
folder=$1 extra=${2:-}
here=deploy/debian python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

PYTHON=$python sh deploy/stage.sh "$root" "$extra"

echo "deb: the package"
install -d "$root/DEBIAN" "$folder"
install -m 0755 $here/postinst $here/prerm $here/postrm "$root/DEBIAN/"
version=$("$python" -c 'from cosched.version import VERSION; print(VERSION)')
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$(dpkg --print-architecture)/" \
    -e "s/@PYTHON@/$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])')/" \
    -e "s/@NEXT_PYTHON@/$($python -c 'import sys; print("%d.%d" % (3, sys.version_info[1] + 1))')/" \
    $here/control > "$root/DEBIAN/control"
(cd "$root" && find opt usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$root" "$folder" >/dev/null
echo "$folder/cosched_${version}_$(dpkg --print-architecture).deb"
