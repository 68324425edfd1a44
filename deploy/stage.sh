#!/bin/sh
# stage.sh ROOT [EXTRA]: puts the files of a Debian or RPM package under ROOT: /opt/cosched with all Python packages,
# the command, the unit, and the files of `cosched files`. Run it at the top of the source; PYTHON is the Python that
# the package uses.
set -eu
umask 022
root=$1 extra=${2:-} python=${PYTHON:-/usr/bin/python3}
venv=$root/opt/cosched
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "stage: wheels, as requirements.lock has them"
PYTHON=$python sh deploy/wheels.sh "$work/wheels" "$extra"

echo "stage: /opt/cosched"
$python -m venv "$venv"
"$venv/bin/pip" --quiet --disable-pip-version-check install --no-index --find-links "$work/wheels" --no-compile \
    "coscheduling${extra:+[$extra]}"
"$venv/bin/pip" --quiet --disable-pip-version-check uninstall --yes setuptools
"$venv/bin/cosched" files "$root/usr/share/cosched" >/dev/null
find "$venv" -name __pycache__ -type d -prune -exec rm -rf {} +
grep -rlI "$root" "$venv/bin" "$venv/pyvenv.cfg" | xargs sed -i "s|$root||g"  # the path of the build
$python -m compileall -q -s "$root" "$venv/lib"

install -d "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/etc/cosched/tls"
ln -s /opt/cosched/bin/cosched "$root/usr/bin/cosched"
install -m 0644 deploy/cosched@.service "$root/usr/lib/systemd/system/"
