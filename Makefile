# Everything a developer runs. Prerequisites: Go, git, make. What else is needed (linters, generators, a control plane) is built
# from Go modules once, kept by version under $(CACHE) and never in the tree.

SHELL       := /bin/sh
MODULES     := proto services cloudgateway cloudgateway/openapisim cloudgateway/openapisim/thirdparty lbcontroller nodecontroller \
               routecontroller deploy deploy/test/alerts
# Those with a workspace of their own, and those that go.work unites, which one go command tests; the longest of these come first.
APART       := $(patsubst %/go.work,%,$(wildcard $(addsuffix /go.work,$(MODULES))))
UNITED      := lbcontroller cloudgateway $(filter-out lbcontroller cloudgateway $(APART),$(MODULES))
PROCESSES   := cloudgateway/cmd/cloudgateway cloudgateway/openapisim/cmd/openapisim lbcontroller/cmd/lbcontroller \
               nodecontroller/cmd/nodecontroller routecontroller/cmd/routecontroller deploy/tools/migrate/cmd/migrate
# Asked for once: all that one run of make builds has the same version, whatever happens to the tree meanwhile.
VERSION     := $(or $(VERSION),$(shell git describe --tags --match 'v*' --always --dirty 2>/dev/null || echo dev))
CACHE       := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/alicloud-controllers
TOOLS       := $(CACHE)/tools-$(shell cat deploy/tools/thirdparty/go.mod deploy/tools/thirdparty/go.sum | cksum | cut -d' ' -f1)
TOOL         = $(addprefix $(TOOLS)/,$(1))
JUDGES      := $(CACHE)/judges-$(shell (cat deploy/tools/judges/go.sum deploy/tools/judges/krew/go.sum; grep 'helm.sh/helm/v3 ' deploy/go.mod) | cksum | cut -d' ' -f1)
CONFORM     := $(CACHE)/conform-$(shell cat deploy/tools/conform/go.mod deploy/tools/conform/go.sum | cksum | cut -d' ' -f1)
# Programs of others that judge the chart, and how its tests find them.
CHART_JUDGES := $(call TOOL,kube-score) $(CONFORM)/kubeconform
JUDGED      := KUBE_SCORE=$(call TOOL,kube-score) KUBECONFORM=$(CONFORM)/kubeconform
GENERATORS  := $(call TOOL,buf protoc-gen-go protoc-gen-go-grpc)
# The race detector needs a C compiler; go sets CGO_ENABLED=0 when there is none.
RACE        := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
LDFLAGS     := -X alicloud-controllers.dev/services/version.version=$(VERSION)
WORLD_DIR   ?= .dev
NODES       ?= 3
CONTROLLERS ?= lb,node,route
TRAFFIC     ?= false
FRONT       ?= false
GATEWAY_API ?= false
# A process with the race detector sleeps for a second when it ends, and the tests end hundreds of them.
export GORACE := $(strip atexit_sleep_ms=10 $(GORACE))
# Passed to go test, for example TESTFLAGS='-run TestDiff -v'.
TESTFLAGS   ?=

export PATH := $(TOOLS):$(PATH)
# Without the checkout's path in what is compiled, all checkouts share Go's build cache: a clean clone compiles only what changed. What only a
# debugger reads is left out, which takes compilers a fifth and linkers a quarter of their time; dlv debug and dlv test compile with flags of
# their own.
export GOFLAGS := $(strip -trimpath -gcflags=all=-dwarf=false -ldflags=-s $(GOFLAGS))

# Compilers that collect their garbage less often need a tenth less CPU time and a quarter more memory. What go test and go run start inherits
# it: it is not for what is to be as it is in a cluster.
COMPILER    := GOGC=400 GOMEMLIMIT=1GiB

# The command that runs worlds. It downloads kube-apiserver and etcd of the versions that it would build, unless DOWNLOAD=never.
# KUBERNETES=oldest takes the API server of the oldest Kubernetes that is supported, in place of the newest.
# It takes the place of its shell, so that a signal to make reaches it.
# Before a command that may be silent for long.
STILL       := $(CURDIR)/deploy/tools/still.sh
WORLD       := $(COMPILER) $(STILL) "building the local world" go build -o bin/ ./deploy/tools/local/cmd/world && exec bin/world

