# SPDX-License-Identifier: GPL-2.0
#
# metaroce: a soft-RDMA device over UDP. This Makefile is for people and
# machines that work on the tree; the kernel's build reads Kbuild.
#
# "make help" tells what there is.

CI	:= tools/ci
VM	:= tools/vm
# The kernels that must work. Headers only: newest; see tools/ci/kernels.sh
KERNELS	:= stock-6.1 stock-6.12 newest uml
GUEST	?= stock-6.12
# W=1 and C=1 as in the kernel's own build
KBUILD_ARGS := $(if $(W),W=$(W)) $(if $(C),C=$(C))

DKMS_NAME	:= metaroce
DKMS_VERSION	= $(shell git describe --always --dirty 2>/dev/null || echo 0)

all: modules

help:
	@echo  'Use:'
	@echo  '  modules         - build the module for all kernels it must work with, or'
	@echo  '                    for one:  KDIR=/lib/modules/$$(uname -r)/build'
	@echo  '  modules_install - install it for the running kernel (or KDIR=); as root'
	@echo  '  dkms            - hand the tree to DKMS; as root'
	@echo  '  install         - the program mroce and the manual pages; as root, or with'
	@echo  '                    DESTDIR=, PREFIX=/usr/local.  uninstall removes them'
	@echo  '  demo            - see it work: a guest with two links, unmodified programs'
	@echo  '                    GUEST=stock-6.12 (default), stock-6.1, uml'
	@echo  'Test:'
	@echo  '  check           - the tests that every change must pass; ends in'
	@echo  '                    "N passed, N failed"'
	@echo  '  check-full      - these, and the demo'
	@echo  '  check-quick     - what takes less than three minutes'
	@echo  '  check-debug     - all selftests on a UML kernel with all checkers,'
	@echo  '                    1,000 cycles of links among them: hours'
	@echo  '  check-static    - sparse, W=1, checkpatch, layers, manual pages'
	@echo  '  check-rdma-core - the test suite of rdma-core, in UML'
	@echo  '  check-kunit     - KUnit, in UML'
	@echo  '  unit            - the unit tests in userspace, with ASan and UBSan'
	@echo  '  selftests       - the kselftests, in UML;  TESTS="a b" for some of them'
	@echo  'Measure:'
	@echo  '  sim             - the transport in a simulator, others beside it; plots,'
	@echo  '                    goals met and short. SCENARIOS="loss incast", SEED=7'
	@echo  '  sim-seeds       - property runs in random networks: N=1000 SEED=1'
	@echo  '  bench           - throughput, latency, recovery; next to rdma_rxe and TCP'
	@echo  'Other:'
	@echo  '  kernels         - fetch and build all guest kernels now'
	@echo  '  shell           - a command in a guest: CMD="..." GUEST=uml'
	@echo  '  intree          - copy the driver into a kernel tree: KSRC=path'
	@echo  '  clean           - remove out/; kernels stay in the cache'
	@echo  '  distclean       - the cache of kernels too'

# ---- build --------------------------------------------------------------------

ifdef KDIR
modules:
	$(CI)/build.sh $(abspath $(KDIR)) $(KBUILD_ARGS)
else
modules: $(KERNELS:%=module-%)
endif

module-%:
	$(CI)/build.sh $* $(KBUILD_ARGS)

INSTALL_KDIR = $(or $(KDIR),/lib/modules/$(shell uname -r)/build)
modules_install:
	$(CI)/build.sh $(abspath $(INSTALL_KDIR)) $(KBUILD_ARGS)
	$(MAKE) -C $(INSTALL_KDIR) M=$(CURDIR)/out/build/$$($(MAKE) -s -C $(INSTALL_KDIR) kernelrelease)/src modules_install

dkms:
	$(CI)/dkms.sh $(DKMS_NAME) $(DKMS_VERSION)

install:
	$(CI)/deps.sh tool
	$(MAKE) -C tools/mroce install

uninstall:
	$(MAKE) -C tools/mroce uninstall

intree:
	$(CI)/intree.sh $(KSRC)

kernels:
	for k in stock-6.12 stock-6.1 newest uml uml-debug; do \
		$(CI)/kernels.sh get $$k || exit 1; done

# ---- test ---------------------------------------------------------------------

unit:
	$(CI)/deps.sh unit
	$(MAKE) -C tools/unit check

sim:
	$(CI)/deps.sh unit
	$(MAKE) --no-print-directory -C tools/sim run $(if $(SEED),SEED=$(SEED)) $(if $(SCENARIOS),SCENARIOS="$(SCENARIOS)")

sim-seeds:
	$(CI)/deps.sh unit
	$(MAKE) --no-print-directory -C tools/sim seeds $(if $(N),N=$(N)) $(if $(SEED),SEED=$(SEED)) $(if $(VERBOSE),VERBOSE=1)

sim-smoke:
	$(CI)/check.sh sim-smoke

demo:
	$(VM)/demo.sh $(GUEST)

check:
	$(CI)/check.sh all

check-full:
	$(CI)/check.sh full

check-quick:
	$(CI)/check.sh quick

check-debug:
	$(CI)/check.sh debug

check-static:
	$(CI)/check.sh static checkpatch layers

check-rdma-core:
	$(CI)/check.sh rdma-core

check-kunit:
	$(CI)/check.sh kunit

selftests:
	TESTS="$(TESTS)" $(CI)/check.sh selftests

bench:
	tools/bench/run.sh

shell:
	$(VM)/run --kernel $(GUEST) -- sh -c '$(CMD)'

clean:
	rm -rf out

distclean: clean
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/metaroce"

.PHONY: all sim sim-seeds sim-smoke help modules modules_install dkms install uninstall intree kernels unit demo check \
	check-full check-quick check-debug check-static check-rdma-core check-kunit \
	selftests bench shell clean distclean
