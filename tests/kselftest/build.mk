# SPDX-License-Identifier: GPL-2.0-only
# The driver's selftests, built as they are in the kernel: with its harness and
# its lib.mk, which tests/vm/fetch.sh takes from the kernel source package.

#: make kselftest            the driver's selftests, into $(O)/tests/kselftest

KSELFTEST = $(abspath $(O))/tests/kselftest

# What "make headers" would do to the kernel's headers that the tests use.
kselftest:
	$(Q)files=$$(tests/vm/fetch.sh source-files) && \
	inc=$(KSELFTEST).include/drm && mkdir -p $(KSELFTEST) $$inc && \
	for h in drm.h drm_mode.h vgem_drm.h; do \
		sed 's/__user //g' $$files/include/uapi/drm/$$h >$$inc/$$h.new && \
		{ cmp -s $$inc/$$h.new $$inc/$$h || cp $$inc/$$h.new $$inc/$$h; }; \
	done && \
	cp -u uapi/drm/*.h $$inc && \
	cp -u tests/kselftest/settings tests/kselftest/config $(KSELFTEST) && \
	$(MAKE) --no-print-directory -C tests/kselftest OUTPUT=$(KSELFTEST) \
		SELFTESTS=$$files/tools/testing/selftests \
		KHDR_INCLUDES='-isystem $(KSELFTEST).include' V=$(V) $(if $(W),USERCFLAGS=-Werror)

.PHONY: kselftest
