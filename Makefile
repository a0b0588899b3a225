# unetback: one makefile, no recursion.  `make help` lists the targets.
#
# Everything is built into build/VARIANT, a compiler and its sanitizers each:
#	release   gcc, optimized: what is installed
#	clang     the same by clang, to have its warnings too
#	asan      gcc with AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer: the tests
#	tsan      gcc with ThreadSanitizer: the tests of what is threaded
#	fuzz      clang with coverage for libFuzzer, ASan and UBSan: the fuzzers
# libopenvswitch is built once into build/ovs from Debian's openvswitch-source, see below.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

VERSION := 0.1
PREFIX  ?= /usr/local
DESTDIR ?=
JOBS    ?= $(shell nproc)
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(JOBS)
endif

VARIANTS := release clang asan tsan fuzz
CC_release := gcc
CC_clang   := clang
CC_asan    := gcc
CC_tsan    := gcc
CC_fuzz    := clang
CFLAGS_release := -O2 -g
CFLAGS_clang   := -O2 -g
CFLAGS_asan    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
		  -fno-sanitize-recover=undefined
CFLAGS_tsan    := -O1 -g -fsanitize=thread -Wno-tsan	# it does not know fences; they only add order
CFLAGS_fuzz    := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
		  -fno-sanitize-recover=undefined
CFLAGS := -std=gnu11 -Wall -Wextra -Werror -fPIC -pthread -D_GNU_SOURCE -DUNETBACK_VERSION='"$(VERSION)"'
# One line a command; `make V=1` shows the commands.
quiet = $(if $(V),,@printf '  %-4s %s\n' '$(1)' '$@' && )
LIBS_XEN := -lxengnttab -lxenevtchn -lxenstore -lxentoolcore

.PHONY: all help deps check check-unit check-sim check-conformance check-system check-lab lint demo demo-sim bench \
	fuzz install clean programs tests
all: programs

help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

## make               the programs, into build/release
## make check         all tests; the last line is `N passed, N failed`
## make check-unit    unit tests, under ASan + UBSan and under TSan
## make check-sim     life cycles and hostile guests in the simulator, no Xen needed
## make check-conformance  every frontend there is, as a model: a line a profile
## make check-system  TAP, daemon manners and OVS in network namespaces
## make check-lab     real Xen, real guests (QEMU emulation)
## make lint          include rules, sizes, shellcheck, man pages
## make demo          real Xen: two guests through unetback and OVS, beside xen-netback
## make demo-sim      two simulated guests through unetback and OVS: seconds, no Xen
## make bench         cycles a frame of the ring path alone, in the simulator
## make fuzz          fuzzers for what reads guest input (FUZZ_SECONDS each)
## make install       into PREFIX (/usr/local), below DESTDIR
## make deps          installs missing Debian packages
## make clean         removes build/

# --- what is needed ---------------------------------------------------------------------------

deps: build/deps-build build/deps-check
build/deps-%: tools/install-deps
	@mkdir -p $(@D)
	@tools/install-deps $*
	@touch $@

# --- libopenvswitch ---------------------------------------------------------------------------
# Debian ships no library to link with, only its sources, with configure made.  Without AF_XDP: it
# would drag the whole of netdev and dpif into every program.  The stamp is the tarball's checksum,
# so that a security update of openvswitch-source rebuilds it.

OVS_TARBALL := /usr/src/openvswitch/openvswitch.tar.gz
OVS_SOURCE  := build/ovs/openvswitch
OVS_BUILD   := build/ovs/build
OVS_LIB     := $(OVS_BUILD)/lib/.libs/libopenvswitch.a
OVS_INCLUDE := -isystem $(OVS_BUILD) -isystem $(OVS_SOURCE) -isystem $(OVS_SOURCE)/include \
	       -isystem $(OVS_BUILD)/include -isystem $(OVS_SOURCE)/lib -isystem $(OVS_BUILD)/lib
OVS_LIBS    := $(OVS_LIB) $(OVS_BUILD)/lib/.libs/libopenvswitchavx512.a -latomic -lcap-ng -lbpf -lm -lpthread
OVS_BUILT_SOURCES := include/odp-netlink.h include/odp-netlink-macros.h lib/vswitch-idl.h \
		     lib/vswitch-idl.c lib/ovsdb-server-idl.h

.PHONY: always
build/ovs/checksum: always | build/deps-build
	@mkdir -p $(@D)
	@sum=$$(sha256sum $(OVS_TARBALL)); [ "$$(cat $@ 2>/dev/null)" = "$$sum" ] || echo "$$sum" >$@

