// SPDX-License-Identifier: MIT
/* npu fetch: tables out of files and of functions. */
#include <stdlib.h>
#include <string.h>

#include "fetch.h"

static uint64_t keys_of(uint32_t type)
{
	return 1ull << npu_type_bits(type);
}

static int check_key(const char *option, uint32_t key_type)
{
	if (npu_type_bits(key_type) <= 16)
		return 0;
	return fail_rule(NPU_RULE_LUT_KEY_TYPE, "%s: the elements are %s", option,
			 npu_type_name(key_type));
}

static int make_function(const struct fetch_args *args, uint32_t key_type,
			 struct fetch_table *table)
{
	double scale = args->has_table_scale ? args->table_scale : 1.0;
	int ret;

	ret = check_key("--table-fn", key_type);
	if (ret)
		return ret;
	table->entry_type = args->table_type;
	table->bytes = npu_type_bytes(args->table_type, keys_of(key_type));
	table->data = malloc(table->bytes);
	if (!table->data)
		return fail_memory();
	ret = npu_table_fill(args->table_function, key_type, args->table_type, scale, table->data,
			     table->bytes);
	return ret ? fail_npu(ret) : 0;
}

static int check_file(const struct fetch_args *args, uint32_t key_type, const struct tensor *t)
{
	uint64_t keys = keys_of(key_type);

	if (t->elements != keys)
		return fail(NPU_EXIT_INPUT,
			    "%s: the table has %llu entries, keys of type %s have %llu", args->table,
			    (unsigned long long)t->elements, npu_type_name(key_type),
			    (unsigned long long)keys);
	if (args->table_type && npu_type_bits(args->table_type) != npu_type_bits(t->type))
		return fail(NPU_EXIT_USAGE,
			    "--table-type: %s has %u bits, the entries in %s have %u",
			    npu_type_name(args->table_type), npu_type_bits(args->table_type),
			    args->table, npu_type_bits(t->type));
	return 0;
}

static int read_file(const struct fetch_args *args, uint32_t key_type, const struct input *in,
		     struct fetch_table *table)
{
	int ret;

	ret = check_file(args, key_type, &in->t);
	if (ret)
		return ret;
	table->entry_type = args->table_type ? args->table_type : in->t.type;
	table->bytes = in->t.bytes;
	table->data = malloc(table->bytes);
	return table->data ? input_read_whole(in, table->data) : fail_memory();
}

int fetch_table_make(const struct fetch_args *args, uint32_t key_type, struct fetch_table *table)
{
	struct input in;
	int ret;

	memset(table, 0, sizeof(*table));
	if (args->table_function != NO_FUNCTION)
		return make_function(args, key_type, table);
	if (!args->table)
		return 0;
	ret = check_key("--table", key_type);
	if (!ret)
		ret = input_open_table(&in, args->table);
	if (ret)
		return ret;
	ret = read_file(args, key_type, &in, table);
	input_close(&in);
	return ret;
}

void fetch_table_free(struct fetch_table *table)
{
	free(table->data);
	table->data = NULL;
}
