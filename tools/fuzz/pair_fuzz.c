// SPDX-License-Identifier: GPL-2.0
/*
 * Two honest ends over a network that does what the input says: drops,
 * doubles, reorders, marks, delays; copies end late; ends crash and come back.
 *
 * The oracle knows each byte. What completes must be in its place: Sends in
 * order and whole, Writes in memory, Reads with the right bytes, atomics once
 * each. When the network behaves again all must complete, unless the input
 * broke a stream on purpose.
 */
#include "side.h"

#define QPN0		0x11
#define QPN1		0x21
#define SLOT		4096		/* of one Write's target */
#define COUNTERS	(2 * SIDE_RING * SLOT)	/* one per stream */
#define RO_AREA		(COUNTERS + 4096)	/* nobody writes here */
#define RO_LEN		(SIDE_MEM - RO_AREA)
#define RO_MAX		9000
#define QUEUE_MAX	600
#define EXPECT		(2 * SIDE_RING)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static struct side sd[2];
static struct fuzz_in in;
static struct mroce_stream_attr attr;
static struct mroce_conn_cfg cfg;
static u32 first_psn;
static u8 ro_area[2][RO_LEN];

/* What a stream's receiver has to see, in this order. */
struct expect {
	u64 seq;
	u8 opcode;
	u32 len;
};

static struct pair {
	bool broken;		/* by the input: errors are allowed */
	struct expect ex[EXPECT];
	u32 head, tail;
	u64 adds;		/* atomics completed */
} pairs[2][SIDE_STREAMS];	/* by the sender */

static struct list_head queue[2];	/* towards side i */
static u32 queued[2];

static unsigned int side_no(const struct side_stream *st)
{
	return st->side - sd;
}

/* The other end of a stream; a connection to itself has both. */
static struct side_stream *peer_of(const struct side_stream *st)
{
	if (cfg.self)
		return &sd[0].st[!st->idx];
	return &sd[!side_no(st)].st[st->idx];
}

static unsigned int n_sides(void)
{
	return cfg.self ? 1 : 2;
}

static struct pair *pair_of(const struct side_stream *st)
{
	return &pairs[side_no(st)][st->idx];
}

static void break_pair(unsigned int idx)
{
	pairs[0][idx].broken = true;
	pairs[1][idx].broken = true;
	if (cfg.self)
		pairs[0][!idx].broken = true;
}

static u8 pattern(unsigned int from, unsigned int idx, u64 seq, u32 off)
{
	return from * 101 + idx * 59 + seq * 31 + off * 7 + (off >> 8);
}

static u64 slot_va(unsigned int idx, u64 seq)
{
	return SIDE_VA + (idx * SIDE_RING + seq % SIDE_RING) * SLOT;
}

/* ---- the oracle -------------------------------------------------------------- */

static void on_fill(struct side_stream *st, struct side_msg *sm, u32 off,
		    u8 *dst, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		dst[i] = pattern(side_no(st), st->idx, sm->seq, off + i);
}

static void check_bytes(const struct side_stream *st, u64 seq, const u8 *b,
			u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		fuzz_require(b[i] == pattern(side_no(st), st->idx, seq, i),
			     "stream %u message %llu byte %u is %#x", st->idx,
			     seq, i, b[i]);
}

static void on_received(struct side_stream *st, const struct mroce_recv *r,
			const u8 *data)
{
	struct side_stream *from = peer_of(st);
	struct pair *pr = pair_of(from);
	struct expect *ex = &pr->ex[pr->head % EXPECT];

	fuzz_require(pr->head != pr->tail, "stream %u: nothing was sent",
		     st->idx);
	pr->head++;
	fuzz_require(r->opcode == ex->opcode && r->len == ex->len,
		     "stream %u: op %u len %u, not op %u len %u", st->idx,
		     r->opcode, r->len, ex->opcode, ex->len);
	if (r->opcode != MROCE_OP_SEND)
		fuzz_require(r->imm == (u32)ex->seq, "immediate %u of %llu",
			     r->imm, ex->seq);
	if (r->opcode == MROCE_OP_WRITE_IMM)
		check_bytes(from, ex->seq, st->side->mem->data +
			    (slot_va(from->idx, ex->seq) - SIDE_VA), r->len);
	else
		check_bytes(from, ex->seq, data, r->len);
}