# each runs a command in every module and says where it is, so that no module is skipped without notice. It ends with the modules in which
# the command failed.
define each
@failed=; for module in $(or $(3),$(MODULES)); do echo "== $$module: $(strip $(1))"; (cd $$module && $(2)) || failed="$$failed $$module"; done; \
	test -z "$$failed" || { echo "failed in:$$failed"; exit 1; }
endef

# Comments with two signs are for everybody, those with three for who maintains or releases.
.PHONY: help
help: ## Show this list
	@awk -F ':.* ## ' '/^[a-z0-9-]+:.* ## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'make help-all shows all targets. docs/README.md says what to read.'

.PHONY: help-all
help-all: ### Show all targets
	@awk -F ':.* ##+ ' '/^[a-z0-9-]+:.* ##+ / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Run

.PHONY: demo
demo: build ## Show Services become load balancers, change and go
	@$(WORLD) demo

.PHONY: dev
# NODES=n, CONTROLLERS=none or a list of lb,node,route, TRAFFIC=true: with a data plane, FRONT=true: with the OpenAPI front for tools,
# GATEWAY_API=true: with the Gateway API and ServerGroupBindings.
dev: build ## Start a local cluster with a simulated cloud, and stay
	@$(WORLD) up -dir "$(WORLD_DIR)" -nodes "$(NODES)" -controllers "$(CONTROLLERS)" -traffic="$(TRAFFIC)" -front="$(FRONT)" \
		-gateway-api="$(GATEWAY_API)"

.PHONY: dev-down
dev-down: ## Stop the cluster of make dev
	@$(WORLD) down -dir "$(WORLD_DIR)"

## Build and test

.PHONY: build
build: ## Build the processes into bin/
	@echo "building $(notdir $(PROCESSES))"
	@$(COMPILER) $(STILL) building go build -ldflags '$(LDFLAGS)' -o bin/ $(PROCESSES:%=./%)

SINCE ?= HEAD
.PHONY: quick
quick: ## Vet and test what changed since SINCE=commit, here HEAD
	@$(COMPILER) MODULES='$(MODULES)' SINCE='$(SINCE)' RACE='$(RACE)' TESTFLAGS='$(TESTFLAGS)' deploy/tools/quick.sh

# The control plane of the end-to-end tests takes minutes the first time: it is built before their time limit begins.
.PHONY: kubernetes
kubernetes: ### Build the local control plane into the cache, once
	@$(WORLD) prepare

.PHONY: test
test: kubernetes $(CHART_JUDGES) ## Run all tests with the race detector: 25 minutes on 2 cores
	@MAKE='$(MAKE)' RACE='$(RACE)' PACKAGES='$(UNITED:%=./%/...)' deploy/tools/test.sh

.PHONY: test-e2e test-packages test-apart
test-e2e:
	@cd deploy && go test $(RACE) -vet=off -count=1 -timeout 40m $(TESTFLAGS) ./test/e2e
# Collecting garbage less often takes a tenth of the processor time of tests, too. The linters vet. End to end tests start processes that
# are to be as they are in a cluster. They go first where they need the processor: kubectl and the API server have time limits of their own.
test-packages:
	@$(JUDGED) $(COMPILER) nice deploy/tools/raced.sh 'go test $(RACE) -vet=off -count=1 -timeout 40m $(TESTFLAGS)' \
		$$(go list $(UNITED:%=./%/...) | grep -v '/deploy/test/e2e$$')
test-apart:
	$(call each,go test,$(COMPILER) nice go test $(RACE) -vet=off -count=1 -timeout 40m $(TESTFLAGS) ./...,$(APART))

.PHONY: race
race: ### Run the tests of all modules but the end-to-end ones ten times with the race detector
	$(call each,go test -race -count=10,go test -race -count=10 -short -timeout 30m $(TESTFLAGS) ./...)

