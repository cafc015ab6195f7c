// SPDX-License-Identifier: GPL-2.0-only

#include "npu_drv.h"

#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "npu_trace.h"
#endif
