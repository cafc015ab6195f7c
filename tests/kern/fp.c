// SPDX-License-Identifier: MIT
/* The floating-point control register of a caller. */
#include "kern_test.h"

#if defined(__x86_64__) || defined(__i386__)
#define DEFAULT_CONTROL 0x1f80ul
#define FLUSH (1ul << 15 | 1ul << 6)	/* FTZ, DAZ */
#define ROUND_SHIFT 13
#define STICKY 0x3ful

unsigned long fp_get(void)
{
	unsigned int control;

	__asm__ volatile("stmxcsr %0" : "=m"(control) : : "memory");
	return control;
}

void fp_set(unsigned long control)
{
	unsigned int value = (unsigned int)control;

	__asm__ volatile("ldmxcsr %0" : : "m"(value) : "memory");
}
#elif defined(__aarch64__)
#define DEFAULT_CONTROL 0ul
#define FLUSH (1ul << 24)		/* FZ */
#define ROUND_SHIFT 22
#define STICKY 0ul

unsigned long fp_get(void)
{
	unsigned long control;

	__asm__ volatile("mrs %0, fpcr" : "=r"(control) : : "memory");
	return control;
}

void fp_set(unsigned long control)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
}
#else
#define DEFAULT_CONTROL 0ul
#define FLUSH 0ul
#define ROUND_SHIFT 0
#define STICKY ~0ul

unsigned long fp_get(void)
{
	return 0;
}

void fp_set(unsigned long control)
{
	(void)control;
}
#endif

unsigned long fp_mode(unsigned int mode)
{
	unsigned long control = DEFAULT_CONTROL;

	/* nearest; down, up, zero; nearest and zero with subnormals flushed */
	if (mode == 5)
		control |= 3ul << ROUND_SHIFT;
	else if (mode < 4)
		control |= (unsigned long)mode << ROUND_SHIFT;
	return mode >= 4 ? control | FLUSH : control;
}

unsigned long fp_control(unsigned long control)
{
	return control & ~STICKY;
}
