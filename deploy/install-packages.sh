#!/bin/sh
# Installs Debian packages if this is permitted (root, or sudo without a password); else says what to install. It does
# not start services of these packages.
set -eu
if [ "$(id -u)" = 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root=sudo
else
    echo "please install: $*" >&2
    exit 1
fi
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '$as_root rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
fi
$as_root apt-get update -qq
# Nothing is asked, so nothing is lost where debconf cannot ask beforehand, of which it would warn.
$as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
