# make demo   the whole way, from nothing to a report        make test   every test
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:

# The system's own where it will do: one that was compiled here without optimizations takes 1.7 times as long.
PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
  && echo /usr/bin/python3 || echo python3)
INVENTORY ?= inventory/virtual
# Mitogen is several times faster; STRATEGY=linear is stock Ansible.
STRATEGY ?= mitogen_all_cores
# More settings for the playbooks, for example EXTRA='-e virtual_lab_prefix=10.99.0'
EXTRA ?=

AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
PLAY = $(ANSIBLE_ENV) .venv/bin/ansible-playbook -i $(INVENTORY) $(EXTRA)
# Ansible takes no ansible.cfg from a directory that everybody may write to, unless it is named. It refuses a
# locale that the machine lacks, such as that of an SSH client.
ANSIBLE_ENV = LC_ALL=C.UTF-8 ANSIBLE_CONFIG='$(CURDIR)/ansible.cfg' $(if $(filter mitogen%,$(STRATEGY)),ANSIBLE_STRATEGY=$(STRATEGY) ANSIBLE_DEPRECATION_WARNINGS=false)

.PHONY: help demo test test-long test-beside test-java test-unit test-lab test-lab-long test-security test-faults test-netboot test-rack test-packages lint \
  test-unit-long bench bench-alike bench-collect bench-jtl bench-page bench-scale build bundle dist docs reference lab-up lab-down may-install site verify clean

help:
	@echo 'make demo       make the virtual lab, provision it, run the demo profiles, write the report'
	@echo 'make test       every test in its short form; makes its own lab and removes it'
	@echo 'make test-unit, make test-java, make test-lab   parts of make test'
	@echo 'make test-long  every test in its long form, over four hours: the six with a time below'
	@echo 'make lab-up     make the virtual lab          make lab-down   remove it'
	@echo 'make site       provision INVENTORY           make verify     compare its nodes'
	@echo 'make bundle     pack the Debian packages for nodes without Internet'
	@echo 'make build      build what is deployed        make lint       check the style of everything'
	@echo 'make docs       build the pages as a site     make reference  write docs/reference from its sources'
	@echo 'make dist       build a wheel of the analysis, for machines without a clone'
	@echo 'make test-lab-long  labs killed, workers replaced, machines with a history: about 70 minutes'
	@echo 'make test-faults  kill, cut and fill what a sweep needs: about 40 minutes'
	@echo 'make test-security  noise, crowds and attacks on every service: about 45 minutes'
	@echo 'make test-netboot  install a machine with a blank disk over the network, in emulation: about 50 minutes'
	@echo 'make test-unit-long  what needs no lab, in its long form: about 20 minutes'
	@echo 'make test-rack  provision emulated machines that rackbench did not make: about 60 minutes'
	@echo 'make bench      measure rackbench itself, and write docs/project/benchmarks.md and its CSV'
	@echo 'make bench-page       write docs/project/benchmarks.md from its CSV, without a lab'
	@echo 'make bench-collect    measure the reading of logs, without a lab'
	@echo 'make bench-jtl        let JMeter read an exported log, and compare'
	@echo 'make bench-scale      measure the time and memory that more nodes take'
	@echo 'make bench-alike      measure one by one what differs between the sides of a study, without a lab'
	@echo 'make clean      remove what was built'

demo: .venv/ready
	@ANSIBLE_STRATEGY=$(STRATEGY) .venv/bin/rackbench demo -i $(INVENTORY) $(if $(EXTRA),-- $(EXTRA))

