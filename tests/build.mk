# SPDX-License-Identifier: MIT
# The tests' programs; tests/run runs them.

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT := $(UNIT_SRC:tests/%.c=$(O)/tests/%)
GOLDEN := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/golden/*.c))
FUZZ := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_CPPFLAGS = -Ilib -Itools/npu -Ikernel -DNPU_TEST_DATA='"tests/data"' $(DRM_CFLAGS)
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

unit: $(UNIT) $(GOLDEN)
fuzzers: $(FUZZ)
.PHONY: unit fuzzers
-include $(UNIT:=.d) $(GOLDEN:=.d)