.PHONY: e2e
e2e: kubernetes ## Run the end-to-end tests, or TESTFLAGS="-run TestX"
	cd deploy && go test $(RACE) -count=1 -timeout 20m -v $(TESTFLAGS) ./test/e2e/...

# Kubernetes' own end-to-end tests, those of deploy/test/upstream/cases.csv: most on real kubelets, which takes root, a few in a local world.
# docs/reference/kubernetes-tests.md has what became of them, and RECORD=true writes it anew.
RECORDED = $(if $(RECORD),-args -record)
.PHONY: e2e-kubernetes
e2e-kubernetes: ### Run the tests of Kubernetes itself on real kubelets, as root: 40 minutes, with TESTFLAGS=-short a few; TESTFLAGS="-run TestKubernetes/columns/clb-nodes.*session" chooses, RECORD=true keeps the results; JUnit reports are in dist/kubernetes-tests
	@$(WORLD) prepare-node
	@$(WORLD) prepare-upstream
	cd deploy && E2E_KUBERNETES=true go test -count=1 -timeout 30m -v -run '^TestKubernetes$$' $(TESTFLAGS) ./test/e2e $(RECORDED)
	cd deploy && E2E_KUBERNETES=true E2E_CLUSTER=true E2E_REPORTS=$(CURDIR)/dist/kubernetes-tests go test -count=1 -timeout 3h -v -parallel 6 -run '^TestKubernetes$$' $(TESTFLAGS) ./test/cluster $(RECORDED)

# The conformance suite of the Gateway API, on real kubelets. docs/reference/gateway-api has its reports, and RECORD=true writes them anew.
.PHONY: e2e-gateway-api
e2e-gateway-api: ### Run the conformance suite of the Gateway API on real kubelets, as root: half an hour; RECORD=true keeps the reports
	@$(WORLD) prepare-node
	cd deploy && E2E_GATEWAY_API=true E2E_CLUSTER=true go test -count=1 -timeout 1h -v -run '^TestGatewayAPI$$' $(TESTFLAGS) ./test/cluster $(RECORDED)

# Its own programs are built before, too. Without -race: the processes are those of the images.
.PHONY: e2e-cluster
e2e-cluster: ## Install the chart on real kubelets, as root
	@$(WORLD) prepare-node
	cd deploy && E2E_CLUSTER=true go test -count=1 -timeout 20m -v $(TESTFLAGS) ./test/cluster/

# Each soak has a seed of its own, which its commands show. SEED=n repeats a soak, and what a test prints when it fails repeats one of its runs.
.PHONY: soak
soak: SEED := $(or $(SEED),$(shell date +%s))
soak: kubernetes ### Let users, faults and crashes go wild for long: CHAOS_RUNS=n, WALK_WORLDS=n in lbcontroller, WALKS=n in nodecontroller and routecontroller, CHAOS_FOR=time and WEATHER_FOR=time end to end; SEED=n repeats one
	cd lbcontroller && CHAOS_SEED=$(SEED) CHAOS_RUNS=$(or $(CHAOS_RUNS),500) go test $(RACE) -count=1 -timeout 2h -run TestChaos $(TESTFLAGS) ./internal/lb/
	cd lbcontroller && WALK_SEED=$(SEED) WALK_WORLDS=$(or $(WALK_WORLDS),100) go test $(RACE) -count=1 -timeout 2h -run TestWalk $(TESTFLAGS) ./internal/lb/
	cd lbcontroller && CRASHES=all go test $(RACE) -count=1 -timeout 2h -run 'EveryCall|SomewhereOn' $(TESTFLAGS) ./internal/lb/
	cd nodecontroller && WALK_SEED=$(SEED) WALKS=$(or $(WALKS),5000) go test $(RACE) -count=1 -timeout 2h -run TestRandomWalk $(TESTFLAGS) ./internal/controller/
	cd routecontroller && WALK_SEED=$(SEED) WALKS=$(or $(WALKS),5000) go test $(RACE) -count=1 -timeout 2h -run TestRandomWalk $(TESTFLAGS) ./internal/controller/
	cd deploy && CHAOS_SEED=$(SEED) CHAOS_FOR=$(or $(CHAOS_FOR),10m) go test $(RACE) -count=1 -timeout 2h -run TestChaos -v $(TESTFLAGS) ./test/e2e/
	cd deploy && CHAOS_SEED=$(SEED) WEATHER_FOR=$(or $(WEATHER_FOR),30m) go test -count=1 -timeout 2h -run TestWeather -v $(TESTFLAGS) ./test/e2e/
	cd cloudgateway && CHURN=full go test -count=1 -timeout 2h -run TestChurn -v $(TESTFLAGS) ./bench
	cd cloudgateway && SIEGE=$(or $(SIEGE),60s) go test -count=1 -timeout 2h -run TestSiege -v $(TESTFLAGS) ./internal/app

