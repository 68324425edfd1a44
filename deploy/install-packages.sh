#!/bin/sh
# Installs Debian packages where that is permitted (root, or sudo without a password); else says what to install.
set -eu
if [ "$(id -u)" = 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root=sudo
else
    echo "please install: $*" >&2
    exit 1
fi
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
