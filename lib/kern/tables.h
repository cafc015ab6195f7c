/* SPDX-License-Identifier: MIT */
/* Values by code; each file uses some of them. */
#ifndef NPU_KERN_TABLES_H
#define NPU_KERN_TABLES_H

#include <stdint.h>

#define NPU_MAYBE_UNUSED __attribute__((unused))

static const NPU_MAYBE_UNUSED int8_t i4_i8_codes[16] = {
	0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1,
};

static const NPU_MAYBE_UNUSED uint8_t f4_f8e4m3_codes[16] = {
	0x00, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c,
	0x80, 0xb0, 0xb8, 0xbc, 0xc0, 0xc4, 0xc8, 0xcc,
};

static const NPU_MAYBE_UNUSED uint8_t f4_f8e5m2_codes[16] = {
	0x00, 0x38, 0x3c, 0x3e, 0x40, 0x42, 0x44, 0x46,
	0x80, 0xb8, 0xbc, 0xbe, 0xc0, 0xc2, 0xc4, 0xc6,
};

/* bf16 of the f8e4m3 codes 0..7. */
static const NPU_MAYBE_UNUSED uint16_t f8e4m3_bf16_small[8] = {
	0x0000, 0x3b00, 0x3b80, 0x3bc0, 0x3c00, 0x3c20, 0x3c40, 0x3c60,
};

/* bf16 of the f8e5m2 codes 0..3 and 0x7c..0x7f. */
static const NPU_MAYBE_UNUSED uint16_t f8e5m2_bf16_special[8] = {
	0x0000, 0x3780, 0x3800, 0x3840, 0x7f80, 0x7fc0, 0x7fc0, 0x7fc0,
};

#endif