static void on_done(struct side_stream *st, struct side_msg *sm,
		    enum mroce_status status)
{
	const u8 *peer_mem = peer_of(st)->side->mem->data;
	struct pair *pr = pair_of(st);

	if (status != MROCE_ST_OK) {
		fuzz_require(pr->broken ||
			     (status == MROCE_ST_RETRY_EXC && attr.timeout) ||
			     (status == MROCE_ST_RNR_EXC && attr.rnr_retry < 7) ||
			     status == MROCE_ST_FLUSH,
			     "stream %u message %llu: status %u", st->idx,
			     sm->seq, status);
		break_pair(st->idx);
		return;
	}
	switch (sm->m.opcode) {
	case MROCE_OP_WRITE:
	case MROCE_OP_WRITE_IMM:
		check_bytes(st, sm->seq, peer_mem +
			    (slot_va(st->idx, sm->seq) - SIDE_VA), sm->m.len);
		break;
	case MROCE_OP_READ_REQ:
		fuzz_require(!memcmp(sm->buf->data,
				     peer_mem + (sm->m.va - SIDE_VA),
				     sm->m.len), "Read %llu of %u", sm->seq,
			     sm->m.len);
		break;
	case MROCE_OP_CMP_SWAP:
	case MROCE_OP_FETCH_ADD:
		fuzz_require(sm->orig == pr->adds, "atomic %llu: %llu, not %llu",
			     sm->seq, sm->orig, pr->adds);
		pr->adds++;
		break;
	}
}

static void on_failed(struct side_stream *st)
{
	break_pair(st->idx);
}

static const struct side_hooks hooks = {
	.fill = on_fill,
	.done = on_done,
	.received = on_received,
	.failed = on_failed,
};

/* ---- the network -------------------------------------------------------------- */

static void enqueue(unsigned int to, struct side_pkt *pkt)
{
	list_add_tail(&pkt->node, &queue[to]);
	queued[to]++;
}

static unsigned int towards(unsigned int from)
{
	return cfg.self ? 0 : !from;
}

static struct side_pkt *nth(unsigned int to, u32 n)
{
	struct side_pkt *pkt;

	if (!queued[to])
		return NULL;
	n %= queued[to];
	list_for_each_entry(pkt, &queue[to], node)
		if (!n--)
			return pkt;
	return NULL;
}

static void unqueue(unsigned int to, struct side_pkt *pkt)
{
	list_del_init(&pkt->node);
	queued[to]--;
}

static void transmit(unsigned int from, u32 max)
{
	struct side_pkt *pkt;

	from %= n_sides();
	while (max-- && queued[towards(from)] < QUEUE_MAX) {
		pkt = side_tx(&sd[from]);
		if (!pkt)
			break;
		enqueue(towards(from), pkt);
	}
}

/* The owner of a table of connections: nobody of that id lives here. */
static void send_reset(unsigned int from, const u8 *hdr)
{
	struct mroce_pkt p = {
		.type = MROCE_T_CONTROL,
		.opcode = MROCE_CTRL_RESET,
	};
	u8 buf[MROCE_RESET_LEN];

	memcpy(p.reset, hdr, MROCE_COMMON_LEN);
	fuzz_require(mroce_wire_build(&p, buf, sizeof(buf)), "RESET");
	enqueue(towards(from), side_pkt_new(buf, sizeof(buf)));
}

static void deliver(unsigned int to, struct side_pkt *pkt, bool hold)
{
	const struct mroce_pkt *h = &pkt->hdr;
	u8 hdr[MROCE_COMMON_LEN];
	bool answer;

	memcpy(hdr, pkt->bytes, sizeof(hdr));
	mroce_wire_parse(pkt->bytes, pkt->len, pkt->len, &pkt->hdr);
	answer = h->type == MROCE_T_DATA ||
		 (h->type == MROCE_T_CONTROL && h->opcode == MROCE_CTRL_PROBE);
	if (!(h->type == MROCE_T_CONTROL && (h->opcode == MROCE_CTRL_INIT ||
					     h->opcode == MROCE_CTRL_RESET)) &&
	    h->conn != sd[to].c.id) {
		side_pkt_free(pkt);
		if (answer)
			send_reset(to, hdr);
		return;
	}
	if (side_rx(&sd[to], pkt, hold) == MROCE_RX_RESET)
		send_reset(to, hdr);
}

