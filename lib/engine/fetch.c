// SPDX-License-Identifier: MIT
/*
 * FETCH into memory. Where source and output are contiguous, kernels work from
 * one to the other in long runs; everything else is gathered into a chunk,
 * converted and written out.
 */
#include <string.h>

#include "contract.h"

/* Bytes of the wider of input and output of a tile. */
#define TILE_BYTES (512u * 1024)
/* A shorter run of neighbours is gathered along with others. */
#define DIRECT_MIN 512u

struct fetch {
	struct npu_stream_source s;
	struct npu_chain chain;
	struct npu_operand dst;
	const struct npu_kern *last;	/* for stores to the output */
	uint64_t tile;			/* elements, even */
	uint64_t chunk;			/* elements, even */
	size_t scratch;
	uint64_t flit_bytes;		/* of a padded packet; 0: dense */
	bool direct;
};

/* What a worker works in. */
struct fetch_buffers {
	uint8_t *in;
	uint8_t *out;
	uint8_t *tmp;
};

/* Bytes of @n elements, and elements in @bytes. */
static uint64_t to_bytes(uint64_t n, unsigned int bits)
{
	return bits < 8 ? n / 2 + n % 2 : n * (bits / 8);
}

static uint64_t to_elements(uint64_t bytes, unsigned int bits)
{
	return bits < 8 ? bytes * 2 : bytes / (bits / 8);
}

static bool buffers_get(const struct fetch *f, unsigned int worker, struct fetch_buffers *b)
{
	b->in = npu_exec_scratch(f->s.x, worker, f->scratch);
	if (!b->in)
		return false;
	b->out = b->in + ((to_bytes(f->chunk, f->chain.in_bits) + 63) & ~(uint64_t)63);
	b->tmp = b->out + ((to_bytes(f->chunk, f->chain.out_bits) + 63) & ~(uint64_t)63);
	return true;
}

/*
 * Converts a run of neighbours from @at on, if there is a long one. Returns its
 * elements, 0 if there is none: at the end of a page an element may straddle.
 */
static uint64_t fetch_direct(const struct fetch *f, uint64_t at, uint64_t end, void *tmp)
{
	struct npu_exec *x = f->s.x;
	const struct npu_cmd_fetch *cmd = f->s.cmd;
	unsigned int in_bits = f->chain.in_bits, out_bits = f->chain.out_bits;
	struct npu_cursor c = { .nest = &f->s.nest, .base = cmd->src, .offset = cmd->offset };
	struct npu_window src, dst;
	uint64_t n, len;
	const uint8_t *from;
	uint8_t *to;

	npu_cursor_seek(&c, at);
	n = npu_min(npu_cursor_run(&c), end - at);
	if (n < DIRECT_MIN || (in_bits < 8 && (c.pos & 1)))
		return 0;
	npu_window_open(&src, x, &f->s.op[0], to_bytes(n, in_bits));
	npu_window_open(&dst, x, &f->dst, to_bytes(n, out_bits));
	from = npu_window_at(&src, in_bits < 8 ? c.base + (uint64_t)(c.pos / 2) :
			     c.base + (uint64_t)c.pos * (in_bits / 8), &len);
	if (!from)
		return 0;
	n = npu_min(n, to_elements(len, in_bits));
	to = npu_window_at(&dst, f->dst.address + to_bytes(at, out_bits), &len);
	if (!to)
		goto out;
	n = npu_min(n, to_elements(len, out_bits));
	if (at + n != end)
		n &= ~(uint64_t)1;
	npu_chain_run(&f->chain, x->kern, f->last, to, from, n, tmp);
	npu_window_close(&dst);
out:
	npu_window_close(&src);
	return to ? n : 0;
}

/* Whole packets as far as the window's pointer reaches; returns how many. */
static uint64_t write_packets(const struct fetch *f, struct npu_window *w, uint64_t addr,
			      uint64_t packets, uint64_t bytes, const uint8_t *buf)
{
	uint64_t len, i;
	uint8_t *to = npu_window_at(w, addr, &len);

	if (!to)
		return 0;
	packets = npu_min(packets, len / f->flit_bytes);
	for (i = 0; i < packets; i++) {
		memcpy(to, buf, (size_t)bytes);
		memset(to + bytes, 0, (size_t)(f->flit_bytes - bytes));
		to += f->flit_bytes;
		buf += bytes;
	}
	return packets;
}

/* Writes elements that begin at stream element @at, each packet padded to whole flits. */
static bool write_flits(const struct fetch *f, struct npu_window *w, uint64_t at, uint64_t n,
			const uint8_t *buf)
{
	unsigned int bits = f->chain.out_bits;
	uint64_t packet = f->s.cmd->packet_size;
	uint64_t slot = at % packet;
	uint64_t addr = f->dst.address + at / packet * f->flit_bytes + slot * bits / 8;

	while (n) {
		uint64_t here = npu_min(n, packet - slot);
		uint64_t bytes = here * bits / 8;
		uint64_t pad = slot + here == packet ? f->flit_bytes - packet * bits / 8 : 0;

		if (here == packet) {
			uint64_t whole = write_packets(f, w, addr, n / packet, bytes, buf);

			buf += whole * bytes;
			addr += whole * f->flit_bytes;
			n -= whole * packet;
			if (whole)
				continue;
		}
		if (!npu_window_write(w, addr, buf, bytes) ||
		    !npu_window_zero(w, addr + bytes, pad))
			return false;
		buf += bytes;
		addr += bytes + pad;
		slot = 0;
		n -= here;
	}
	return true;
}

