# The bed: a real Kubernetes cluster on this machine. `docs/testing.md` says what it is made of.
BED ?= default
NODES ?=
HUB ?=

.PHONY: cluster-up cluster-down test-cluster test-node bed-build bed-deps bed-lacks bed-sweep bed-prune

cluster-up: venv  ## a cluster for you: eval "$(make -s cluster-up [NODES=2])"
	@$(BIN)/python -m tests.bed up --name $(BED) $(if $(NODES),--nodes $(NODES)) $(if $(HUB),--hub $(HUB))

cluster-down: venv  ## remove it, and all that it started
	@$(BIN)/python -m tests.bed down --name $(BED)

test-cluster: venv  ## against a real control plane; needs no root
	$(BIN)/python -m tests.bed build --tier cluster
	$(BIN)/pytest tests/cluster -q

test-node: venv  ## with real kubelets and containerd; as root
	$(BIN)/python -m tests.bed build --tier node
	$(BIN)/pytest tests/node -q

bed-build: venv  ## build what both tiers run, into the cache
	$(BIN)/python -m tests.bed build --tier node

bed-deps: venv  ## install the Debian packages of the node tier (root)
	$(BIN)/python -m tests.bed deps

bed-lacks: venv  ## say what this machine lacks
	@$(BIN)/python -m tests.bed lacks cluster && $(BIN)/python -m tests.bed lacks node

bed-sweep: venv  ## remove beds of killed test sessions
	@$(BIN)/python -m tests.bed sweep

bed-prune: venv  ## remove binaries of versions no longer used
	@$(BIN)/python -m tests.bed prune
