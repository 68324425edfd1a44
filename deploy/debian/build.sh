#!/bin/sh
# build.sh FOLDER [EXTRA]: writes the Debian package of this tree into FOLDER. Run it at the top of the source, on the
# release of Debian that the package is for, since the package uses this release's Python. It needs no root.
set -eu
umask 022
folder=$1 extra=${2:-}
here=deploy/debian python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root venv=$work/root/opt/cosched

echo "deb: wheels, as requirements.lock has them"
PYTHON=$python sh deploy/wheels.sh "$work/wheels" "$extra"

echo "deb: /opt/cosched"
$python -m venv "$venv"
"$venv/bin/pip" --quiet --disable-pip-version-check install --no-index --find-links "$work/wheels" --no-compile \
    "coscheduling${extra:+[$extra]}"
"$venv/bin/pip" --quiet --disable-pip-version-check uninstall --yes setuptools
"$venv/bin/cosched" files "$root/usr/share/cosched" >/dev/null
find "$venv" -name __pycache__ -type d -prune -exec rm -rf {} +
grep -rlI "$root" "$venv/bin" "$venv/pyvenv.cfg" | xargs sed -i "s|$root||g"  # the path of the build
$python -m compileall -q -s "$root" "$venv/lib"

echo "deb: the package"
install -d "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/etc/cosched/tls" "$root/DEBIAN" "$folder"
ln -s /opt/cosched/bin/cosched "$root/usr/bin/cosched"
install -m 0644 deploy/cosched@.service "$root/usr/lib/systemd/system/"
install -m 0755 $here/postinst $here/prerm $here/postrm "$root/DEBIAN/"
version=$("$python" -c 'from cosched.version import VERSION; print(VERSION)')
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$(dpkg --print-architecture)/" \
    -e "s/@PYTHON@/$($python -c 'import sys; print("%d.%d" % sys.version_info[:2])')/" \
    -e "s/@NEXT_PYTHON@/$($python -c 'import sys; print("%d.%d" % (3, sys.version_info[1] + 1))')/" \
    $here/control > "$root/DEBIAN/control"
(cd "$root" && find opt usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$root" "$folder" >/dev/null
echo "$folder/cosched_${version}_$(dpkg --print-architecture).deb"