$(OVS_LIB): build/ovs/checksum
	@echo "building libopenvswitch (once, about a minute)"
	@rm -rf $(OVS_SOURCE) $(OVS_BUILD) && mkdir -p $(OVS_BUILD)
	@tar -xzf $(OVS_TARBALL) -C build/ovs
	@cd $(OVS_BUILD) && ../openvswitch/configure -q --prefix=/usr --localstatedir=/var \
		--sysconfdir=/etc --disable-ssl --disable-afxdp --disable-dependency-tracking \
		CFLAGS="-O2 -g -fPIC" >configure.log 2>&1
	@env -u MAKEFLAGS -u MAKELEVEL make -j$(JOBS) -C $(OVS_BUILD) $(OVS_BUILT_SOURCES) >$(OVS_BUILD)/make.log 2>&1
	@env -u MAKEFLAGS -u MAKELEVEL make -j$(JOBS) -C $(OVS_BUILD) lib/libopenvswitch.la >>$(OVS_BUILD)/make.log 2>&1

# --- programs ---------------------------------------------------------------------------------

# The engine: what moves frames.  Knows no XenStore, no OVS.
ENGINE := log verdict vif_state vif_config channel pages gcopy ring events offload packet \
	  checksum rx_queue arena guest_tx guest_rx port_visit stall announce queue_pair waits queue_thread credit limiter segment cutter oversize antispoof multicast hash gref_map control_ring vif_common instance sandbox
# The control plane.
CONTROL := xenbus xenstore key_names vif_keys vif_policy vif vif_life vif_connect vif_link supervisor supervisor_talk instance_process
# Ports: no OVS header, linked into the instance.
PORTS := ports tap null buffers
# The OVS manners and the devices behind ports, linked into unetbackd and the CLI.
GLUE := daemon report devices net_link link_events tap_holder tap_reaper tap_device steering control_client

ENGINE_OBJECTS  := $(ENGINE:%=backend/%.o)
CONTROL_OBJECTS := $(CONTROL:%=backend/%.o)
PORT_OBJECTS    := $(PORTS:%=ovs-glue/%.o)
GLUE_OBJECTS    := $(GLUE:%=ovs-glue/%.o)
UNETBACKD_OBJECTS := $(patsubst %.c,%.o,$(wildcard backend/unetbackd*.c))
PROGRAMS := unetbackd unetback-instance unetback

# The program that the kernel runs for each frame that enters a TAP, as data for steering.c.
BPF_INCLUDE := -isystem /usr/include/$(shell gcc -print-multiarch)
build/bpf/%.bpf.o: ovs-glue/%.bpf.c | build/deps-build
	@mkdir -p $(@D)
	$(call quiet,BPF)clang -O2 -g -target bpf -Wall -Wextra -Werror $(BPF_INCLUDE) -c -o $@ $<
build/bpf/%_data.o: build/bpf/%.bpf.o
	$(call quiet,LD)cd $(@D) && ld -r -b binary -z noexecstack -o $(@F) $(<F)

define variant
build/$(1)/ovs-glue/%.o: ovs-glue/%.c $(OVS_LIB) | build/deps-build
	@mkdir -p $$(@D)
	$$(call quiet,CC)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(OVS_INCLUDE) -MMD -MP -c -o $$@ $$<
build/$(1)/%.o: %.c | build/deps-build
	@mkdir -p $$(@D)
	$$(call quiet,CC)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) -MMD -MP -c -o $$@ $$<

build/$(1)/libengine.a: $(ENGINE_OBJECTS:%=build/$(1)/%)
build/$(1)/libcontrol.a: $(CONTROL_OBJECTS:%=build/$(1)/%)
build/$(1)/libports.a: $(PORT_OBJECTS:%=build/$(1)/%)
build/$(1)/libglue.a: $(GLUE_OBJECTS:%=build/$(1)/%) build/bpf/steering_data.o
build/$(1)/%.a:
	@rm -f $$@
	$$(call quiet,AR)ar rcs $$@ $$(filter %.o,$$^)

build/$(1)/unetback-instance: build/$(1)/backend/instance_main.o build/$(1)/libports.a build/$(1)/libengine.a
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ $(LIBS_XEN) -lcap-ng
build/$(1)/unetbackd: $(UNETBACKD_OBJECTS:%=build/$(1)/%) build/$(1)/libcontrol.a build/$(1)/libengine.a \
		build/$(1)/libglue.a
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ $(OVS_LIBS) $(LIBS_XEN)
build/$(1)/unetback: build/$(1)/tools/unetback.o build/$(1)/libglue.a
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ $(OVS_LIBS)

# Unit tests include the .c under test; what else they need comes from the libraries.
build/$(1)/tests/unit/%.o: tests/unit/%.c $(OVS_LIB) | build/deps-check
	@mkdir -p $$(@D)
	$$(call quiet,CC)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(OVS_INCLUDE) -MMD -MP -c -o $$@ $$<
