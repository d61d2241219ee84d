GO ?= go
BENCHTIME ?= 1s
FUZZTIME ?= 10s
SEED ?= 1
# The race detector needs a C compiler; without one the tests run without it.
RACE := $(shell command -v "$$($(GO) env CC)" >/dev/null 2>&1 && echo -race)
# A program with the race detector sleeps for a second before it exits, for reports that
# are being written. The tests start thousands of them.
export GORACE ?= atexit_sleep_ms=20
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.DEFAULT_GOAL := help
.PHONY: help demo test race check fmt lint types cross bench fuzz build sizes soak mcp-servers chaos

help: ## list what make can do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: ## run the main job offline on this repository
	$(GO) run ./cmd/swarm demo

build: ## build bin/swarm, without symbols for a debugger
	$(GO) build -trimpath -ldflags "-s -w" -o bin/swarm ./cmd/swarm

sizes: ## print what each module we require weighs in the program
	$(GO) run ./internal/sizes

# Most tests that run in parallel wait for processes, so that there are more than processors.
test: ## run all tests, with the race detector where there is a C compiler; lists the skipped ones with reasons
	@[ -n "$(RACE)" ] || echo "note: no C compiler, so the race detector is off"
	$(GO) tool gotestsum --format standard-quiet -- $(RACE) -parallel 6 -timeout 12m ./...

race: test ## the same as test

check: fmt lint types ## formatting, vet, staticcheck, import map, types on every platform

fmt: ## fail on files that gofumpt would change
	@out=$$($(GO) tool gofumpt -l . 2>&1); if [ -n "$$out" ]; then echo "not formatted (run: go tool gofumpt -w .):"; echo "$$out"; exit 1; fi

lint: ## vet, staticcheck and the import map
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -count=1 ./internal/archtest

types: ## check the types of everything for every platform we support
	$(GO) run ./internal/typecheck $(PLATFORMS)

cross: ## build for every platform we support
	@for p in $(PLATFORMS); do echo "build $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./... || exit 1; done

bench: ## run every benchmark; ratios stand beside their limit in the same run
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 60m ./...

fuzz: ## run every fuzz target for FUZZTIME each
	@$(GO) list ./... | while read -r p; do \
		$(GO) test -list '^Fuzz' $$p | grep '^Fuzz' | while read -r f; do \
			echo "$$f in $$p"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done || exit 1; done

soak: ## long fault runs; the figures are in docs/figures.md
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m ./internal/worktree
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m -run 'EveryBoundary|KeepEveryByte|EveryResult' ./internal/coordinator
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m -run AboveItsShare ./internal/turn
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m -v -run 'Problem|EachHookFires' ./team .
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m -run ThousandRuns ./internal/hook
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m -v -run DaemonsEnd ./internal/sandbox
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 120m -v ./internal/shellfuzz
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m -v -run Flips ./tool/builtin ./internal/nolink
	SWARM_SOAK=1 $(GO) test -count=1 -timeout 60m -v -run 'NoEndOfARun|NoTeammatesProcess|Problem8_|Within2s' ./cmd/swarm
	$(MAKE) cross
	$(MAKE) mutation

mcp-servers: ## install MCP servers of others, from npm, for the tests of internal/mcpclient
	npm install --no-audit --no-fund --prefix "$${SWARM_MCP_SERVERS:-$${XDG_CACHE_HOME:-$$HOME/.cache}/swarm-mcp-servers}" \
		@modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31

mutation: ## break the packages that hold promises; the figures are in docs/mutation.md
	$(GO) run ./internal/mutate -n 100 -seed $(SEED) -min 85 ./mailbox ./internal/journal ./internal/account
	$(GO) run ./internal/mutate -n 100 -seed $(SEED) -min 85 ./internal/permission
	$(GO) run ./internal/mutate -n 100 -seed $(SEED) ./internal/transcript
	$(GO) run ./internal/mutate -n 40 -seed $(SEED) ./internal/coordinator

chaos: ## 100,000 messages between three processes that are killed 1,000 times; the same to teammates in panes
	SWARM_CHAOS=1 $(GO) test -count=1 -v -timeout 60m -run Promise1 ./internal/chaos
