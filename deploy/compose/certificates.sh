#!/bin/sh
# Makes certificates for the pair of compose.yaml, once. Each domain gets its own certificate and key, and the
# authority's certificate. Folders: those given, else /authority, /intrepid, /eureka.
set -eu
authority=${1:-/authority} intrepid=${2:-/intrepid} eureka=${3:-/eureka}
if [ ! -e "$authority/ca.pem" ]; then
    cosched certs init "$authority" --site compose
fi
for name in intrepid eureka; do
    eval "folder=\$$name"
    if [ ! -e "$folder/$name.pem" ]; then
        cosched certs issue "$authority" "$name" --host "$name" --host localhost --out "$folder"
    fi
    cp "$authority/ca.pem" "$folder/ca.pem"
done