# The latest release before this commit, or, as long as there is none, the last commit before the one that changed a process last.
SKEW_FROM ?= $(or $(shell git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null),$(shell git rev-list --skip=1 -n 1 HEAD -- \
               proto services cloudgateway lbcontroller nodecontroller routecontroller 2>/dev/null))
.PHONY: skew
skew: export SKEW_FROM := $(SKEW_FROM)
skew: kubernetes ### Run an earlier commit's controllers on this gateway and the other way round: SKEW_FROM=commit
	@if [ -z "$(SKEW_FROM)" ]; then echo "make skew: not run: the clone has no earlier commit; git fetch --unshallow brings them"; exit 0; fi; \
	git log -1 --format='with %h of %cs, %s' '$(SKEW_FROM)' -- && cd deploy && go test -count=1 -timeout 15m -run '^(TestSkew|TestUpgrade)$$' -v $(TESTFLAGS) ./test/e2e

.PHONY: contract
contract: ### Ask the real cloud what the simulator should say, and record it: REGION=id, CNY=50 and MINUTES=60 at most
	@test -n "$(REGION)" -a -n "$$ACCESS_KEY_ID" -a -n "$$ACCESS_KEY_SECRET" || \
		{ echo 'contract: say REGION=cn-…, and export ACCESS_KEY_ID and ACCESS_KEY_SECRET; this costs money'; exit 1; }
	cd cloudgateway/openapisim && { CONTRACT_REGION=$(REGION) CONTRACT_CNY=$(CNY) CONTRACT_MINUTES=$(MINUTES) CONTRACT_RECORD=testdata/record \
		go test -count=1 -v -timeout 3h -run '^TestCloud$$' $(TESTFLAGS) ./contract; failed=$$?; \
		go test -count=1 -run '^TestRecord$$' ./contract && exit $$failed; } # What failed there is what the comparison is for.

.PHONY: bench
bench: ### Run the benchmarks of all modules
	$(call each,go test -bench,go test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./...)

# LIMITS=true keeps to the published rate limits: the creation of 300 Services then takes minutes.
NODES_AT_SCALE = $(or $(if $(filter-out file,$(origin NODES)),$(NODES)),200)
.PHONY: scale
scale: build ### Count calls, time, CPU and memory at scale: NODES=200 SERVICES=300 PODS=300 KIND=nlb LIMITS=true JSON=file
	cd deploy && go build -o ../bin/ ./test/bench && exec ../bin/bench -nodes=$(NODES_AT_SCALE) -services=$(or $(SERVICES),300) \
		-pods=$(or $(PODS),300) -kind=$(or $(KIND),clb) -limits=$(or $(LIMITS),false) -version='$(VERSION)' -json='$(abspath $(or $(JSON),.dev/scale.json))'

## Check and generate

.PHONY: verify
verify: verify-format verify-rules verify-modules verify-generated verify-proto verify-workflows lint ## Check everything that is not a test

.PHONY: verify-format
verify-format:
	@echo "== gofmt"
	@files=$$(gofmt -l $(MODULES)); test -z "$$files" || { echo "not formatted, run gofmt -w:"; echo "$$files"; exit 1; }

