# Every target that needs a tool installs it below .tools, at the version named
# here, the first time it is asked for. Nothing is installed elsewhere; deleting
# .tools is always safe.

MOTO_VERSION         = 5.2.1
RIE_VERSION          = v0.0.0-20261030222936-bef5c4ba774d
GOLANGCI_VERSION     = v2.15.0
GOVULNCHECK_VERSION  = v1.9.0
SAM_VERSION          = 1.170.0

# How long each fuzz target runs, how often flake repeats, and the most lines a
# Go file may have.
FUZZTIME  = 60s
COUNT     = 20
MAX_LINES = 300

PYTHON = python3

# The version is part of the path, so that a new version is a missing file.
TOOLS       = $(CURDIR)/.tools
MOTO        = $(TOOLS)/moto/$(MOTO_VERSION)
RIE         = $(TOOLS)/rie/$(RIE_VERSION)/aws-lambda-rie
GOLANGCI    = $(TOOLS)/golangci-lint/$(GOLANGCI_VERSION)/golangci-lint
GOVULNCHECK = $(TOOLS)/govulncheck/$(GOVULNCHECK_VERSION)/govulncheck
SAM         = $(TOOLS)/sam/$(SAM_VERSION)

# SAM cannot set these for the Go compiler; without them the binary may be linked
# dynamically, and is larger.
SAM_BUILD = SAM_CLI_TELEMETRY=0 CGO_ENABLED=0 GOFLAGS=-tags=lambda.norpc $(SAM)/bin/sam build

# Runs what follows with everything the wire and runtime tests look for.
WITH_SERVICES = ACKWISE_RIE=$(RIE) ./scripts/with-moto.sh $(MOTO) $(TOOLS)/moto.log

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

.PHONY: test
test: race-ready $(MOTO)/ready $(RIE) ## install what is needed, then run every test, the wire and Lambda runtime tests included
	$(WITH_SERVICES) go test -race -count=1 ./...

.PHONY: unit
unit: ## run the tests that need nothing but Go
	go test ./...

.PHONY: flake
flake: race-ready $(MOTO)/ready $(RIE) ## run every test COUNT=20 times
	$(WITH_SERVICES) go test -race -count=$(COUNT) -timeout=60m ./...

.PHONY: soak
soak: race-ready $(MOTO)/ready ## the long forms: hundreds of kills and drains of real processes, 200,000 messages through faults
	ACKWISE_SOAK=1 $(WITH_SERVICES) go test -race -count=1 -v -timeout=20m -run 'Soak|Killed|DrainUnderLoad' \
		./consumer/poller ./examples/ecs-poller ./internal/crashtest

.PHONY: lint
lint: $(GOLANGCI) ## check formatting, file length, go vet, golangci-lint and go.mod
	./scripts/check-files.sh $(MAX_LINES)
	go vet ./...
	$(GOLANGCI) run ./...
	go mod tidy -diff

.PHONY: sam
sam: $(SAM)/ready ## validate and lint the SAM template, build its functions and check them
	SAM_CLI_TELEMETRY=0 $(SAM)/bin/sam validate
	$(SAM)/bin/cfn-lint --template template.yaml
	$(SAM_BUILD)
	$(SAM_BUILD) --config-env x86
	ACKWISE_SAM_BUILDS="arm64=.aws-sam/build x86_64=.aws-sam/x86" go test -count=1 ./internal/templatetest

.PHONY: sam-local
sam-local: $(SAM)/ready ## run the functions under sam local, in containers
	./scripts/sam-local-test.sh $(SAM)

.PHONY: sam-directory
sam-directory: # for .ci/run, which needs the exit code that make would hide
	@echo $(SAM)

.PHONY: vuln
vuln: $(GOVULNCHECK) ## look for known vulnerabilities in what is called
	./scripts/vuln.sh $(GOVULNCHECK)

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME=60s
	./scripts/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## run the benchmarks, with allocations
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-peers
bench-peers: ## compare the poller with other consumers of SQS, on the same servers in the same run (ten minutes)
	go -C benchmarks run ./peers -check

.PHONY: test-peers
test-peers: ## check that comparison itself, which is a module of its own
	./scripts/retry.sh go -C benchmarks mod download
	go -C benchmarks vet ./...
	go -C benchmarks test -count=1 ./...

.PHONY: clean
clean: ## remove the installed tools
	rm -rf $(TOOLS)

.PHONY: race-ready
race-ready:
	@test "$$(go env CGO_ENABLED)" = 1 || { \
		echo "The race detector needs cgo and a C compiler, and Go found none." >&2; \
		echo "Install one (Debian: apt-get install gcc libc6-dev) and leave CGO_ENABLED unset." >&2; \
		exit 1; }

$(MOTO)/ready:
	PYTHON='$(PYTHON)' ./scripts/install-moto.sh $(MOTO) $(MOTO_VERSION)

$(RIE):
	GOBIN=$(@D) ./scripts/retry.sh go install github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie@$(RIE_VERSION)

$(SAM)/ready:
	PYTHON='$(PYTHON)' ./scripts/install-sam.sh $(SAM) $(SAM_VERSION)

$(GOLANGCI):
	GOBIN=$(@D) ./scripts/retry.sh go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GOVULNCHECK):
	GOBIN=$(@D) ./scripts/retry.sh go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
