# SPDX-License-Identifier: MIT
# `make demo` and `make check` do all their own set-up; `make help` lists the rest.

V ?= 0
O ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CC = $(CROSS_COMPILE)gcc
AR = $(CROSS_COMPILE)ar
PKG_CONFIG ?= pkg-config
SAN ?=
CFLAGS ?= -O2 -g
VERSION := 0.1.0
SONAME := libnpu.so.0

Q = $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-8s%s\n' $(1) $(2);)

MACHINE := $(shell $(CC) $(CFLAGS) -dumpmachine 2>/dev/null)
ARCH := $(firstword $(subst -, ,$(MACHINE)))
DRM_CFLAGS = $(shell $(PKG_CONFIG) --cflags libdrm)
DRM_LIBS = $(shell $(PKG_CONFIG) --libs libdrm)
JANSSON = $(shell $(PKG_CONFIG) --cflags --libs jansson)

WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wundef \
	-Wno-unused-parameter -Wno-missing-field-initializers
ALL_CFLAGS = -std=gnu11 $(WARN) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
	-fno-sanitize-recover=all) -fPIC -fvisibility=hidden -pthread -MMD -MP $(CFLAGS) \
	-ffp-contract=off
CPPFLAGS += -Iuapi -Ilib/include -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
ALL_LDFLAGS = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN)) -pthread -Wl,-z,relro,-z,now

# ---- libnpu ----
# Each level of lib/kern is compiled for its own instructions: NAME.c or NAME_part.c.
KERN_X86 := $(wildcard lib/kern/sse*.c lib/kern/avx*.c)
KERN_ARM := $(wildcard lib/kern/neon*.c)
KERN_SRC := $(filter-out $(KERN_X86) $(KERN_ARM),$(wildcard lib/kern/*.c)) \
	$(if $(filter x86_64 i%86,$(ARCH)),$(KERN_X86)) $(if $(filter aarch64,$(ARCH)),$(KERN_ARM))
# The x87 of 32-bit programs would round twice.
FP_CFLAGS := $(if $(filter x86_64 i%86,$(ARCH)),-msse2 -mfpmath=sse)
KERN_sse4 := -msse4.1
KERN_avx2 := -mavx2 -mfma -mf16c -mbmi -mbmi2
KERN_avx512 := $(KERN_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
KERN_avx512vbmi := $(KERN_avx512) -mavx512vbmi
KERN_avx512vnni := $(KERN_avx512) -mavx512vnni
KERN_avx512bf16 := $(KERN_avx512vbmi) -mavx512bf16
LIB_SRC := $(wildcard lib/*.c lib/backend/*.c lib/engine/*.c) $(KERN_SRC)
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)

all: $(O)/npu $(O)/libnpu.a $(O)/$(SONAME) $(O)/npu-vdev
.DEFAULT_GOAL := all

$(O)/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) -DNPU_BUILD -Ilib $(DRM_CFLAGS) $(ALL_CFLAGS) \
		$(FP_CFLAGS) $(KERN_$(firstword $(subst _, ,$(basename $(notdir $<))))) -c -o $@ $<

$(O)/libnpu.a: $(LIB_OBJ)
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $(LIB_OBJ)

$(O)/$(SONAME): $(LIB_OBJ) lib/libnpu.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=lib/libnpu.map \
		$(if $(SAN),,-Wl,-z,defs) $(ALL_LDFLAGS) -o $@ $(LIB_OBJ) $(DRM_LIBS)
	$(Q)ln -sf $(SONAME) $(O)/libnpu.so

# ---- programs ----
TOOL_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard tools/npu/*.c tools/npu/tensor/*.c))
TENSOR_OBJ := $(filter $(O)/tools/npu/tensor/%,$(TOOL_OBJ))
VDEV_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard tools/vdev/*.c))
DEMO_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard tools/demo/*.c))
$(VDEV_OBJ): CPPFLAGS += -Ilib -Ikernel
$(VDEV_OBJ) $(TOOL_OBJ) $(DEMO_OBJ): CPPFLAGS += -DNPU_TOOL_VERSION='"$(VERSION)"'
$(TOOL_OBJ) $(DEMO_OBJ): CPPFLAGS += -Itools/npu

$(O)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# In the build folder a program finds the library beside it; the installed one is linked without.
$(O)/npu: RPATH = -Wl,-rpath,'$$ORIGIN'
$(O)/npu $(O)/install/npu: $(TOOL_OBJ) $(O)/$(SONAME)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) $(RPATH) -o $@ $(TOOL_OBJ) -L$(O) -lnpu $(JANSSON) -lm

$(O)/npu-demo: $(DEMO_OBJ) $(TENSOR_OBJ) $(O)/$(SONAME)
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@ $(DEMO_OBJ) $(TENSOR_OBJ) \
		-L$(O) -lnpu $(JANSSON) -lm

$(O)/npu-vdev: $(VDEV_OBJ) $(O)/libnpu.a
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(VDEV_OBJ) $(O)/libnpu.a $(DRM_LIBS)

# ---- documentation, installation ----
MAN := $(O)/man/npu.1 $(O)/man/npu-vdev.1
man: $(MAN)
$(O)/man/%.1: Documentation/%.rst
	@mkdir -p $(@D)
	$(call say,MAN,$@)rst2man $< $@

install: $(O)/install/npu $(O)/libnpu.a $(O)/$(SONAME) $(O)/npu-vdev
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin include/npu include/drm \
		share/bash-completion/completions lib/udev/rules.d) \
		$(addprefix $(DESTDIR)$(LIBDIR)/,. pkgconfig)
	install $(O)/install/npu $(O)/npu-vdev $(DESTDIR)$(PREFIX)/bin
	install -m644 tools/npu/npu.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/npu
	install -m644 kernel/60-npu.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d
	install -m644 lib/include/npu.h $(DESTDIR)$(PREFIX)/include
	install -m644 lib/include/npu/*.h $(DESTDIR)$(PREFIX)/include/npu
	install -m644 uapi/drm/*.h $(DESTDIR)$(PREFIX)/include/drm
	install -m644 $(O)/libnpu.a $(DESTDIR)$(LIBDIR)
	install $(O)/$(SONAME) $(DESTDIR)$(LIBDIR)/libnpu.so.$(VERSION)
	ln -sf libnpu.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libnpu.so
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@libdir@|$(LIBDIR)|' -e 's|@version@|$(VERSION)|' \
		lib/npu.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/npu.pc

install-man: man
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1

# ---- the two commands, and the parts of the second ----
demo:
	$(Q)scripts/deps demo
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) $(O)/npu $(O)/npu-demo
	$(Q)$(O)/npu-demo tests/data/real

check:
	$(Q)scripts/deps check
	$(Q)tests/run

help:
	@sed -n 's/^#: //p' Makefile tests/*.mk tests/*/*.mk

#: make                      libnpu, npu and npu-vdev in $(O) (default: build)
#: make demo                 install what is missing, build, convert a real network's tensors
#: make check                install what is missing, run all tests
#: make install              DESTDIR= PREFIX= LIBDIR=
#: make man                  manual pages (rst2man); install-man installs them
#: make SAN=address,undefined CC=clang O=build/asan     a build with sanitizers

clean:
	rm -rf $(O)

.PHONY: all man install install-man demo check help clean
include tests/build.mk tests/vm/build.mk
-include tests/kselftest/build.mk
-include $(LIB_OBJ:.o=.d) $(TOOL_OBJ:.o=.d) $(VDEV_OBJ:.o=.d) $(DEMO_OBJ:.o=.d)
