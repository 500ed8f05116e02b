// SPDX-License-Identifier: GPL-2.0
/*
 * One end of a connection: the owner's part, with the contracts of core.h
 * checked on each call.
 */
#include "side.h"

u64 fuzz_now;
bool fuzz_verbose;

void fuzz_broken(const char *file, int line, const char *cond,
		 const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: broken: %s: ", file, line, cond);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

u8 in_u8(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

u32 in_u32(struct fuzz_in *in)
{
	u32 v = in_u8(in);

	v = v << 8 | in_u8(in);
	v = v << 8 | in_u8(in);
	return v << 8 | in_u8(in);
}

u32 in_below(struct fuzz_in *in, u32 n)
{
	if (n <= 1)
		return 0;
	return n <= 256 ? in_u8(in) % n : in_u32(in) % n;
}

static bool chance(struct side *sd, u8 one_in)
{
	return one_in && sd->in->left && !in_below(sd->in, one_in);
}

/* ---- memory ---------------------------------------------------------------- */

static struct side_buf *buf_new(struct side *sd, u32 len)
{
	struct side_buf *b = calloc(1, sizeof(*b) + len);

	b->refs = 1;
	b->len = len;
	sd->bufs++;
	return b;
}

static struct side_buf *buf_get(struct side_buf *b)
{
	fuzz_require(b->refs > 0, "reference to dead memory");
	b->refs++;
	return b;
}

static void buf_put(struct side *sd, struct side_buf *b)
{
	if (!b)
		return;
	fuzz_require(b->refs > 0, "too many puts");
	if (--b->refs)
		return;
	sd->bufs--;
	free(b);
}

static bool mem_ok(struct side *sd, u64 va, u32 rkey, u32 len)
{
	if (rkey != SIDE_RKEY || chance(sd, sd->fail_key))
		return false;
	return va >= SIDE_VA && va - SIDE_VA <= SIDE_MEM &&
	       len <= SIDE_MEM - (va - SIDE_VA);
}

static u8 *mem_at(struct side *sd, u64 va)
{
	return sd->mem->data + (va - SIDE_VA);
}

/* ---- upcalls of a stream --------------------------------------------------- */

static struct side_stream *st_of(struct mroce_stream *s)
{
	return container_of(s, struct side_stream, s);
}

/* An injected failure that the stream does not survive. */
static bool fail(struct side_stream *st, u8 one_in)
{
	if (!chance(st->side, one_in))
		return false;
	if (st->side->hooks && st->side->hooks->failed)
		st->side->hooks->failed(st);
	return true;
}

static struct side_msg *msg_of(struct side_stream *st, struct mroce_msg *m)
{
	struct side_msg *sm;

	list_for_each_entry(sm, &st->posted, node)
		if (&sm->m == m)
			return sm;
	fuzz_broken(__FILE__, __LINE__, "message is posted", "unknown message");
}

static void msg_free(struct side_stream *st, struct side_msg *sm)
{
	list_del(&sm->node);
	st->n_posted--;
	st->side->msgs--;
	buf_put(st->side, sm->buf);
	free(sm);
}

static void flush_posted(struct side_stream *st)
{
	struct side_msg *sm, *tmp;

	list_for_each_entry_safe(sm, tmp, &st->posted, node) {
		if (st->side->hooks && st->side->hooks->done)
			st->side->hooks->done(st, sm, MROCE_ST_FLUSH);
		msg_free(st, sm);
	}
}

/* Payload into a packet: copied if small, else by reference. */
static u8 *txd_room(struct mroce_txd *txd, u32 len)
{
	u8 *dst;

	fuzz_require(len, "gather of nothing");
	if (len <= MROCE_COPY_BYTES) {
		fuzz_require(txd->lin_len + len <= sizeof(txd->lin),
			     "no room for a small payload");
		dst = txd->lin + txd->lin_len;
		txd->lin_len += len;
		return dst;
	}
	fuzz_require(!txd->nfrags, "gather into a used descriptor");
	dst = malloc(len);
	txd->frag[0].page = dst;
	txd->frag[0].off = 0;
	txd->frag[0].len = len;
	txd->nfrags = 1;
	txd->frag_bytes = len;
	return dst;
}

static int op_gather(struct mroce_stream *s, struct mroce_msg *m, u32 off,
		     u32 len, struct mroce_txd *txd)
{
	struct side_stream *st = st_of(s);
	struct side_msg *sm = msg_of(st, m);
	u8 *dst;

	fuzz_require(off <= m->len && len <= m->len - off,
		     "gather %u at %u of %u", len, off, m->len);
	if (chance(st->side, st->side->no_memory))
		return -ENOMEM;
	if (fail(st, st->side->fail_gather))
		return -EFAULT;
	dst = txd_room(txd, len);
	if (st->side->hooks && st->side->hooks->fill)
		st->side->hooks->fill(st, sm, off, dst, len);
	else
		memset(dst, sm->seq, len);
	return 0;
}

static int op_gather_resp(struct mroce_stream *s, struct mroce_rctx *r,
			  u32 off, u32 len, struct mroce_txd *txd)
{
	struct side *sd = st_of(s)->side;

	fuzz_require(r->used && r->obj, "answer without context");
	fuzz_require(off <= r->len && len <= r->len - off,
		     "answer %u at %u of %u", len, off, r->len);
	if (chance(sd, sd->no_memory))
		return -ENOMEM;
	if (fail(st_of(s), sd->fail_resp))
		return -EFAULT;
	memcpy(txd_room(txd, len), r->copy ? r->copy + off :
	       mem_at(sd, r->va) + off, len);
	return 0;
}

static int op_check_write(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct side *sd = st_of(s)->side;

	fuzz_require(!cl->obj, "claim in use");
	if (!mem_ok(sd, cl->va, cl->rkey, cl->len))
		return MROCE_NAK_ACCESS;
	cl->obj = buf_get(sd->mem);
	return 0;
}

static int op_bind(struct mroce_stream *s, u32 rsn)
{
	struct side_stream *st = st_of(s);

	fuzz_require(rsn == st->bind_nxt, "bind of RSN %u, not %u", rsn,
		     st->bind_nxt);
	if (!st->recvs)
		return -EAGAIN;
	fuzz_require(st->bind_nxt - st->recv_nxt < SIDE_RECVS,
		     "too many receives bound");
	st->recvs--;
	st->recv[rsn % SIDE_RECVS] = buf_new(st->side, SIDE_RECV_SIZE);
	st->bind_nxt++;
	return 0;
}

static int op_check_recv(struct mroce_stream *s, struct mroce_claim *cl)
{
	struct side_stream *st = st_of(s);

	fuzz_require(cl->rsn - st->recv_nxt < st->bind_nxt - st->recv_nxt,
		     "RSN %u is not bound", cl->rsn);
	if (cl->mlen > SIDE_RECV_SIZE)
		return MROCE_NAK_INV_REQ;
	fuzz_require(cl->off <= cl->mlen && cl->len <= cl->mlen - cl->off,
		     "%u at %u of %u", cl->len, cl->off, cl->mlen);
	fuzz_require(!cl->obj, "claim in use");
	cl->obj = buf_get(st->recv[cl->rsn % SIDE_RECVS]);
	return 0;
}

static int op_check_resp(struct mroce_stream *s, struct mroce_msg *m,
			 struct mroce_claim *cl)
{
	struct side_msg *sm = msg_of(st_of(s), m);

	fuzz_require(cl->off <= m->len && cl->len <= m->len - cl->off,
		     "answer %u at %u of %u", cl->len, cl->off, m->len);
	fuzz_require(!cl->obj, "claim in use");
	if (fail(st_of(s), st_of(s)->side->fail_resp_check))
		return -EFAULT;
	cl->obj = buf_get(sm->buf);
	return 0;
}

static int op_place(struct mroce_claim *cl, mroce_copy_fn copy, void *src)
{
	struct side_buf *b = cl->obj;
	u8 *dst = b->data;

	fuzz_require(b && b->refs > 0, "placing without a reference");
	if (cl->kind == MROCE_CLAIM_WRITE)
		dst += cl->va - SIDE_VA;
	else
		dst += cl->off;
	fuzz_require(dst >= b->data && dst + cl->len <= b->data + b->len,
		     "placing out of bounds");
	return copy(src, 0, dst, cl->len);
}

static void op_unclaim(struct mroce_stream *s, struct mroce_claim *cl)
{
	buf_put(st_of(s)->side, cl->obj);
	cl->obj = NULL;
}

static int op_store(struct mroce_stream *s, u64 va, u32 rkey, const u8 *data,
		    u32 len)
{
	struct side *sd = st_of(s)->side;

	fuzz_require(len <= MROCE_ORDERED_WRITE, "store of %u", len);
	if (!mem_ok(sd, va, rkey, len) || fail(st_of(s), sd->fail_store))
		return MROCE_NAK_ACCESS;
	memcpy(mem_at(sd, va), data, len);
	return 0;
}

static int op_recv_done(struct mroce_stream *s, const struct mroce_recv *r)
{
	struct side_stream *st = st_of(s);
	struct side_buf *b;

	fuzz_require(r->rsn == st->recv_nxt, "RSN %u done, not %u", r->rsn,
		     st->recv_nxt);
	fuzz_require(st->recv_nxt != st->bind_nxt, "RSN %u was not bound",
		     r->rsn);
	fuzz_require(r->opcode >= MROCE_OP_WRITE_IMM &&
		     r->opcode <= MROCE_OP_SEND_INV, "opcode %u", r->opcode);
	b = st->recv[r->rsn % SIDE_RECVS];
	st->recv[r->rsn % SIDE_RECVS] = NULL;
	st->recv_nxt++;
	st->n_recv++;
	if (st->side->hooks && st->side->hooks->received)
		st->side->hooks->received(st, r, b->data);
	buf_put(st->side, b);
	return 0;
}

static int op_read_start(struct mroce_stream *s, struct mroce_rctx *r)
{
	struct side *sd = st_of(s)->side;

	fuzz_require(!r->obj && !r->copy, "context in use");
	if (r->len && !mem_ok(sd, r->va, r->rkey, r->len))
		return MROCE_NAK_ACCESS;
	r->obj = buf_get(sd->mem);
	if (r->len && r->len <= MROCE_READ_COPY_BYTES) {
		r->copy = malloc(r->len);
		memcpy(r->copy, mem_at(sd, r->va), r->len);
	}
	st_of(s)->read_ctx++;
	return 0;
}

static void op_read_end(struct mroce_stream *s, struct mroce_rctx *r)
{
	struct side_stream *st = st_of(s);

	fuzz_require(r->obj && st->read_ctx, "end of a Read without start");
	st->read_ctx--;
	buf_put(st->side, r->obj);
	free(r->copy);
	r->obj = NULL;
	r->copy = NULL;
}

static int op_atomic(struct mroce_stream *s, struct mroce_rctx *r,
		     u64 swap_add, u64 compare)
{
	struct side_stream *st = st_of(s);
	u64 val;

	/* In stream order means: each MSN once. */
	fuzz_require(!st->exec_any || mroce_seq_after(r->msn, st->exec_msn),
		     "atomic %u after %u", r->msn, st->exec_msn);
	st->exec_any = true;
	st->exec_msn = r->msn;
	if (r->va & 7 || !mem_ok(st->side, r->va, r->rkey, 8))
		return MROCE_NAK_ACCESS;
	memcpy(&val, mem_at(st->side, r->va), 8);
	r->orig = val;
	if (r->opcode == MROCE_OP_FETCH_ADD)
		val += swap_add;
	else if (val == compare)
		val = swap_add;
	memcpy(mem_at(st->side, r->va), &val, 8);
	return 0;
}

static int op_atomic_done(struct mroce_stream *s, struct mroce_msg *m,
			  u64 orig)
{
	msg_of(st_of(s), m)->orig = orig;
	return fail(st_of(s), st_of(s)->side->fail_atomic) ? -EFAULT : 0;
}

static void op_msg_done(struct mroce_stream *s, struct mroce_msg *m,
			enum mroce_status status)
{
	struct side_stream *st = st_of(s);
	struct side_msg *sm = msg_of(st, m);

	fuzz_require(list_is_first(&sm->node, &st->posted),
		     "message %llu completes out of order", sm->seq);
	fuzz_require(!m->unacked || status != MROCE_ST_OK ||
		     m->opcode == MROCE_OP_READ_REQ ||
		     m->opcode >= MROCE_OP_CMP_SWAP,
		     "complete with %u packets out", m->unacked);
	if (status == MROCE_ST_OK)
		st->n_ok++;
	else
		st->n_failed++;
	if (st->side->hooks && st->side->hooks->done)
		st->side->hooks->done(st, sm, status);
	msg_free(st, sm);
}

static void op_tx_fatal(struct mroce_stream *s, enum mroce_status status)
{
	struct side_stream *st = st_of(s);

	fuzz_require(s->tx_state == MROCE_TX_ERR, "fatal in state %u",
		     s->tx_state);
	st->dead = true;
	flush_posted(st);
}

static void op_rx_fatal(struct mroce_stream *s, u8 code)
{
	fuzz_require(code >= MROCE_NAK_INV_REQ && code <= MROCE_NAK_OP_ERR,
		     "code %u", code);
	st_of(s)->want_error = true;
}

static void op_conn_lost(struct mroce_stream *s)
{
	struct side_stream *st = st_of(s);

	fuzz_require(list_empty(&st->posted), "work was outstanding");
	st->dead = true;
}

static void op_established(struct mroce_stream *s)
{
	st_of(s)->established++;
	fuzz_require(st_of(s)->established == 1, "established twice");
}

static void op_idle(struct mroce_stream *s)
{
	struct side_stream *st = st_of(s);

	fuzz_require(st->detaching && !s->claims && !s->conn,
		     "idle, but not detached");
	st->detaching = false;
	st->idled++;
}

static const struct mroce_stream_ops side_stream_ops = {
	.gather		= op_gather,
	.gather_resp	= op_gather_resp,
	.check_write	= op_check_write,
	.bind		= op_bind,
	.check_recv	= op_check_recv,
	.check_resp	= op_check_resp,
	.place		= op_place,
	.unclaim	= op_unclaim,
	.store		= op_store,
	.recv_done	= op_recv_done,
	.read_start	= op_read_start,
	.read_end	= op_read_end,
	.atomic		= op_atomic,
	.atomic_done	= op_atomic_done,
	.msg_done	= op_msg_done,
	.tx_fatal	= op_tx_fatal,
	.rx_fatal	= op_rx_fatal,
	.conn_lost	= op_conn_lost,
	.established	= op_established,
	.idle		= op_idle,
};

/* ---- upcalls of a connection ------------------------------------------------ */

static struct side *side_of(struct mroce_conn *c)
{
	return container_of(c, struct side, c);
}

static struct mroce_stream *op_find(struct mroce_conn *c, u32 qpn)
{
	struct side *sd = side_of(c);
	u32 i = qpn - sd->qpn0;

	return i < SIDE_STREAMS && sd->st[i].attached ? &sd->st[i].s : NULL;
}

static u32 op_new_id(struct mroce_conn *c)
{
	if (chance(side_of(c), side_of(c)->fail_id))
		return 0;
	return ++side_of(c)->next_id << 16 | 0xbeef;
}

static u16 op_new_sport(struct mroce_conn *c, u8 plane)
{
	struct side *sd = side_of(c);

	if (++sd->next_sport < MROCE_SPORT_MIN)
		sd->next_sport = MROCE_SPORT_MIN;
	return sd->next_sport;
}

static const struct mroce_conn_ops side_conn_ops = {
	.find		= op_find,
	.new_id		= op_new_id,
	.new_sport	= op_new_sport,
};

/* ---- the owner's own work ---------------------------------------------------- */

void side_init(struct side *sd, const char *name, u32 qpn0,
	       const struct mroce_conn_cfg *cfg, struct fuzz_in *in,
	       const struct side_hooks *hooks)
{
	unsigned int i;

	memset(sd, 0, sizeof(*sd));
	sd->name = name;
	sd->qpn0 = qpn0;
	sd->cfg = *cfg;
	sd->in = in;
	sd->hooks = hooks;
	sd->mem = buf_new(sd, SIDE_MEM);
	fuzz_require(!mroce_conn_init(&sd->c, &side_conn_ops, cfg, fuzz_now),
		     "init");
	for (i = 0; i < SIDE_STREAMS; i++) {
		struct side_stream *st = &sd->st[i];

		st->side = sd;
		st->idx = i;
		INIT_LIST_HEAD(&st->posted);
		fuzz_require(!mroce_stream_init(&st->s, &side_stream_ops,
						SIDE_RING), "stream init");
	}
}

bool side_attach(struct side *sd, unsigned int i, u32 dqpn,
		 const struct mroce_stream_attr *tmpl)
{
	struct side_stream *st = &sd->st[i];
	struct mroce_stream_attr a = *tmpl;

	if (st->attached || st->s.claims)
		return false;
	a.qpn = sd->qpn0 + i;
	a.dqpn = dqpn;
	st->bind_nxt = 0;
	st->recv_nxt = 0;
	st->exec_any = false;
	st->established = 0;
	st->want_error = false;
	st->dead = false;
	if (mroce_stream_attach(&st->s, &sd->c, &a, fuzz_now))
		return false;
	st->attached = true;
	mroce_stream_start(&st->s, &a, fuzz_now);
	return true;
}

static void drop_recvs(struct side_stream *st)
{
	for (; st->recv_nxt != st->bind_nxt; st->recv_nxt++) {
		struct side_buf **b = &st->recv[st->recv_nxt % SIDE_RECVS];

		buf_put(st->side, *b);
		*b = NULL;
	}
}

void side_error(struct side *sd, unsigned int i)
{
	struct side_stream *st = &sd->st[i];

	if (!st->attached)
		return;
	mroce_stream_error(&st->s, fuzz_now);
	st->want_error = false;
	st->dead = true;
	flush_posted(st);
}

void side_detach(struct side *sd, unsigned int i)
{
	struct side_stream *st = &sd->st[i];

	if (!st->attached)
		return;
	st->detaching = st->s.claims;
	mroce_stream_detach(&st->s, fuzz_now);
	mroce_stream_left(&st->s);
	st->attached = false;
	st->want_error = false;
	st->dead = false;
	flush_posted(st);
	drop_recvs(st);
	fuzz_require(!st->read_ctx, "%u Reads go on", st->read_ctx);
}

void side_restart(struct side *sd)
{
	unsigned int i;

	for (i = 0; i < SIDE_STREAMS; i++)
		side_detach(sd, i);
	while (side_finish(sd, 0))
		;
	mroce_conn_fini(&sd->c);
	memset(&sd->c, 0, sizeof(sd->c));
	fuzz_require(!mroce_conn_init(&sd->c, &side_conn_ops, &sd->cfg,
				      fuzz_now), "init");
	sd->ts_gen = 0;
	memset(sd->ts_valid, 0, sizeof(sd->ts_valid));
}

void side_fini(struct side *sd)
{
	unsigned int i;

	for (i = 0; i < SIDE_STREAMS; i++)
		side_detach(sd, i);
	side_check(sd);
	while (side_finish(sd, 0))
		;
	mroce_conn_fini(&sd->c);
	for (i = 0; i < SIDE_STREAMS; i++) {
		fuzz_require(!sd->st[i].detaching, "idle() was not called");
		mroce_stream_fini(&sd->st[i].s);
	}
	fuzz_require(sd->mem->refs == 1, "memory is still referenced %d times",
		     sd->mem->refs - 1);
	buf_put(sd, sd->mem);
	fuzz_require(!sd->bufs && !sd->msgs, "%ld buffers, %ld messages left",
		     sd->bufs, sd->msgs);
}

struct side_msg *side_post(struct side *sd, unsigned int i, u8 opcode,
			   u32 len, u64 va)
{
	struct side_stream *st = &sd->st[i];
	struct side_msg *sm;
	int err;

	if (!st->attached)
		return NULL;
	sm = calloc(1, sizeof(*sm));
	sm->m.opcode = opcode;
	sm->m.len = len;
	sm->m.rkey = SIDE_RKEY;
	sm->m.va = va;
	sm->seq = st->post_seq++;
	sm->m.imm = sm->seq;
	sm->buf = buf_new(sd, len);
	list_add_tail(&sm->node, &st->posted);
	st->n_posted++;
	sd->msgs++;
	if (opcode == MROCE_OP_CMP_SWAP || opcode == MROCE_OP_FETCH_ADD)
		sm->m.swap_add = 1;
	err = mroce_stream_post(&st->s, &sm->m, fuzz_now);
	if (err) {
		fuzz_require(err == -ENOSPC || st->dead ||
			     st->s.tx_state != MROCE_TX_READY,
			     "post failed: %d", err);
		msg_free(st, sm);
		return NULL;
	}
	return sm;
}

struct side_pkt *side_pkt_new(const void *bytes, u32 len)
{
	struct side_pkt *pkt = calloc(1, sizeof(*pkt) + len);

	memcpy(pkt->bytes, bytes, len);
	pkt->len = len;
	INIT_LIST_HEAD(&pkt->node);
	return pkt;
}

void side_pkt_free(struct side_pkt *pkt)
{
	free(pkt);
}

/* rx_fatal() must not call back into core: what it asked for is done here. */
static void settle_errors(struct side *sd)
{
	unsigned int i;

	for (i = 0; i < SIDE_STREAMS; i++)
		if (sd->st[i].want_error)
			side_error(sd, i);
}

/* What a packet must be to leave the host. */
static void check_sent(struct side *sd, const struct mroce_txd *txd,
		       const struct side_pkt *pkt)
{
	const struct mroce_pkt *h = &pkt->hdr;
	enum mroce_wire_reason r;
	struct mroce_pkt tmp;

	r = mroce_wire_parse(pkt->bytes, pkt->len, pkt->len, &tmp);
	fuzz_require(r == MROCE_WIRE_OK, "own packet: %s (type %u opcode %u)",
		     mroce_wire_reason_str(r), pkt->bytes[0] & 15,
		     pkt->bytes[1]);
	fuzz_require(h->type == txd->type, "type %u, said %u", h->type,
		     txd->type);
	fuzz_require(h->payload_off == txd->hdr_len, "header length");
	fuzz_require(pkt->len + sd->cfg.l3_len <= sd->cfg.link_mtu,
		     "%u bytes do not fit the MTU", pkt->len);
	fuzz_require(txd->ect == (h->type == MROCE_T_DATA), "ECT");
	if (h->type != MROCE_T_DATA)
		return;
	fuzz_require(h->path == txd->path && h->path < MROCE_MAX_PATHS, "path");
	fuzz_require(txd->sport >= MROCE_SPORT_MIN, "source port");
	if (sd->ts_gen != sd->c.gen) {
		sd->ts_gen = sd->c.gen;
		memset(sd->ts_valid, 0, sizeof(sd->ts_valid));
	}
	/* A receiver forgets the newest after a minute of silence. */
	fuzz_require(!sd->ts_valid[h->path] ||
		     fuzz_now - sd->last_ns[h->path] > 60 * NSEC_PER_SEC ||
		     mroce_seq_after(h->ts, sd->last_ts[h->path]),
		     "time stamps of a path increase");
	sd->ts_valid[h->path] = true;
	sd->last_ns[h->path] = fuzz_now;
	sd->last_ts[h->path] = h->ts;
}

static void trace(struct side *sd, const char *what, const struct mroce_pkt *h)
{
	if (!fuzz_verbose)
		return;
	fprintf(stderr, "%14llu %s %s %u/%-10s path %u epoch %u psn %u ts %u",
		fuzz_now, sd->name, what, h->type,
		h->type == MROCE_T_DATA ? mroce_data_op_str(h->opcode) : "",
		h->path, h->epoch, h->psn, h->ts);
	if (h->type == MROCE_T_DATA)
		fprintf(stderr, " qpn %#x msn %u.%u rsn %u %u at %u of %u %#x",
			h->data.dqpn, h->data.msn, h->data.attempt,
			h->data.rsn, h->payload_len, h->data.offset,
			h->data.len, h->flags);
	else if (h->type == MROCE_T_NAK)
		fprintf(stderr, " qpn %#x msn %u.%u code %u", h->nak.qpn,
			h->nak.msn, h->nak.attempt, h->nak.code);
	else if (h->type == MROCE_T_ACK)
		fprintf(stderr, " vec %llx echo %u", h->ack.vec[0],
			h->ack.echo_ts);
	else
		fprintf(stderr, " control %u", h->opcode);
	fputc('\n', stderr);
}

struct side_pkt *side_tx(struct side *sd)
{
	static struct mroce_txd txd;
	struct side_pkt *pkt;
	unsigned int i;
	bool pending;
	u8 *at;

	memset(&txd, 0xa5, sizeof(txd));
	pending = mroce_conn_tx_pending(&sd->c, fuzz_now);
	if (!mroce_conn_tx(&sd->c, &txd, fuzz_now)) {
		side_settle(sd);
		return NULL;
	}
	fuzz_require(pending, "a packet out of nothing");
	fuzz_require(txd.lin_len <= sizeof(txd.lin) &&
		     txd.hdr_len <= txd.lin_len && txd.hdr_len &&
		     txd.nfrags <= MROCE_TXD_FRAGS, "descriptor");
	pkt = calloc(1, sizeof(*pkt) + txd.lin_len + txd.frag_bytes);
	INIT_LIST_HEAD(&pkt->node);
	memcpy(pkt->bytes, txd.lin, txd.lin_len);
	at = pkt->bytes + txd.lin_len;
	for (i = 0; i < txd.nfrags; i++) {
		memcpy(at, (u8 *)txd.frag[i].page + txd.frag[i].off,
		       txd.frag[i].len);
		at += txd.frag[i].len;
		free(txd.frag[i].page);
	}
	pkt->len = txd.lin_len + txd.frag_bytes;
	fuzz_require(at == pkt->bytes + pkt->len, "fragments do not add up");
	pkt->sport = txd.sport;
	pkt->gen = sd->c.gen;
	mroce_wire_parse(pkt->bytes, pkt->len, pkt->len, &pkt->hdr);
	trace(sd, "tx", &pkt->hdr);
	check_sent(sd, &txd, pkt);
	settle_errors(sd);
	/* A burst is one step as far as the books are concerned. */
	if (!(++sd->n_tx % 16))
		side_check(sd);
	return pkt;
}

struct copy_src {
	struct side *sd;
	const u8 *bytes;
	u32 len;
};

static int copy_payload(void *src, u32 off, void *dst, u32 len)
{
	struct copy_src *cs = src;

	fuzz_require(off <= cs->len && len <= cs->len - off,
		     "copy of %u at %u from %u", len, off, cs->len);
	if (chance(cs->sd, cs->sd->fail_copy))
		return -EFAULT;
	memcpy(dst, cs->bytes + off, len);
	return 0;
}

unsigned int side_pending(const struct side *sd)
{
	unsigned int i, n = 0;

	for (i = 0; i < SIDE_CLAIMS; i++)
		n += sd->claim[i].used;
	return n;
}

static void finish_claim(struct side *sd, struct side_claim *sc)
{
	mroce_conn_finish(&sd->c, &sc->cl, !sc->err, fuzz_now);
	side_pkt_free(sc->pkt);
	sc->used = false;
	side_settle(sd);
}

bool side_finish(struct side *sd, unsigned int n)
{
	unsigned int i, total = side_pending(sd);

	if (!total)
		return false;
	n %= total;
	for (i = 0; i < SIDE_CLAIMS; i++)
		if (sd->claim[i].used && !n--)
			break;
	finish_claim(sd, &sd->claim[i]);
	return true;
}

enum mroce_rx side_rx(struct side *sd, struct side_pkt *pkt, bool hold)
{
	struct mroce_rx_meta meta = { .sport = pkt->sport, .ce = pkt->ce };
	static struct mroce_pkt parsed;
	struct side_claim *sc = NULL;
	struct copy_src src;
	enum mroce_rx rx;
	unsigned int i;

	if (mroce_wire_parse(pkt->bytes, pkt->len, pkt->len, &parsed)) {
		side_pkt_free(pkt);
		return MROCE_RX_DROP;
	}
	if (side_pending(sd) == SIDE_CLAIMS)
		side_finish(sd, 0);
	for (i = 0; i < SIDE_CLAIMS; i++)
		if (!sd->claim[i].used)
			sc = &sd->claim[i];
	trace(sd, "rx", &parsed);
	memset(&sc->cl, 0xa5, sizeof(sc->cl));
	rx = mroce_conn_rx(&sd->c, &parsed, &meta, &sc->cl, fuzz_now);
	if (rx != MROCE_RX_CLAIM) {
		side_pkt_free(pkt);
		side_settle(sd);
		return rx;
	}
	fuzz_require(sc->cl.len <= parsed.payload_len, "claim of %u out of %u",
		     sc->cl.len, parsed.payload_len);
	sc->used = true;
	sc->pkt = pkt;
	src.sd = sd;
	src.bytes = pkt->bytes + parsed.payload_off;
	src.len = parsed.payload_len;
	sc->err = mroce_claim_place(&sc->cl, copy_payload, &src);
	side_settle(sd);
	if (!hold)
		finish_claim(sd, sc);
	return rx;
}

void side_timer(struct side *sd)
{
	if (mroce_conn_deadline(&sd->c) > fuzz_now)
		return;
	mroce_conn_timer(&sd->c, fuzz_now);
	side_settle(sd);
}

void side_settle(struct side *sd)
{
	settle_errors(sd);
	side_check(sd);
}