# The same versions of Go, gRPC and Kubernetes everywhere, and a gateway without the simulated cloud. Who may import whom is enforced by go.mod
# (verify-modules) and depguard (lint).
.PHONY: verify-rules
verify-rules:
	@echo "== versions and what is linked"
	@cd deploy && go run ./tools/verify $(addprefix ../,$(MODULES))

# The workspace hides what a module forgot to require, so each is tidied and built by itself.
.PHONY: verify-modules
verify-modules:
	$(call each,go mod tidy -diff,GOWORK=off go mod tidy -diff)
	$(call each,GOWORK=off go build,GOWORK=off go build ./...)

.PHONY: verify-generated
verify-generated: $(GENERATORS)
	@echo "== generated files"
	@MAKE='$(MAKE)' deploy/tools/verify-generated.sh

.PHONY: verify-workflows
verify-workflows: $(call TOOL,actionlint)
	@echo "== actionlint"
	@$(call TOOL,actionlint) .github/workflows/*.yml

.PHONY: verify-proto
verify-proto: $(call TOOL,buf)
	@echo "== buf lint"
	@cd proto && buf lint
	@echo "== buf breaking"
	@cd proto && buf breaking --against baseline.binpb || { \
		echo "proto: callers of the last release would break; see proto/buf.yaml for what may change"; exit 1; }

# golangci-lint remembers findings with the absolute path of their file, and takes those of another checkout for this one's: it
# then can't read the file, and no longer sees that it is generated. So each checkout has a cache of its own.
# govet is among them, with all that go vet looks for.
.PHONY: lint
lint: export GOLANGCI_LINT_CACHE := $(CACHE)/golangci-lint-$(shell echo "$(CURDIR)" | cksum | cut -d' ' -f1)
lint: $(call TOOL,golangci-lint) ## Run the linters, on all modules or MODULES="a b"
	$(call each,golangci-lint,$(STILL) "linting $$module" golangci-lint run --config "$(CURDIR)/.golangci.yaml" ./...)

.PHONY: generate
generate: $(GENERATORS) ## Write generated code and reference pages
	cd proto && buf generate
	$(call each,go generate,go generate ./...)

.PHONY: proto-baseline
proto-baseline: $(call TOOL,buf) ### Make the present gRPC API the one that changes are compared with; part of a release
	cd proto && buf build --exclude-source-info -o baseline.binpb

.PHONY: tidy
tidy: ### Tidy all modules and align their versions
	go work sync
	$(call each,go mod tidy,GOWORK=off go mod tidy)

# What is complete has its name; a build that was interrupted has not.
$(call TOOL,%):
	@echo "building $* into $(TOOLS), once (1 to 3 minutes on 2 cores)"
	@mkdir -p "$(TOOLS)"
	@cd deploy/tools/thirdparty && new=$$(mktemp -d "$(TOOLS)/.build-XXXXXX") && GOWORK=off GOBIN="$$new" \
		$(STILL) "building $*" go install $$(GOWORK=off go list tool | grep '/$*$$') && mv "$$new/$*" "$@" && rmdir "$$new"

## Ship

.PHONY: chart
chart: $(CHART_JUDGES) ## Check the Helm chart, with kube-score and kubeconform
	cd deploy && $(JUDGED) go test $(RACE) -count=1 $(TESTFLAGS) ./chart/...

# Its schemas are in the source of Kubernetes and of the operators whose resources the chart can make: the tests read them there.
$(CONFORM)/kubeconform:
	@cd deploy/tools/conform && GOWORK=off GOBIN="$(CONFORM)" $(STILL) "building kubeconform" go install tool

# The chart's version is the tag; one platform saves half of the building.
PLATFORMS   ?= linux/amd64,linux/arm64
REGISTRY    ?= docker.io

.PHONY: images
images: ## Build the container images: PLATFORMS=linux/amd64, REGISTRY
	@cd deploy && go run ./images -out ../dist/images -version "$(VERSION)" -platforms "$(PLATFORMS)" -registry "$(REGISTRY)"

.PHONY: plugin
plugin: ## Build kubectl alicloud for all its platforms
	@cd deploy && go run ./images -plugin -out ../dist/images -version "$(VERSION)"

RELEASE     := cd deploy && go run ./tools/release/cmd/release

.PHONY: release
release: signable images plugin ### Collect what is published in dist/release: KEY=file signs it; SOURCE=url of the sources of all tags, DOWNLOADS=url of their files
	@$(RELEASE) collect -images ../dist/images -out ../dist/release -version "$(VERSION)" -source "$(SOURCE)" -downloads "$(DOWNLOADS)" \
		-platforms "$(PLATFORMS)" -registry "$(REGISTRY)" -key "$(if $(KEY),$(abspath $(KEY)))"

# make release would refuse it, too, after it has built everything.
.PHONY: signable
signable:
	@case "$(if $(KEY),$(VERSION))" in *-dirty) \
		echo 'release: the source has changes that are in no commit: commit them, or leave KEY out'; exit 1;; esac
	@test -z "$(KEY)" || test -r "$(KEY)" || { echo 'release: KEY=$(KEY) is no file'; exit 1; }

.PHONY: push
push: ### Push the images and the chart of FROM=dist/release, with their signatures: TO=registry.example.com/alicloud-controllers
	@$(RELEASE) push -from "$(abspath $(or $(FROM),dist/release))" -to "$(TO)"

.PHONY: rebuild
rebuild: ### Make the files of a release again from this commit and compare: FROM=directory of the release, IMAGE=process for one image
	@$(RELEASE) rebuild -from "$(abspath $(or $(FROM),dist/release))" -out ../dist/rebuilt -image "$(IMAGE)"

.PHONY: release-check
release-check: $(addprefix $(JUDGES)/,cosign crane helm validate-krew-manifest) ### Have cosign, crane, helm and krew judge what make release writes
	cd deploy && COSIGN=$(JUDGES)/cosign CRANE=$(JUDGES)/crane HELM=$(JUDGES)/helm KREW=$(JUDGES)/validate-krew-manifest \
		go test $(RACE) -count=1 $(TESTFLAGS) ./tools/release/...

# Without FROM, it makes the release, of a commit without changes, and the key that signs it.
.PHONY: e2e-release
e2e-release: $(addprefix $(JUDGES)/,cosign crane helm) ### Go a stranger's way with a release, as root: verify it, make an image again, install it from a registry on real kubelets: FROM=directory of the release
	@$(WORLD) prepare-node
	@test -n "$(FROM)" || { mkdir -p dist && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out dist/key.pem && \
		$(MAKE) release KEY=dist/key.pem && rm dist/key.pem; }
	cd deploy && E2E_RELEASE="$(abspath $(or $(FROM),dist/release))" E2E_CLUSTER=true PATH="$(JUDGES):$$PATH" \
		go test -count=1 -timeout 30m -v -run '^TestRelease$$' $(TESTFLAGS) ./test/cluster

# cosign takes 3 minutes on 2 cores, the others less than one.
$(JUDGES)/cosign $(JUDGES)/crane:
	@echo "building $(@F) into $(JUDGES), once"
	@cd deploy/tools/judges && GOWORK=off GOBIN="$(JUDGES)" $(COMPILER) $(STILL) "building $(@F)" go install $$(GOWORK=off go list tool | grep '/$(@F)$$')

$(JUDGES)/validate-krew-manifest:
	@cd deploy/tools/judges/krew && GOWORK=off GOBIN="$(JUDGES)" $(STILL) "building $(@F)" go install tool

$(JUDGES)/helm:
	@cd deploy && GOBIN="$(JUDGES)" $(STILL) "building $(@F)" go install helm.sh/helm/v3/cmd/helm@$$(go list -m -f '{{.Version}}' helm.sh/helm/v3)

.PHONY: pictures
pictures: build ### Take the pictures of docs/pictures from a local world, with a browser
	@$(COMPILER) go build -o bin/ ./deploy/tools/local/cmd/world && deploy/tools/pictures.sh

.PHONY: clean
clean: ## Remove what was built in the tree
	rm -rf bin dist cover.out
