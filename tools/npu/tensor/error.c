// SPDX-License-Identifier: MIT
/* Messages: one sentence, safe to print on a terminal. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

int tensor_fail(struct tensor_error *err, int error, const char *fmt, ...)
{
	va_list args;
	char *p;

	if (!err)
		return -error;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	/* Names come out of files: none may move the cursor or break the line. */
	for (p = err->text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	return -error;
}

void tensor_label(char label[LABEL_SIZE], const char *name)
{
	size_t len = strlen(name);

	if (len < LABEL_SIZE)
		memcpy(label, name, len + 1);
	else
		snprintf(label, LABEL_SIZE, "...%s", name + len - (LABEL_SIZE - 4));
}

void tensor_where(char where[WHERE_SIZE], const struct tensor_file *file,
		  const struct tensor_info *info)
{
	if (*info->name)
		snprintf(where, WHERE_SIZE, "%s: tensor '%.100s'", file->label, info->name);
	else
		snprintf(where, WHERE_SIZE, "%s", file->label);
}