static void network_step(void)
{
	unsigned int to = in_below(&in, n_sides());
	struct side_pkt *pkt, *copy;
	u32 n, how = in_u8(&in);

	switch (how & 7) {
	case 0:		/* lose one, near the head */
		pkt = nth(to, in_below(&in, 8));
		if (pkt) {
			unqueue(to, pkt);
			side_pkt_free(pkt);
		}
		break;
	case 1:		/* lose a run */
		for (n = in_below(&in, 64); n && queued[to]; n--) {
			pkt = nth(to, 0);
			unqueue(to, pkt);
			side_pkt_free(pkt);
		}
		break;
	case 2:		/* one overtakes */
		pkt = nth(to, in_u8(&in));
		if (pkt) {
			unqueue(to, pkt);
			deliver(to, pkt, how & 8);
		}
		break;
	case 3:		/* one arrives twice, now and in its turn */
		pkt = nth(to, in_u8(&in));
		if (pkt) {
			copy = side_pkt_new(pkt->bytes, pkt->len);
			copy->sport = pkt->sport;
			deliver(to, copy, how & 8);
		}
		break;
	case 4:		/* marked */
		pkt = nth(to, in_below(&in, 16));
		if (pkt)
			pkt->ce = true;
		break;
	default:
		for (n = 1 + (how >> 4) * 4; n && queued[to]; n--) {
			pkt = nth(to, 0);
			unqueue(to, pkt);
			deliver(to, pkt, how & 8 && !(n & 3));
		}
		break;
	}
}

/* ---- the applications ---------------------------------------------------------- */

static void post(void)
{
	static const u8 ops[] = {
		MROCE_OP_WRITE, MROCE_OP_WRITE, MROCE_OP_WRITE_IMM,
		MROCE_OP_SEND, MROCE_OP_SEND_IMM, MROCE_OP_SEND_INV,
		MROCE_OP_READ_REQ, MROCE_OP_CMP_SWAP, MROCE_OP_FETCH_ADD,
	};
	static const u16 lens[] = {
		0, 1, 8, 64, 65, 500, 512, 513, 1400, 1500, 3000, SLOT,
	};
	unsigned int from = in_below(&in, n_sides());
	unsigned int i = in_below(&in, SIDE_STREAMS);
	struct side_stream *st = &sd[from].st[i];
	u8 op = ops[in_below(&in, ARRAY_SIZE(ops))];
	u32 len = lens[in_below(&in, ARRAY_SIZE(lens))];
	struct pair *pr = &pairs[from][i];
	u64 va = slot_va(i, st->post_seq);
	struct side_msg *sm;
	struct expect *ex;

	if (pr->tail - pr->head == EXPECT)
		return;
	if (op == MROCE_OP_READ_REQ) {
		len = in_below(&in, 4) * 2900 + in_below(&in, 4);
		va = SIDE_VA + RO_AREA + in_below(&in, RO_LEN - RO_MAX);
	}
	if (op == MROCE_OP_CMP_SWAP || op == MROCE_OP_FETCH_ADD) {
		len = 8;
		va = SIDE_VA + COUNTERS + 8 * i;
	}
	sm = side_post(&sd[from], i, op, len, va);
	if (!sm)
		return;
	sm->m.fence = in_below(&in, 8) == 7;
	if (op == MROCE_OP_CMP_SWAP) {
		/* Adds one, if all atomics before it were executed once. */
		struct side_msg *before;

		sm->m.compare = pr->adds;
		list_for_each_entry(before, &st->posted, node)
			if (before != sm &&
			    before->m.opcode >= MROCE_OP_CMP_SWAP)
				sm->m.compare++;
		sm->m.swap_add = sm->m.compare + 1;
	}
	if (op != MROCE_OP_WRITE && op < MROCE_OP_READ_REQ) {
		ex = &pr->ex[pr->tail++ % EXPECT];
		ex->seq = sm->seq;
		ex->opcode = op;
		ex->len = len;
	}
	side_settle(&sd[from]);
}

