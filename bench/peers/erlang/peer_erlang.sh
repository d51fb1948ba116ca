#!/bin/sh
# Starts peer_erlang on CORES schedulers:  peer_erlang BENCH N [CORES]  |  --list  |  --version
cores=${3:-1}
case $cores in
    '' | *[!0-9]*) echo "peer_erlang: CORES must be a positive whole number" >&2; exit 2 ;;
esac
exec erl -noshell +S "$cores:$cores" +P 4194304 -kernel logger_level none \
    -pa "$(dirname "$0")/erlang" -s peer_erlang main -extra "$@"
