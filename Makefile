# `make` alone prints what can be made.
.DEFAULT_GOAL := help
SHELL := /bin/bash -o pipefail

GO        ?= go
TOOL      := $(GO) tool -modfile=$(CURDIR)/tools/go.mod
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
KUBE      := v1.37.2
LDFLAGS   := -s -w -X main.version=$(VERSION)
# The API server reports this version; clients cannot parse the one it has without it.
SANDBOX_LDFLAGS := -s -w -X main.version=$(VERSION) -X k8s.io/component-base/version.gitVersion=$(KUBE) \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37
# Prints how far a long build is, so that a first build of several minutes is not silent.
PROGRESS  := awk '{ n++; if (n % 100 == 0) { printf "  %d packages compiled\n", n; fflush() } } END { if (n) printf "  %d packages compiled\n", n }'
# Further flags of `wavetrain up` for the demo.
DEMO_FLAGS ?=
# Further flags of a scenario of the bench, for example: make bench-cold BENCH_FLAGS='-o json'
BENCH_FLAGS ?=

# How long the tests of a package may take: they share the machine with all others.
TEST_TIMEOUT ?= 30m

# Rooms in which things happen at once.
CONCURRENT := $(addsuffix /...,$(addprefix ./internal/,cluster controller gitserver pipeline release render rollout sandbox source timeline cli/live))

##@ Use

.PHONY: demo
demo: build ## Bring the four services of examples/ask up on an embedded control plane, live
	bin/wavetrain up examples/ask $(DEMO_FLAGS)

.PHONY: build
build: bin/wavetrain bin/wavetrain-sandbox ## Build bin/wavetrain and bin/wavetrain-sandbox

.PHONY: bin/wavetrain
bin/wavetrain:
	@echo "building wavetrain (first time about 3 minutes)"
	@$(GO) build -v -ldflags '$(LDFLAGS)' -o bin/wavetrain ./cmd/wavetrain 2>&1 | $(PROGRESS)

# Without -trimpath: its tests would compile Kubernetes a second time, as a build with other flags.
.PHONY: sandbox bin/wavetrain-sandbox
sandbox: bin/wavetrain-sandbox ## Build the embedded control plane
bin/wavetrain-sandbox:
	@echo "building the embedded control plane (first time about 6 minutes)"
	@cd sandbox && $(GO) build -v -ldflags '$(SANDBOX_LDFLAGS)' -o ../bin/wavetrain-sandbox . 2>&1 | $(PROGRESS)

##@ Check

.PHONY: test
test: bin/wavetrain-sandbox ## Run all tests; engine tests run against the embedded control plane
	$(TOOL) gotestsum --format pkgname --hide-summary=skipped -- -timeout $(TEST_TIMEOUT) ./...
	cd sandbox && $(TOOL) gotestsum --format pkgname --hide-summary=skipped -- -timeout $(TEST_TIMEOUT) ./...

.PHONY: race
race: bin/wavetrain-sandbox ## Run the tests of everything that runs at once under the race detector
	$(TOOL) gotestsum --format pkgname --hide-summary=skipped -- -race -timeout $(TEST_TIMEOUT) $(CONCURRENT)

.PHONY: check
check: ## Format, vet, lint and architecture
	@bad=$$(gofmt -l api bench cmd conformance internal sandbox); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	cd sandbox && $(GO) vet ./...
	$(TOOL) golangci-lint run ./...
	cd sandbox && $(TOOL) golangci-lint run -c ../.golangci.yml ./...
	$(GO) test ./internal/archtest

.PHONY: conformance
conformance: bin/wavetrain-sandbox ## Run the executable specification and print which points hold
	@cd conformance && $(GO) test -count=1 -table

# How many generated charts and kustomizations are compared.
CHECKS ?= 200

.PHONY: differential
differential: ## Compare what is rendered with helm and kustomize of the linked versions, and SARIF with its schema
	@mkdir -p tools/bin
	cd tools && $(GO) build -o bin/ helm.sh/helm/v4/cmd/helm sigs.k8s.io/kustomize/kustomize/v5
	$(GO) test -count=1 -tags differential ./internal/render -run 'ByHelm|ByKustomize' -rapid.checks $(CHECKS)
	$(GO) test -count=1 -tags differential ./internal/report/findings -run BySchema

# How long each of them is fuzzed, and by how many workers.
FUZZTIME ?= 30s
FUZZERS  ?= 2

.PHONY: fuzz
fuzz: ## Give every parser and the chain of checks input that nobody would write
	@for file in $$(grep -rl '^func Fuzz' --include='*_test.go' api internal); do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$file); do \
			echo "$$(dirname $$file) $$name"; \
			$(GO) test "./$$(dirname $$file)" -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -parallel $(FUZZERS) || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## Run the benchmarks of rendering, planning and the waves page
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

# What a scenario is and which flags it has: go run ./bench help SCENARIO
.PHONY: bench-%
bench-%: build ## Measure a scenario against its floors: cold, peers, waves, drift, steady, memory, restart, cycles, monorepo; flags in BENCH_FLAGS
	$(GO) run ./bench $* $(BENCH_FLAGS)

##@ Generate

.PHONY: generate
generate: ## Generate deepcopy functions and CustomResourceDefinitions from the API types
	$(TOOL) controller-gen object:headerFile=tools/boilerplate.go.txt paths=./api/...
	$(TOOL) controller-gen crd:allowDangerousTypes=true paths=./api/... output:crd:artifacts:config=api/crds

.PHONY: generate-check
generate-check: generate ## Fail when generating changes anything
	@git diff --exit-code -- api || { echo "generated files are stale: commit what make generate changed"; exit 1; }

.PHONY: help
help: ## Print this help
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-zA-Z0-9_%-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
