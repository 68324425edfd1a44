# Two commands do all the set-up: `make demo` and `make test`.
#
#   setup       .venv with the locked dependencies (installs python3-venv where it is missing and permitted)
#   demo        a coupled month under every combination of schemes, and two live services; of the locked dependencies
#               it installs only those that it needs
#   slurm-demo  two real Slurm clusters, coscheduled, for half a minute (installs slurm-wlm and gcc where it may)
#   pbs-demo    a real PBS and a real Slurm cluster, coscheduled, where OpenPBS is installed (for root)
#   test        lint, types, contracts, and the short tier of tests: 8 minutes on two processors (installs chromium,
#               slurm-wlm, gridengine, gcc and Java where missing and permitted, and unpacks an sshd into .venv)
#   test-service  the tests of coscheduling alone, in an environment without the simulator and papers: for daily use;
#               test-service-live: those with real services and batch systems, likewise
#   soak        the long tier, an hour or more: many seeds, kills by the dozen, histories of faults; `make soak SEED=7`
#               repeats a run
#   model       the models of the rules, all states within their bounds: a quarter of an hour (installs Java where
#               it may)
#   mutants     rules of the core, each switched off or reversed in turn: which test notices (ten minutes)
#   bench       speed, as ratios on this machine (needs a C compiler). `make bench loop`: how long a busy domain is taken
#               up at a time, by kind of scheduler, half an hour; `make bench players`: what core players cost;
#               `make bench scale`: up to 10,000,000 jobs of 1,000 domains, half an hour
#   proto       lint the protocol's files and generate the modules of cosched/v1
#   lint        ruff, mypy (strict), import-linter
#   dist        the source distributions and the wheels of this tree, into dist, all checked
#   deb         the Debian package of this tree, into dist; `make deb EXTRA=scheduler` for domains that schedule themselves
#   rpm         likewise the RPM package (needs rpmbuild)
#   docs        the documentation as a site, into dist/docs
#   man         the manual pages of all commands, into dist/man
#   lock        pin the dependencies of all distributions

PYTHON ?= python3
BIN := .venv/bin
# Processes of tests, more than CPUs, since many tests wait for what others do.
TESTERS := $(shell expr 3 \* $$(nproc))
READY := .venv/.ready

# Tests start hundreds of processes: each would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo slurm-demo pbs-demo test test-service test-service-live soak model mutants java psij
.PHONY: tools bench lint lock proto docs man dist deb rpm clean

setup: $(READY)

PIP := pip install -qq --disable-pip-version-check
define environment
	@$(PYTHON) -c 'import sys; sys.exit("cosched needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || sh deploy/install-packages.sh python3-venv
	@echo "setup: a Python environment, .venv"
	@$(PYTHON) -m venv .venv
endef

$(READY): requirements.lock pyproject.toml sim/pyproject.toml papers/pyproject.toml
	$(environment)
	@echo "setup: the packages of requirements.lock, some 1.4 GB in all"
	@$(BIN)/$(PIP) --require-hashes -r requirements.lock
	@echo "setup: this tree, as .venv/bin/cosched"
	@$(BIN)/$(PIP) --no-deps --no-build-isolation -e . -e sim -e papers
	@touch $@

# The demo draws and tabulates nothing: it needs what services do, and the simulator's own modules.
DEMO := .venv/.demo
OF_DEMO := coscheduling[scheduler]

$(DEMO): requirements.lock pyproject.toml sim/pyproject.toml
	@echo "demo: what coscheduling does to a month of two coupled machines, and to jobs of two live services"
	$(environment)
	@echo "setup: the packages of requirements.lock that the demo needs, 100 MB to fetch, 380 MB on disk"
	@$(PYTHON) deploy/locked.py '$(OF_DEMO)' > .venv/demo.lock
	@$(BIN)/$(PIP) --require-hashes -r .venv/demo.lock
	@echo "setup: this tree, as .venv/bin/cosched; make setup brings what its other commands need"
	@$(BIN)/$(PIP) --no-deps --no-build-isolation -e . -e sim
	@touch $@

demo: $(if $(wildcard $(READY)),setup,$(DEMO))
	$(BIN)/cosched demo

slurm-demo: setup
	@command -v slurmctld >/dev/null || sh deploy/install-packages.sh slurm-wlm
	@command -v cc >/dev/null || sh deploy/install-packages.sh gcc libc6-dev
	$(BIN)/python -m deploy.slurm.demo

pbs-demo: setup
	@$(BIN)/python -m deploy.pbs.demo

