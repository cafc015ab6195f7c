# SPDX-License-Identifier: MIT
# The tests' programs; tests/run runs them.

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRC:tests/%.c=$(O)/tests/%)
GOLDEN := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/golden/*.c))
FUZZ := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_CPPFLAGS = -Ilib -Ilib/kern -Itools/npu -Ikernel -DNPU_TEST_DATA='"tests/data"' $(DRM_CFLAGS)
CMOCKA = $(shell $(PKG_CONFIG) --cflags --libs cmocka)
VDEV_TEST_OBJ = $(filter-out %/main.o,$(VDEV_OBJ))

$(UNIT) $(GOLDEN): $(O)/tests/%: tests/%.c $(O)/libnpu.a $(TENSOR_OBJ) $(VDEV_OBJ)
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) $(TEST_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< \
		$(if $(findstring vdev,$@),$(VDEV_TEST_OBJ)) $(TENSOR_OBJ) $(O)/libnpu.a \
		$(DRM_LIBS) $(JANSSON) $(CMOCKA) \
		$(if $(shell grep -l '<mpfr.h>' $<),-lmpfr -lgmp) -lm

$(FUZZ): $(O)/tests/%: tests/%.c $(O)/libnpu.a $(TENSOR_OBJ) $(VDEV_OBJ)
	@mkdir -p $(@D)
	$(call say,FUZZ,$@)$(CC) $(CPPFLAGS) $(TEST_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) \
		-fsanitize=fuzzer -o $@ $< $(if $(findstring vdev,$@),$(VDEV_TEST_OBJ)) \
		$(TENSOR_OBJ) $(O)/libnpu.a $(DRM_LIBS) $(JANSSON) -lm

# The kernels alone; KERN_LDFLAGS=-static for another architecture's emulator.
KERN_TEST := $(O)/tests/kern/kern_test
EXHAUSTIVE := $(O)/tests/kern/exhaustive
$(EXHAUSTIVE): KERN_TEST_SRC = $(wildcard tests/kern/exhaustive*.c)
$(KERN_TEST): KERN_TEST_SRC = $(filter-out tests/kern/exhaustive%,$(wildcard tests/kern/*.c))
$(KERN_TEST) $(EXHAUSTIVE): $(O)/libnpu.a $(wildcard tests/kern/*.[ch])
	@mkdir -p $(@D)
	$(call say,TEST,$@)$(CC) $(CPPFLAGS) $(TEST_CPPFLAGS) $(filter-out -MMD -MP,$(ALL_CFLAGS)) \
		$(ALL_LDFLAGS) $(KERN_LDFLAGS) -o $@ $(KERN_TEST_SRC) $(O)/libnpu.a -lm

#: make check-exhaustive     every conversion on its whole domain at each level (minutes)
check-exhaustive: $(EXHAUSTIVE)
	$(Q)$(EXHAUSTIVE)

#: make bench-figure         measure, and draw Documentation/performance.svg
bench-figure:
	$(Q)scripts/deps bench
	$(Q)$(MAKE) --no-print-directory $(O)/npu
	$(Q)$(O)/npu bench --csv > $(O)/bench.csv
	gnuplot -e "csv='$(O)/bench.csv'; svg='Documentation/performance.svg'" tools/npu/bench.gp

unit: $(UNIT) $(GOLDEN)
kern-test: $(KERN_TEST)
fuzzers: $(FUZZ)
.PHONY: unit kern-test fuzzers check-exhaustive bench-figure
-include $(UNIT:=.d) $(GOLDEN:=.d)
