#!/bin/sh
# Says in one clear sentence what this machine lacks for a make target.
#   check.sh build    to compile
#   check.sh sandbox  to run real sandboxes (demo, bench)
#   check.sh race     to run tests under the race detector
#   check.sh readers  to read event streams through nginx, curl and Chromium
# Disk figures are measured: see README.md, "What the first build costs".
set -eu
cd "$(dirname "$0")/.."

cold_mb=${PADDOCK_CHECK_COLD_MB:-3000} # modules, build cache and binaries of a first build
warm_mb=500                            # of a later one

lack() { echo "paddock: $*" >&2; exit 1; }

free_mb() { # of the nearest folder that exists
	dir=$1
	while [ ! -d "$dir" ]; do dir=$(dirname "$dir"); done
	df -Pm "$dir" | awk 'NR == 2 { print $4 }'
}

check_go() {
	want=$(awk '$1 == "go" { print $2 }' go.mod)
	command -v go >/dev/null || lack "Go $want or newer is needed and 'go' is not on the PATH; get it from https://go.dev/dl."
	have=$(go env GOVERSION 2>/dev/null) || lack "this Go ($(GOTOOLCHAIN=local go env GOVERSION)) is older than the $want that go.mod asks for and could not fetch a newer one; install Go $want from https://go.dev/dl."
	have=${have#go}
	oldest=$(printf '%s\n%s\n' "$want" "${have%% *}" | sort -V | head -n 1)
	[ "$oldest" = "$want" ] || lack "Go $want or newer is needed, this is Go $have; get it from https://go.dev/dl."
}

check_disk() {
	need=$warm_mb
	[ -d "$(go env GOMODCACHE)/gvisor.dev" ] && [ -x bin/paddock ] || need=$cold_mb
	for dir in "$(go env GOCACHE)" "$(go env GOMODCACHE)" "$PWD"; do
		have=$(free_mb "$dir")
		[ "$have" -ge "$need" ] || lack "the build needs $need MB of disk at $dir and $have MB are free."
	done
}

check_build() {
	[ "$(uname -s)" = Linux ] || lack "Paddock runs on Linux; this is $(uname -s)."
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) lack "Paddock runs on x86_64 (and compiles for aarch64); this is $(uname -m)." ;;
	esac
	check_go
	check_disk
}

check_sandbox() {
	check_build
	oldest=$(printf '%s\n5.4\n' "$(uname -r)" | sort -V | head -n 1)
	[ "$oldest" = 5.4 ] || lack "sandboxes need Linux 5.4 or newer; this is $(uname -r)."
	[ "$(id -u)" = 0 ] || lack "sandboxes need root here; run the same command after: sudo -E env \"PATH=\$PATH\""
	[ "$(uname -m)" = x86_64 ] || lack "sandboxes are tried on x86_64 only so far; this is $(uname -m)."
}

check_race() {
	check_build
	command -v gcc >/dev/null && return
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
		lack "the race detector needs a C compiler: install gcc and libc6-dev."
	echo "paddock: installing gcc and libc6-dev (for the race detector)"
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null
}

check_readers() {
	absent=
	for program in nginx curl chromium; do
		command -v $program >/dev/null || absent="$absent $program"
	done
	[ -n "$absent" ] || return 0
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || lack "the tests of event streams need:$absent."
	echo "paddock: installing$absent (to read event streams in tests; Debian may start its nginx)"
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $absent >/dev/null
}

case ${1:-} in
build | sandbox | race | readers) "check_$1" ;;
*) lack "usage: scripts/check.sh build|sandbox|race|readers" ;;
esac