# Programs that the tests use where they are, or may be installed.
tools: setup java psij
	@command -v chromium >/dev/null || sh deploy/install-packages.sh chromium fonts-dejavu-core || \
	    echo "without chromium the reports are not tested in a browser" >&2
	@command -v slurmctld >/dev/null || sh deploy/install-packages.sh slurm-wlm || \
	    echo "without slurm-wlm nothing is tested with Slurm" >&2
	@test -x /usr/sbin/sge_qmaster && test -x /usr/sbin/sge_execd || \
	    sh deploy/install-packages.sh gridengine-master gridengine-exec gridengine-client || \
	    echo "without gridengine-master nothing is tested with Grid Engine" >&2
	@command -v zsh >/dev/null && command -v fish >/dev/null || sh deploy/install-packages.sh zsh fish || \
	    echo "without zsh and fish their completion is not tested" >&2
	@command -v cc >/dev/null || sh deploy/install-packages.sh gcc libc6-dev || \
	    echo "without a C compiler the hooks for Slurm are not tested" >&2
	@command -v ssh >/dev/null || sh deploy/install-packages.sh openssh-client || true
	@command -v sshd >/dev/null || test -x /usr/sbin/sshd || test -x .venv/sshd/usr/sbin/sshd || \
	    sh deploy/unpack-packages.sh .venv/sshd openssh-server libwrap0 || \
	    echo "without sshd no pair of two accounts is tested" >&2
	$(BIN)/python -m tests.kernels

# In an environment of its own: it allows no versions of `packaging` and `psutil` as new as those of requirements.lock.
psij: setup
	@.venv/psij/bin/python -c "import psij" 2>/dev/null || { $(PYTHON) -m venv .venv/psij && \
	    .venv/psij/bin/$(PIP) psij-python==0.9.11; } || \
	    echo "without psij-python its walk-through is not tested" >&2

java:
	@command -v java >/dev/null || sh deploy/install-packages.sh default-jre-headless || \
	    echo "without Java the models are not checked" >&2

test: lint tools
	$(BIN)/pytest -q -n $(TESTERS) --dist worksteal

# What the tests of coscheduling need, and nothing of other distributions of this tree.
SERVICE := .venv/service
OF_SERVICE := $(addprefix tests/,adapters cli client conformance core model planning reference service)
LIVE := $(addprefix tests/,gridengine live pbs slurm)

$(SERVICE)/.ready: requirements.lock pyproject.toml
	@echo "test-service: an environment of coscheduling alone, $(SERVICE)"
	@rm -rf $(SERVICE)
	@$(PYTHON) -m venv $(SERVICE)
	@$(PYTHON) deploy/locked.py 'coscheduling[test]' > $(SERVICE)/lock
	@$(SERVICE)/bin/$(PIP) --require-hashes -r $(SERVICE)/lock
	@$(SERVICE)/bin/$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

test-service test-service-live: $(SERVICE)/.ready
	@$(SERVICE)/bin/cosched compile
	$(SERVICE)/bin/pytest -q -n $(TESTERS) --dist worksteal $(if $(findstring live,$@),$(LIVE),$(OF_SERVICE))

soak: tools
	SOAK_SEED=$(SEED) $(BIN)/pytest -n $(TESTERS) --dist worksteal -m soak

model: setup java
	$(BIN)/pytest -v -rP -m model tests/model

mutants: setup
	$(BIN)/python -m tests.mutants

# Parts of the bench: `make bench PART`.
PARTS := loop players scale
PART := $(filter $(PARTS),$(MAKECMDGOALS))
.PHONY: $(PARTS)
$(PARTS): bench

ifneq ($(PART),)
bench: setup
	@for part in $(PART); do $(BIN)/python -m tests.bench.$$part || exit 1; done
else
bench: setup
	@command -v cc >/dev/null || sh deploy/install-packages.sh gcc libc6-dev
	$(BIN)/python -m tests.bench.bench
	$(BIN)/python -m tests.bench.fluid
	$(BIN)/python -m tests.bench.molding
	$(BIN)/python -m tests.bench.jacobi
	$(BIN)/python -m tests.bench.news
endif

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

proto: setup
	$(BIN)/buf lint proto
	rm -f cosched/v1/*_pb2*
	$(BIN)/python -m grpc_tools.protoc --proto_path=proto --python_out=. --pyi_out=. --grpc_python_out=. \
	    proto/cosched/v1/*.proto

docs: setup
	$(BIN)/python -m deploy.gallery docs/gallery
	$(BIN)/python -m sphinx -q -W --keep-going -n -c docs . dist/docs

man: setup
	$(BIN)/python -m deploy.man_pages dist/man

dist: setup
	@PYTHON=$(CURDIR)/$(BIN)/python sh deploy/dist.sh dist

deb:
	@/usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null || sh deploy/install-packages.sh python3-venv
	@sh deploy/debian/build.sh dist $(EXTRA)

rpm:
	@command -v rpmbuild >/dev/null || sh deploy/install-packages.sh rpm
	@sh deploy/rpm/build.sh dist $(EXTRA)

lock: setup
	$(BIN)/$(PIP) pip-tools
	@rm -rf build && mkdir build && sh deploy/copy-sources.sh build/tree
	$(BIN)/pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/ours \
	    $$(cat build/tree/distributions)
	$(BIN)/pip-compile --quiet --extra dev --strip-extras --generate-hashes --no-header --find-links build/ours \
	    --unsafe-package coscheduling --unsafe-package coscheduling-sim --unsafe-package coscheduling-papers \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o requirements.lock pyproject.toml
	@sed -i '/^# WARNING/,$$d' requirements.lock  # that our distributions, which name each other, are not pinned
	@rm -rf coscheduling.egg-info  # which pip-compile leaves

clean:
	rm -rf .venv build dist *.egg-info
