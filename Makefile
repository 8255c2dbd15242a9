# Every target works from a fresh clone and does its own set-up.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-builtin-rules
.DEFAULT_GOAL := help

# The compiled sandbox runtime (minutes) is cached by these: never vary them.
export CGO_ENABLED := 0
# The version comes from below; asking git again fails where the clone is another user's.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

ARCH     := $(shell go env GOARCH 2>/dev/null)
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GVISOR    = $(shell go list -m -f '{{.Version}}' gvisor.dev/gvisor)
LDFLAGS   = -s -w -X main.version=$(VERSION) -X gvisor.dev/gvisor/runsc/version.version=$(GVISOR)
EMBEDDED := internal/embedded/bin
TESTFLAGS ?=
BENCH     ?=

.PHONY: help check build readers dist generate codegen programs test vet format arch race demo real-agents bench crashes arm64 generated verify clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: ## say what this machine lacks to build
	@scripts/check.sh build

build: programs ## compile bin/paddock (the first time takes minutes: see README.md)
	@echo "compiling bin/paddock $(VERSION)"
	@go build -ldflags "$(LDFLAGS)" -o bin/paddock ./cmd/paddock

dist: build ## pack for others: dist/ with a tar, a Debian package and their checksums
	@rm -rf dist
	@scripts/dist.sh bin/paddock "$(VERSION)" "$(ARCH)" dist

generate: programs codegen ## make all that is made: the programs inside a sandbox, code from api/openapi.yaml

programs: check
	@mkdir -p $(EMBEDDED)/linux_$(ARCH)
	@go build -ldflags "-s -w" -o $(EMBEDDED)/linux_$(ARCH)/ ./cmd/paddock-guest ./cmd/paddock-demo-agent

codegen: check
	@{ grep -rl --include='*.go' '^//go:generate ' . || true; } | xargs -r -n1 dirname | sort -u | \
	while read -r dir; do echo "go generate $$dir"; go generate "$$dir"; done

test: export PADDOCK_BIN = $(CURDIR)/bin/paddock
test: build vet ## vet, then all tests; sandbox tests need root, else they are skipped and counted
	@go test -count=1 -timeout 75m $(TESTFLAGS) -json ./... | go run ./internal/testreport

readers: ## install nginx, curl and Chromium, through which tests read event streams (Debian, root)
	@scripts/check.sh readers

vet: programs ## go vet
	@go vet ./...

format: check ## fail when a file is not formatted by gofmt
	@bad=$$("$$(go env GOROOT)/bin/gofmt" -l .); [ -z "$$bad" ] || { echo "not formatted by gofmt:"; echo "$$bad"; exit 1; }

arch: check ## test the shape: layers, file sizes, what is inside the guest
	@go test -count=1 ./internal/archtest

race: programs ## tests under the race detector, of packages that do not contain gVisor
	@scripts/check.sh race
	@packages=$$(scripts/race-packages.sh); CGO_ENABLED=1 go test -race -count=1 -timeout 15m $$packages

demo: ## see a session live: two turns, a pause, a killed server, all asserted
	@scripts/check.sh sandbox
	@$(MAKE) --no-print-directory build
	@bin/paddock demo

real-agents: export PADDOCK_BIN = $(CURDIR)/bin/paddock
real-agents: ## one turn with a real model per agent whose key is in the environment; the others are said not to be run
	@scripts/check.sh sandbox
	@$(MAKE) --no-print-directory build
	@PADDOCK_REAL_AGENTS=1 go test -count=1 -v -run '^TestRealKeys$$' ./e2e

bench: ## measure: verbs, 300 sessions, work beside runc and the host (one part: BENCH="-only work")
	@scripts/check.sh sandbox
	@$(MAKE) --no-print-directory build
	@go run ./bench $(BENCH)

crashes: export PADDOCK_BIN = $(CURDIR)/bin/paddock
crashes: ## under load, kill the server at every failpoint and at 200 random moments, 42 sandboxes, and reboot 12 times
	@scripts/check.sh sandbox
	@$(MAKE) --no-print-directory build
	@cd e2e && PADDOCK_CRASHES=$${PADDOCK_CRASHES:-200} go test -count=1 -timeout 60m -v -run 'UnderLoad$$' .

arm64: check ## compile for linux/arm64
	@GOARCH=arm64 go build -ldflags "-s -w" -o $(EMBEDDED)/linux_arm64/ ./cmd/paddock-guest ./cmd/paddock-demo-agent
	@GOARCH=arm64 go build -o /dev/null ./cmd/paddock

generated: codegen ## fail when committed generated code is not what the sources make
	@git rev-parse --git-dir >/dev/null || { echo "paddock: only a git clone can tell what is committed"; exit 1; }
	@changed=$$(git status --porcelain -- $$(git ls-files '*.gen.go' '*/gen/*.go')); \
	[ -z "$$changed" ] || { echo "generated code is out of date: run make generate and commit"; echo "$$changed"; exit 1; }

verify: format vet arch generated arm64 test race demo ## everything, in the order in which it fails fastest

clean: ## remove what make made here (not Go's caches)
	rm -rf bin dist $(EMBEDDED)/*/paddock-*