static bool fetch_chunk(const struct fetch *f, uint64_t at, uint64_t n,
			const struct fetch_buffers *b)
{
	unsigned int out_bits = f->chain.out_bits;
	const struct npu_kern *kern = f->s.x->kern;
	uint64_t bytes = to_bytes(n, out_bits);
	struct npu_window w;
	uint64_t addr, len;
	uint8_t *to;
	bool ok;

	if (!npu_stream_gather(&f->s, at, n, b->in))
		return false;
	npu_window_open(&w, f->s.x, &f->dst, f->flit_bytes ? NPU_CHUNK : bytes);
	if (f->flit_bytes) {
		npu_chain_run(&f->chain, kern, kern, b->out, b->in, n, b->tmp);
		ok = write_flits(f, &w, at, n, b->out);
		npu_window_close(&w);
		return ok;
	}
	addr = f->dst.address + to_bytes(at, out_bits);
	to = npu_window_at(&w, addr, &len);
	ok = to;
	if (to && len >= bytes) {
		npu_chain_run(&f->chain, kern, f->last, to, b->in, n, b->tmp);
	} else if (to) {
		npu_chain_run(&f->chain, kern, kern, b->out, b->in, n, b->tmp);
		ok = npu_window_write(&w, addr, b->out, bytes);
	}
	npu_window_close(&w);
	return ok;
}

static void fetch_tile(struct npu_exec *x, unsigned int worker, uint64_t tile, void *ctx)
{
	const struct fetch *f = ctx;
	uint64_t at = tile * f->tile;
	uint64_t end = at + npu_min(f->tile, f->s.elements - at);
	struct fetch_buffers b;

	if (!buffers_get(f, worker, &b))
		return;
	while (at < end && !npu_exec_stopped(x)) {
		uint64_t n = f->direct ? fetch_direct(f, at, end, b.tmp) : 0;

		if (!n) {
			n = npu_min(end - at, f->chunk);
			if (!fetch_chunk(f, at, n, &b))
				return;
		}
		at += n;
	}
}

static void fetch_memory(struct npu_exec *x, struct fetch *f)
{
	unsigned int bits = f->chain.in_bits > f->chain.out_bits ? f->chain.in_bits :
								   f->chain.out_bits;

	if (f->s.cmd->cmd.flags & NPU_FETCH_FLITS) {
		f->flit_bytes = (f->s.plan.packet_bytes + 31) / 32 * 32;
		if (f->flit_bytes == f->s.plan.packet_bytes)
			f->flit_bytes = 0;
	}
	f->direct = !f->s.interleave && !f->s.cmd->mask && !f->flit_bytes;
	f->last = f->s.plan.out_bytes >= npu_kern_stream_bytes ? x->kern->nt : x->kern;
	f->tile = TILE_BYTES / bits * 8;
	f->chunk = npu_min(NPU_CHUNK, f->s.elements + f->s.elements % 2);
	if (!f->s.interleave)
		f->chunk = npu_min(f->tile, npu_nest_chunk(&f->s.nest, f->chunk));
	f->scratch = (size_t)(to_bytes(f->chunk, f->chain.in_bits) +
			      to_bytes(f->chunk, f->chain.out_bits)) + 128 +
		     (f->chain.count > 1 ? NPU_STAGE_SCRATCH : 0);
	npu_exec_tiles(x, f->s.elements / f->tile + !!(f->s.elements % f->tile), fetch_tile, f);
}

/* What the record counts once the command is done. */
static void fetch_count(struct npu_exec *x, const struct npu_stream_source *s)
{
	const struct npu_cmd_fetch *cmd = s->cmd;
	struct npu_result *r = x->result;
	uint64_t out = s->elements;

	if (cmd->sink == NPU_SINK_CONTRACT)
		out = (uint64_t)cmd->m * npu_fetch_groups(cmd) * cmd->n;
	r->elements_in = npu_add_sat(r->elements_in, s->elements);
	r->elements_out = npu_add_sat(r->elements_out, out);
	if (s->elements)
		r->cycles = npu_add_sat(r->cycles, npu_add_sat(s->plan.cycles, s->plan.latency));
}

void npu_exec_fetch(struct npu_exec *x, const struct npu_cmd_fetch *cmd,
		    const struct npu_operand *op, unsigned int n)
{
	const struct npu_operand *dst = npu_operand_find(op, n, "dst");
	struct fetch f = { .flit_bytes = 0 };

	npu_stream_source_init(&f.s, x, cmd, op, n);
	if (cmd->sink == NPU_SINK_CONTRACT) {
		npu_exec_contract(&f.s, npu_operand_find(op, n, "weight"), dst);
	} else {
		npu_chain_init(&f.chain, x, cmd);
		f.dst = *dst;
		fetch_memory(x, &f);
	}
	if (!atomic_load(&x->stop))
		fetch_count(x, &f.s);
}
