#!/bin/sh
# Lists the packages that have tests and do not contain gVisor, their tests
# included: gVisor does not build with the race detector in a useful time.
set -eu
cd "$(dirname "$0")/.."
go list -test -f '{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}' ./... |
	awk '{ seen[$1] = 1; if (/gvisor\.dev\/gvisor\//) heavy[$1] = 1 }
	     END { for (p in seen) if (!heavy[p] && p !~ /\/(e2e|archtest|bench)(\/|$)/) print p }' |
	sort