/* Both QPs of a pair leave and come back, as a manager would have it. */
static void reconnect(unsigned int idx)
{
	struct side_stream *end[2] = { &sd[0].st[idx], peer_of(&sd[0].st[idx]) };
	unsigned int k;

	for (k = 0; k < 2; k++)
		side_detach(end[k]->side, end[k]->idx);
	for (k = 0; k < 2; k++)
		if (end[k]->s.claims)
			return;
	for (k = 0; k < 2; k++) {
		memset(pair_of(end[k]), 0, sizeof(struct pair));
		memset(peer_of(end[k])->side->mem->data + COUNTERS +
		       8 * end[k]->idx, 0, 8);
	}
	/*
	 * Late packets of the former life are told by their numbers: managers
	 * choose them at random, here they are far apart.
	 */
	first_psn = (first_psn + 5000) & 0xffffff;
	for (k = 0; k < 2; k++) {
		attr.sq_psn = (first_psn + (k ? 1000000 : 0)) & 0xffffff;
		attr.rq_psn = (first_psn + (k ? 0 : 1000000)) & 0xffffff;
		if (!side_attach(end[k]->side, end[k]->idx,
				 end[!k]->side->qpn0 + end[!k]->idx, &attr))
			break_pair(idx);
		side_settle(end[k]->side);
	}
}

static void trouble(void)
{
	unsigned int k = in_below(&in, n_sides()), i = in_below(&in, SIDE_STREAMS);

	switch (in_below(&in, 8)) {
	case 0:
		break_pair(i);
		side_error(&sd[k], i);
		break;
	case 1:
		for (i = 0; i < SIDE_STREAMS; i++)
			break_pair(i);
		side_restart(&sd[k]);
		break;
	case 2:
		break_pair(i);
		side_detach(&sd[k], i);
		break;
	case 3:
		mroce_shim_fail_alloc(1 + in_below(&in, 8),
				      1 + in_below(&in, 4));
		break;
	case 4:
		if (sd[k].st[i].attached)
			mroce_stream_pause(&sd[k].st[i].s, in_below(&in, 2),
					   fuzz_now);
		break;
	case 5:
		if (sd[k].c.n_tx)
			mroce_conn_rehome(&sd[k].c,
					  sd[k].c.tx[in_below(&in, sd[k].c.n_tx)],
					  fuzz_now);
		break;
	default:
		reconnect(i);
		break;
	}
	side_settle(&sd[k]);
}

static void tick(u64 ns)
{
	fuzz_now += ns;
	side_timer(&sd[0]);
	if (!cfg.self)
		side_timer(&sd[1]);
}

/* All that is there to send arrives. Returns the number of packets. */
static u32 round_trip(void)
{
	unsigned int k, to;
	u32 moved = 0;

	for (k = 0; k < n_sides(); k++) {
		to = towards(k);
		transmit(k, QUEUE_MAX);
		for (; queued[to]; moved++) {
			struct side_pkt *pkt = nth(to, 0);

			unqueue(to, pkt);
			deliver(to, pkt, false);
		}
	}
	return moved;
}