build/$(1)/tests/unit/%: build/$(1)/tests/unit/%.o build/$(1)/libcontrol.a build/$(1)/libports.a \
		build/$(1)/libengine.a build/$(1)/libglue.a
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ -lcmocka $(OVS_LIBS) $(LIBS_XEN)

# Test programs of the system suite link the control plane's side of the glue.
build/$(1)/tests/system/%.o: tests/system/%.c $(OVS_LIB) | build/deps-check
	@mkdir -p $$(@D)
	$$(call quiet,CC)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(OVS_INCLUDE) -MMD -MP -c -o $$@ $$<
build/$(1)/tests/system/%: build/$(1)/tests/system/%.o build/$(1)/libglue.a build/$(1)/libengine.a
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ -lcmocka $(OVS_LIBS) $(LIBS_XEN)
endef
$(foreach v,$(VARIANTS),$(eval $(call variant,$(v))))
.SECONDARY:

programs: $(PROGRAMS:%=build/release/%)

UNIT_TESTS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
SYSTEM_TESTS := $(patsubst tests/system/%.c,build/asan/tests/system/%,$(wildcard tests/system/*.c))

# --- simulator --------------------------------------------------------------------------------
# simxen, its tools, the drop-in libraries (lib/, named as the real ones, for LD_LIBRARY_PATH) and
# what lets xenstored run: the shipped binaries run in it unchanged.  The preloaded library is never
# sanitized, as xenstored is not.

SIM_PROGRAMS := simxen simxenctl simtoolstack simstore simfront
SIM_LIBS     := lib/libxengnttab.so.1 lib/libxenevtchn.so.1 lib/xenstored_preload.so
SIM_TESTS    := $(patsubst tests/sim/%.c,%,$(wildcard tests/sim/test_*.c))
SIM_NETFRONT := netfront netfront_xenbus netfront_tx netfront_rx netfront_control simguest client
SIM_simxen       := simxen simxen_domain simxen_events simxen_grants simxen_status
SIM_simxenctl    := simxenctl client
SIM_simtoolstack := simtoolstack simtoolstack_store client
SIM_simfront     := simfront simfront_tap simfront_offload $(SIM_NETFRONT)
SIM_simstore     := simstore
SIM_gnttab       := gnttab gnttab_copy gntshr client
SIM_evtchn       := evtchn client
CONFORMANCE_TESTS := $(patsubst tests/conformance/%.c,%,$(wildcard tests/conformance/test_*.c))
CONFORMANCE      := profile windows life stack traffic scene
SIM_harness      := simtest simback simvif echo_backend $(SIM_NETFRONT)

define simulator
build/$(1)/tests/sim/lib/libxengnttab.so.1: $(SIM_gnttab:%=build/$(1)/tests/sim/%.o) tests/sim/libxengnttab.map
build/$(1)/tests/sim/lib/libxenevtchn.so.1: $(SIM_evtchn:%=build/$(1)/tests/sim/%.o) tests/sim/libxenevtchn.map
build/$(1)/tests/sim/lib/libxen%.so.1:
	@mkdir -p $$(@D)
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) -shared -Wl,-soname,libxen$$*.so.1 \
		-Wl,--version-script=tests/sim/libxen$$*.map -o $$@ $$(filter %.o,$$^)
build/$(1)/tests/sim/lib/xenstored_preload.so: tests/sim/xenstored_preload.c | build/deps-check
	@mkdir -p $$(@D)
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) -O2 -g -shared -o $$@ $$<
$(foreach p,$(SIM_PROGRAMS),
build/$(1)/tests/sim/$(p): $(SIM_$(p):%=build/$(1)/tests/sim/%.o)
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ -lxenstore
)
build/$(1)/tests/sim/test_hostile: build/$(1)/tests/sim/hostile.o
build/$(1)/tests/sim/test_%: build/$(1)/tests/sim/test_%.o $(SIM_harness:%=build/$(1)/tests/sim/%.o) \
		build/$(1)/tests/sim/lib/libxengnttab.so.1 build/$(1)/tests/sim/lib/libxenevtchn.so.1
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ -Wl,-rpath,'$$$$ORIGIN/lib' -lcmocka -lxenstore
build/$(1)/tests/conformance/test_%: build/$(1)/tests/conformance/test_%.o \
		$(CONFORMANCE:%=build/$(1)/tests/conformance/%.o) $(SIM_harness:%=build/$(1)/tests/sim/%.o) \
		build/$(1)/tests/sim/simfront_tap.o build/$(1)/tests/sim/simfront_offload.o \
		build/$(1)/tests/sim/lib/libxengnttab.so.1 build/$(1)/tests/sim/lib/libxenevtchn.so.1
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$(filter %.o,$$^) \
		$$(filter %.so.1,$$^) -Wl,-rpath,'$$$$ORIGIN/../sim/lib' -lcmocka -lxenstore
simulator-$(1): $(addprefix build/$(1)/tests/sim/,$(SIM_PROGRAMS) $(SIM_LIBS))
endef
$(foreach v,$(VARIANTS),$(eval $(call simulator,$(v))))
.PHONY: $(VARIANTS:%=simulator-%)

check check-sim: $(PROGRAMS:%=build/asan/%) simulator-release simulator-clang simulator-asan $(SIM_TESTS:%=build/asan/tests/sim/%)
check check-conformance: $(PROGRAMS:%=build/asan/%) simulator-release simulator-asan \
		$(CONFORMANCE_TESTS:%=build/asan/tests/conformance/%) $(CONFORMANCE_TESTS:%=build/release/tests/conformance/%)
check-conformance: programs | build/deps-check
	tests/run conformance
demo-sim bench: simulator-release
check-sim: programs | build/deps-check
	tests/run sim

# --- tests ------------------------------------------------------------------------------------
# tests/run runs suites and counts; its last line is `N passed, N failed`.

check-unit: $(UNIT_TESTS:%=build/asan/tests/unit/%) $(UNIT_TESTS:%=build/tsan/tests/unit/%) | build/deps-check
	tests/run unit
check-system: programs $(PROGRAMS:%=build/asan/%) $(SYSTEM_TESTS) | build/deps-check
	tests/run system
check-lab: programs | build/deps-check
	tests/run lab
lint: | build/deps-check
	tests/run lint
check: programs $(PROGRAMS:%=build/clang/%) $(PROGRAMS:%=build/asan/%) $(SYSTEM_TESTS) \
		$(UNIT_TESTS:%=build/asan/tests/unit/%) $(UNIT_TESTS:%=build/tsan/tests/unit/%) | build/deps-check
	tests/run lint unit sim conformance system lab

demo: programs
	tests/lab/demo
demo-sim: programs | build/deps-check
	tests/sim/demo

# --- fuzz -------------------------------------------------------------------------------------
# A target a surface: tests/fuzz/fuzz_NAME.c.  With libFuzzer in build/fuzz; with replay.c in
# build/asan, where check-unit runs the inputs that are checked in.

FUZZ_SECONDS ?= 20
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(FUZZ_TARGETS:%=build/asan/tests/fuzz/test_%)

define fuzzers
build/$(1)/tests/fuzz/%.o: tests/fuzz/%.c | build/deps-check
	@mkdir -p $$(@D)
	$$(call quiet,CC)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) -MMD -MP -c -o $$@ $$<
build/$(1)/tests/fuzz/test_%: build/$(1)/tests/fuzz/fuzz_%.o build/$(1)/tests/fuzz/replay.o \
		build/$(1)/libcontrol.a build/$(1)/libengine.a
	$$(call quiet,LD)$(CC_$(1)) $(CFLAGS) $(CFLAGS_$(1)) $(LDFLAGS) -o $$@ $$^ -lcmocka $(LIBS_XEN)
endef
$(foreach v,$(VARIANTS),$(eval $(call fuzzers,$(v))))

build/fuzz/tests/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o build/fuzz/libcontrol.a build/fuzz/libengine.a
	$(call quiet,LD)$(CC_fuzz) $(CFLAGS) $(CFLAGS_fuzz) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_XEN)

check check-unit: $(FUZZ_REPLAYS)
fuzz: $(FUZZ_TARGETS:%=build/fuzz/tests/fuzz/fuzz_%)
	tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# --- bench ------------------------------------------------------------------------------------
# The engine on rings of a guest in the same process, over the simulator's libraries.

BENCH := bench_ring bench_guest generator meter
build/release/tests/bench/bench_ring: $(BENCH:%=build/release/tests/bench/%.o) \
		build/release/tests/sim/simguest.o build/release/tests/sim/client.o \
		build/release/libports.a build/release/libengine.a \
		build/release/tests/sim/lib/libxengnttab.so.1 build/release/tests/sim/lib/libxenevtchn.so.1
	$(call quiet,LD)$(CC_release) $(CFLAGS) $(CFLAGS_release) $(LDFLAGS) -o $@ $^ -Wl,-rpath,'$$ORIGIN/../sim/lib'
bench: build/release/tests/bench/bench_ring simulator-release
	tests/bench/run

# --- install ----------------------------------------------------------------------------------

install: programs
	install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/libexec $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 755 build/release/unetbackd build/release/unetback-instance build/release/unetback \
		$(DESTDIR)$(PREFIX)/sbin/
	install -m 644 docs/man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8/

clean:
	rm -rf build

-include $(shell find build -name '*.d' -not -path 'build/ovs/*' 2>/dev/null)