# The analysis, its samples and the study files, for machines without a clone.
dist: .venv/ready
	@rm -rf build dist/*.whl
	@.venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf build *.egg-info
	@ls dist/*.whl

# What labs are made of is built first; the rest is checked and tested where the labs' tests wait. Each
# target that runs in parallel shows its whole output at its end.
TEST_BESIDE = $(MAKE) --no-print-directory --jobs=2 --output-sync=target
test: .venv/ready test-packages
	@.venv/bin/python -m collect.steps \
	  'building' 45 '$(MAKE) --no-print-directory build' \
	  'testing in labs, and the rest in parallel' 2600 '$(TEST_BESIDE) test-lab test-beside'

# Java waits for its trials where the labs are made; one after the other, for two cores. Two processes
# of unit tests take what the labs leave, and both cores once the labs are gone.
test-beside: .venv/ready test-packages
	@$(MAKE) --no-print-directory test-java
	@nice -n 10 $(MAKE) --no-print-directory UNIT_PROCESSES=2 lint test-unit

# Every test in its long form.
test-long: .venv/ready test-packages
	@.venv/bin/python -m collect.steps \
	  'testing without a lab' 1200 '$(MAKE) --no-print-directory test-unit-long' \
	  'testing in labs' 4240 '$(MAKE) --no-print-directory test-lab-long' \
	  'attacking the services' 2700 '$(MAKE) --no-print-directory test-security' \
	  'killing, cutting and filling' 2400 '$(MAKE) --no-print-directory test-faults' \
	  'installing over the network' 3000 '$(MAKE) --no-print-directory test-netboot' \
	  'provisioning emulated machines' 3600 '$(MAKE) --no-print-directory test-rack'

UNIT_PROCESSES ?= auto
test-unit: .venv/ready .venv/docs/ready test-packages
	.venv/bin/pytest tests/unit tests/roles --numprocesses $(UNIT_PROCESSES) --dist loadfile

# The long form: more of a kind, a client that is built again, the course once more.
test-unit-long: .venv/ready .venv/docs/ready test-packages
	.venv/bin/pytest tests/unit tests/roles --numprocesses $(UNIT_PROCESSES) --dist loadfile --long

test-java: .venv/ready
	$(PLAY) playbooks/build.yml -e java_apps_goal=verify

# With "+", make passes the output on as it comes, although other targets run in parallel.
test-lab: .venv/ready test-packages
	+.venv/bin/pytest tests/lab tests/netboot tests/security tests/faults --durations=25

# The long form: labs of their own, workers that come, go and are replaced, services that hang, machines with a history.
test-lab-long: .venv/ready test-packages
	.venv/bin/pytest tests/lab --long

# The long form: full disks, nodes that go away, a link cut for a minute, and 100 kills at random.
test-faults: .venv/ready test-packages
	.venv/bin/pytest tests/faults --long

# The long form: noise at each service for five minutes, crowds for one.
test-security: .venv/ready test-packages
	.venv/bin/pytest tests/security --long

# The long form: a machine with a blank disk becomes a node, in emulation.
test-netboot: .venv/ready test-packages
	.venv/bin/pytest tests/netboot --long

# The long form: four emulated machines that rackbench did not make.
test-rack: .venv/ready test-packages
	@dpkg -s $(RACK_PACKAGES) >/dev/null 2>&1 || $(AS_ROOT) apt-get install -y -q --no-install-recommends $(RACK_PACKAGES)
	.venv/bin/pytest tests/rack --long

RACK_PACKAGES = e2fsprogs fdisk grub-common grub-efi-amd64-bin mmdebstrap mtools
TEST_PACKAGES = chromium cpio curl ipxe-qemu libfaketime ovmf qemu-system-x86 qemu-utils zsh
test-packages:
	@dpkg -s $(TEST_PACKAGES) >/dev/null 2>&1 || { $(AS_ROOT) apt-get update -q && \
	  $(AS_ROOT) apt-get install -y -q --no-install-recommends $(TEST_PACKAGES); }

lint: .venv/ready
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/yamllint --strict .
	.venv/bin/ansible-lint --offline --strict
	.venv/bin/python docs/tooling/words.py
	.venv/bin/python docs/tooling/make_reference.py --check

# The pages as a site, in an environment of its own; the second target alone writes docs/reference again.
docs: .venv/docs/ready reference
	@NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build --quiet --strict
	@echo "Pages: file://$(CURDIR)/dist/docs/index.html"

reference: .venv/ready
	.venv/bin/python docs/tooling/make_reference.py

bench: .venv/ready
	.venv/bin/python tests/bench/page.py
	.venv/bin/python tests/bench/bench.py

# What follows from the rows that were measured before.
bench-page: .venv/ready
	.venv/bin/python tests/bench/bench_page.py

# Needs no lab; CALLS=100000000 is the large run of about 6 GB.
bench-collect: .venv/ready
	.venv/bin/python tests/bench/logs.py $(if $(CALLS),--calls $(CALLS))

# Needs no lab, but what `make build` builds; SUBJECTS=guard measures one of them.
bench-alike: .venv/ready
	.venv/bin/python tests/bench/alike.py $(or $(SUBJECTS),guard log selectors)

# Inventories of up to 200 nodes, then ten virtual ones; SCALE='--real 25' is another lab.
bench-scale: .venv/ready
	.venv/bin/python tests/bench/scale.py $(SCALE)

# Needs no lab, but Maven, which `make build` installs.
bench-jtl: .venv/ready
	.venv/bin/python tests/bench/jtl.py

lab-up: may-install .venv/ready
	$(PLAY) playbooks/lab.yml

lab-down: may-install .venv/ready
	$(PLAY) playbooks/lab_down.yml

build: may-install .venv/ready
	$(PLAY) playbooks/build.yml

site: build
	$(PLAY) playbooks/site.yml

verify: .venv/ready
	$(PLAY) playbooks/verify.yml

bundle: may-install .venv/ready
	$(PLAY) playbooks/bundle.yml

# What installs packages on this machine, mounts or makes networks. A password that sudo remembers for this
# terminal does not count, as Ansible's processes have no terminal.
may-install:
	@[ -z "$(AS_ROOT)" ] || sudo -k -n true 2>/dev/null || \
	  { echo "this needs root on this machine: run make as root, or let $$USER use sudo without a password"; exit 2; }

clean:
	rm -rf .venv java-apps/dist
	find java-apps -name target -type d -prune -exec rm -rf {} +

.venv/docs/ready: docs/requirements.txt .venv/ready
	@rm -rf .venv/docs && $(PYTHON) -m venv .venv/docs
	@.venv/docs/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r docs/requirements.txt
	@touch $@

# The programs of .venv name its path: in a copy of a checkout they run the code of the first, and once a checkout is
# moved they do not start. So .venv is recreated where it names another path.
ifneq ($(wildcard .venv/ready),)
ifeq ($(shell grep -F ' $(CURDIR)/.venv' .venv/pyvenv.cfg),)
.PHONY: .venv/ready
endif
endif

# Everything else is installed by the playbooks; this is what it takes to run them.
.venv/ready: requirements.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || [ $(PYTHON) != python3 ] || \
	  { $(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -y -q --no-install-recommends python3 python3-venv; }
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; install Python 3.11 or newer"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11; install a newer one and run make PYTHON=python3.x"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { $(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -y -q --no-install-recommends python3-venv; }
	@echo 'Installing the pinned Python packages into .venv'
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.txt
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
