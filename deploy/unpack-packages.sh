#!/bin/sh
# Unpacks Debian packages into a folder: unpack-packages.sh FOLDER PACKAGE... Nothing is installed, and nothing starts.
set -eu
folder=$1
shift
if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
fi
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
(cd "$fetched" && apt-get download -qq -o APT::Sandbox::User=root "$@" >/dev/null)
mkdir -p "$folder"
for package in "$fetched"/*.deb; do
    dpkg -x "$package" "$folder"
done