static void step(void)
{
	u32 k;

	switch (in_below(&in, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		network_step();
		break;
	case 5:
	case 6:
	case 7:
		k = in_u8(&in);
		transmit(k & 1, 1 + (k >> 1));
		break;
	case 8:
	case 9:
	case 10:
		post();
		break;
	case 11:
		side_finish(&sd[in_below(&in, n_sides())], in_u8(&in));
		break;
	case 12:
		k = in_u8(&in);
		tick((u64)(1 + (k >> 4)) << (10 + (k & 15)));
		break;
	case 13:
		k = in_u8(&in);
		sd[k % n_sides()].st[k >> 1 & 1].recvs += k >> 4;
		break;
	case 14:
		trouble();
		break;
	case 15:
		/* a while of good weather */
		for (k = 0; k < 8; k++) {
			tick(10000);
			round_trip();
		}
		break;
	}
}

/* ---- the end -------------------------------------------------------------------- */

static bool all_done(void)
{
	unsigned int k, i;

	for (k = 0; k < n_sides(); k++)
		for (i = 0; i < SIDE_STREAMS; i++)
			if (sd[k].st[i].n_posted && !pairs[k][i].broken)
				return false;
	return true;
}

/* Nothing is lost any more: everything that is not broken completes. */
static void calm_down(void)
{
	const u64 limit = fuzz_now + 600 * NSEC_PER_SEC;
	unsigned int k, i, moved;
	u64 rounds = 0;

	mroce_shim_fail_alloc(0, 0);
	for (k = 0; k < n_sides(); k++) {
		for (i = 0; i < SIDE_STREAMS; i++) {
			sd[k].st[i].recvs += 2 * SIDE_RING;
			if (sd[k].st[i].attached)
				mroce_stream_pause(&sd[k].st[i].s, false,
						   fuzz_now);
		}
	}
	while (!all_done()) {
		u64 next = MROCE_NEVER;

		fuzz_require(fuzz_now < limit && ++rounds < 100000,
			     "hangs: %u %u / %u %u posted",
			     sd[0].st[0].n_posted, sd[0].st[1].n_posted,
			     sd[1].st[0].n_posted, sd[1].st[1].n_posted);
		moved = 0;
		for (k = 0; k < n_sides(); k++)
			while (side_finish(&sd[k], 0))
				moved++;
		moved += round_trip();
		if (moved) {
			tick(2000);
			continue;
		}
		for (k = 0; k < n_sides(); k++)
			next = min(next, mroce_conn_deadline(&sd[k].c));
		fuzz_require(next != MROCE_NEVER, "nothing will ever happen");
		tick(next > fuzz_now ? next - fuzz_now : 1000);
	}
}

static void configure(void)
{
	static const u16 mtus[] = { 1500, 9000, 4096, 576 };

	memset(&cfg, 0, sizeof(cfg));
	cfg.link_mtu = mtus[in_below(&in, ARRAY_SIZE(mtus))];
	cfg.l3_len = in_below(&in, 2) ? 48 : 28;
	cfg.n_paths = in_below(&in, 5);
	cfg.self = in_below(&in, 8) == 7;
	memset(&attr, 0, sizeof(attr));
	first_psn = 0xfffffe - 5000;
	attr.timeout = in_below(&in, 4) ? 0 : 10 + in_below(&in, 8);
	attr.retry_cnt = 7;
	attr.rnr_retry = in_below(&in, 4) ? 7 : in_below(&in, 8);
	attr.min_rnr_timer = 1 + in_below(&in, 12);
	attr.max_rd_atomic = 1 + in_below(&in, 4);
	attr.max_dest_rd_atomic = attr.max_rd_atomic + in_below(&in, 2);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	unsigned int k, i;

	fuzz_verbose = getenv("FUZZ_VERBOSE");
	in.p = data;
	in.left = size;
	fuzz_now = 1000000000000ULL;
	mroce_shim_seed(size);
	mroce_shim_fail_alloc(0, 0);
	memset(pairs, 0, sizeof(pairs));
	configure();
	for (k = 0; k < n_sides(); k++) {
		u8 faults = in_u8(&in);

		INIT_LIST_HEAD(&queue[k]);
		queued[k] = 0;
		side_init(&sd[k], k ? "B" : "A", k ? QPN1 : QPN0, &cfg, &in,
			  &hooks);
		sd[k].fail_copy = faults & 1 ? 32 : 0;
		sd[k].fail_gather = (faults & 0x1e) == 2 ? 64 : 0;
		sd[k].fail_resp = (faults & 0x1e) == 4 ? 64 : 0;
		sd[k].fail_store = (faults & 0x1e) == 8 ? 64 : 0;
		sd[k].no_memory = faults & 0x20 ? 16 : 0;
		sd[k].fail_resp_check = (faults & 0xc0) == 0x40 ? 32 : 0;
		sd[k].fail_atomic = (faults & 0xc0) == 0x80 ? 8 : 0;
		for (i = 0; !ro_area[k][0] && i < RO_LEN; i++)
			ro_area[k][i] = i * 13 + (i >> 8) + k + 1;
		memcpy(sd[k].mem->data + RO_AREA, ro_area[k], RO_LEN);
	}
	for (i = 0; i < (cfg.self ? 1 : SIDE_STREAMS); i++)
		reconnect(i);
	for (k = 0; k < n_sides(); k++)
		for (i = 0; i < SIDE_STREAMS; i++)
			sd[k].st[i].recvs = in_below(&in, 32);

	while (in.left)
		step();
	calm_down();

	for (k = 0; k < n_sides(); k++) {
		fuzz_require(!memcmp(sd[k].mem->data + RO_AREA, ro_area[k],
				     RO_LEN), "stray bytes");
		while (queued[k]) {
			struct side_pkt *pkt = nth(k, 0);

			unqueue(k, pkt);
			side_pkt_free(pkt);
		}
		side_fini(&sd[k]);
	}
	fuzz_require(!mroce_shim_live_allocs(), "%ld allocations left",
		     mroce_shim_live_allocs());
	return 0;
}
