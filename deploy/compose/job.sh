#!/bin/sh
#COSCHED --nodes=2 --time=5 --chdir=/tmp
date "+%T.%N: $COSCHED_DOMAIN:$COSCHED_JOB_ID started with $COSCHED_MATE"
sleep 5
