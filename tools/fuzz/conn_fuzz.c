// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes a connection from the wire: after a valid handshake the peer knows
 * all numbers and sends what it likes. Above, streams post, receive, fail and
 * come back; below, copies end late or fail, and memory runs out.
 *
 * The input is a program: one byte chooses the next step, more bytes its
 * details. Whatever the peer does, core/ must keep its own books, call up only
 * by the contract, let go of everything at the end, and come to rest.
 */
#include "side.h"

#define PEER_QPN	0x21	/* of stream 0; the next of stream 1 */
#define LOCAL_QPN	0x11
#define PAYLOAD_MAX	1200

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static struct side sd;
static struct fuzz_in in;
static struct mroce_stream_attr attr;
static u64 peer_nonce;
static u32 peer_id;
static u8 last_bytes[2048];	/* the peer's newest packet */
static u32 last_len;
static u8 sent_hdr[MROCE_COMMON_LEN];	/* our newest DATA or PROBE */

static u32 one_of(const u32 *tab, u32 n)
{
	return tab[in_below(&in, n)];
}

static void feed(const u8 *bytes, u32 len)
{
	struct side_pkt *pkt = side_pkt_new(bytes, len);

	memcpy(last_bytes, bytes, len);
	last_len = len;
	pkt->sport = MROCE_SPORT_MIN + in_below(&in, 4);
	pkt->ce = in_below(&in, 8) == 1;
	side_rx(&sd, pkt, in_below(&in, 4) == 1);
}

/* A header and @payload bytes, if the builder can make it. */
static void feed_pkt(struct mroce_pkt *p, u32 payload)
{
	static u8 buf[sizeof(last_bytes)];
	u32 n;

	n = mroce_wire_build(p, buf, MROCE_MAX_HDR);
	if (!n)
		return;
	memset(buf + n, 0x77, payload);
	feed(buf, n + payload);
}

static void common(struct mroce_pkt *p, u8 type, u8 opcode)
{
	memset(p, 0, sizeof(*p));
	p->type = type;
	p->opcode = opcode;
	p->conn = sd.c.id;
	p->tag = sd.c.tag;
	p->ts = (u32)(fuzz_now >> 6) + in_below(&in, 4);
	if (in_below(&in, 64) == 63)
		p->ts = in_u32(&in);
	if (in_below(&in, 64) == 63)
		p->tag ^= 1;
}

static void send_init_ack(bool honest)
{
	struct mroce_pkt p;

	common(&p, MROCE_T_CONTROL, MROCE_CTRL_INIT_ACK);
	p.tag = 0;
	p.init.conn_id = peer_id;
	p.init.nonce = peer_nonce;
	p.init.peer_nonce = honest ? sd.c.nonce : in_u32(&in);
	p.init.msn_window = 64 << in_below(&in, 9);
	p.init.rsn_window = 1 + in_below(&in, 200);
	p.init.mtu = sd.cfg.link_mtu;
	feed_pkt(&p, 0);
}

static void send_init(void)
{
	struct mroce_pkt p;

	common(&p, MROCE_T_CONTROL, MROCE_CTRL_INIT);
	p.tag = 0;
	p.conn = 0;
	p.init.conn_id = peer_id;
	p.init.nonce = peer_nonce ^ in_below(&in, 2);
	p.init.msn_window = 1024;
	p.init.rsn_window = 64;
	p.init.mtu = 1500;
	feed_pkt(&p, 0);
}

static void send_ctrl(void)
{
	static const u32 ops[] = {
		MROCE_CTRL_RESET, MROCE_CTRL_PROBE, MROCE_CTRL_PROBE_ACK,
		MROCE_CTRL_CLOSE,
	};
	struct mroce_pkt p;

	common(&p, MROCE_T_CONTROL, one_of(ops, ARRAY_SIZE(ops)));
	switch (p.opcode) {
	case MROCE_CTRL_RESET:
		memcpy(p.reset, sent_hdr, sizeof(p.reset));
		if (in_below(&in, 4) == 1)
			p.reset[in_below(&in, MROCE_COMMON_LEN)] ^= in_u8(&in);
		break;
	case MROCE_CTRL_PROBE_ACK:
		p.ctrl.cookie = sd.c.probe_cookie;
		break;
	case MROCE_CTRL_CLOSE:
		p.ctrl.cookie = peer_nonce;
		break;
	}
	feed_pkt(&p, 0);
}

static u32 payload_of(struct mroce_pkt *p)
{
	static const u32 lens[] = {
		0, 1, 8, 64, 65, 256, 300, 1000, 2400, 4096, 5000, SIDE_MEM,
	};
	static const u32 steps[] = { 1, 64, 500, PAYLOAD_MAX };
	u32 step = one_of(steps, ARRAY_SIZE(steps));
	u32 left;

	p->data.len = one_of(lens, ARRAY_SIZE(lens));
	p->data.offset = step * in_below(&in, 8);
	if (p->data.offset >= p->data.len)
		p->data.offset = 0;
	left = p->data.len - p->data.offset;
	if (left > step)
		left = step;
	if (p->data.offset + left == p->data.len)
		p->flags |= MROCE_F_LAST;
	return left;
}

/* An answer to something the stream has out, or nearly. */
static u32 response_of(struct mroce_pkt *p, struct mroce_stream *s)
{
	u32 msn = s->msn_una + in_below(&in, 4), step = 500, left;
	struct mroce_msg *m = NULL;

	if (msn - s->msn_una < s->msn_nxt - s->msn_una)
		m = s->ring[msn & s->ring_mask];
	p->data.msn = msn;
	p->data.attempt = 0;
	p->data.cookie = m && in_below(&in, 16) != 15 ? m->cookie : in_u32(&in);
	if (p->opcode != MROCE_OP_READ_RESP) {
		p->data.code = MROCE_NAK_INV_REQ + in_below(&in, 3);
		p->data.swap_add = in_u8(&in);
		return 0;
	}
	p->data.offset = step * in_below(&in, 8);
	left = m ? m->len - p->data.offset : step;
	if (m && p->data.offset >= m->len) {
		p->data.offset = 0;
		left = m->len;
	}
	if (left > step)
		left = step;
	if (m && p->data.offset + left == m->len)
		p->flags |= MROCE_F_LAST;
	if (in_below(&in, 16) == 15)
		p->flags ^= MROCE_F_LAST;
	return left;
}

static void send_data(void)
{
	unsigned int i = in_below(&in, SIDE_STREAMS);
	struct mroce_stream *s = &sd.st[i].s;
	struct mroce_path_rx *r;
	u32 payload = 0, k;
	struct mroce_pkt p;

	common(&p, MROCE_T_DATA, 1 + in_below(&in, 15));
	p.path = in_below(&in, 8) == 7 ? in_u8(&in) : in_below(&in, 3);
	p.epoch = in_below(&in, 2);
	r = mroce_path_rx_of(&sd.c, p.path);
	p.psn = r ? r->cum : sd.c.psn0 - 1;
	switch (in_below(&in, 8)) {
	case 0:
		p.psn += 1 + in_below(&in, 256);
		break;
	case 1:
		p.psn += in_below(&in, 8) - 6;
		break;
	case 2:
		p.psn += 1 + in_below(&in, 3);
		break;
	default:
		p.psn++;
		break;
	}
	p.flags = in_below(&in, 4) == 1 ? MROCE_F_BACKLOG : 0;
	p.data.dqpn = LOCAL_QPN + i;
	p.data.sqpn = PEER_QPN + i;
	if (in_below(&in, 32) == 31)
		p.data.dqpn ^= in_below(&in, 4);
	p.data.attempt = in_below(&in, 16) > 12 ? in_below(&in, 3) : 0;
	p.data.msn = s->msn_rcv;
	k = in_below(&in, 16);
	if (k > 8)
		p.data.msn += k - 8;
	else if (k == 8)
		p.data.msn += in_u8(&in) * 5 - 20;
	p.data.rsn = s->rsn_rcv + (k > 8 ? in_below(&in, k - 7) : 0);
	p.data.va = SIDE_VA + 8 * in_below(&in, 64);
	if (in_below(&in, 32) == 31)
		p.data.va += in_u32(&in);
	p.data.rkey = SIDE_RKEY + (in_below(&in, 32) == 31);
	p.data.cookie = in_u8(&in);
	p.data.imm = in_u8(&in);

	switch (p.opcode) {
	case MROCE_OP_WRITE:
	case MROCE_OP_WRITE_IMM:
	case MROCE_OP_SEND:
	case MROCE_OP_SEND_IMM:
	case MROCE_OP_SEND_INV:
		payload = payload_of(&p);
		break;
	case MROCE_OP_READ_REQ:
		p.data.len = 40 * in_u8(&in);
		break;
	case MROCE_OP_READ_RESP:
	case MROCE_OP_RESP_DONE:
	case MROCE_OP_RESP_ERR:
	case MROCE_OP_ATOMIC_RESP:
		payload = response_of(&p, s);
		break;
	case MROCE_OP_NOP:
		p.data.has_vec = in_below(&in, 2);
		for (k = 0; p.data.has_vec && k < MROCE_VEC_WORDS; k++)
			p.data.vec[k] = (u64)in_u32(&in) * 0x80000001ULL;
		break;
	}
	feed_pkt(&p, payload);
}

/* The @n-th outstanding slot of @p, if any. */
static struct mroce_slot *out_slot(struct mroce_path_tx *p, u32 n, u32 *psn)
{
	u32 left = p->nxt - p->una;

	if (!left)
		return NULL;
	*psn = p->una + n % left;
	return test_bit(*psn & 255, p->out) ? &p->slot[*psn & 255] : NULL;
}

static struct mroce_path_tx *some_path(void)
{
	u32 i = in_below(&in, 4);

	return i < sd.c.n_tx ? sd.c.tx[i] : NULL;
}

static void send_ack(void)
{
	struct mroce_path_tx *p = some_path();
	struct mroce_slot *sl;
	struct mroce_pkt pkt;
	u32 psn, n, i;

	if (!p)
		return;
	common(&pkt, MROCE_T_ACK, in_below(&in, 2));
	pkt.path = p->id;
	sl = out_slot(p, in_u8(&in), &psn);
	pkt.epoch = sl ? sl->epoch : p->epoch;
	pkt.ack.echo_ts = sl && in_below(&in, 2) ? sl->ts : p->last_ts;
	n = p->nxt - p->una;
	pkt.psn = p->una - 1 + in_below(&in, n + 1);
	if (in_below(&in, 4) == 0)
		pkt.psn = p->nxt - 1;
	if (in_below(&in, 32) == 31)
		pkt.psn += in_u8(&in);
	if (in_below(&in, 32) == 31)
		pkt.ack.echo_ts += in_u32(&in);
	pkt.ack.hold = in_u8(&in);
	pkt.ack.n_recv = p->n_recv + in_below(&in, 8);
	pkt.ack.n_ce = p->n_ce + in_below(&in, 4);
	pkt.ack.hint_kbps = in_below(&in, 4) == 1 ? in_u32(&in) : 0;
	if (pkt.opcode == MROCE_ACK_FULL) {
		u32 ahead = p->nxt - 1 - pkt.psn;

		for (i = 0; i < MROCE_VEC_WORDS; i++) {
			u64 w = (u64)in_u32(&in) * 0x100000001ULL;

			if (ahead <= 64 * i)
				w = 0;
			else if (ahead < 64 * (i + 1))
				w &= (1ULL << (ahead - 64 * i)) - 1;
			pkt.ack.vec[i] = w;
		}
		if (in_below(&in, 32) == 31)
			pkt.ack.vec[3] |= 1ULL << 63;
	}
	feed_pkt(&pkt, 0);
}

static void send_nak(void)
{
	struct mroce_path_tx *p = some_path();
	struct mroce_slot *sl;
	struct mroce_pkt pkt;
	u32 psn = 0;

	if (!p)
		return;
	sl = out_slot(p, in_u8(&in), &psn);
	if (!sl)
		return;
	common(&pkt, MROCE_T_NAK, 0);
	pkt.path = p->id;
	pkt.psn = psn;
	pkt.nak.qpn = sl->qpn;
	pkt.nak.msn = sl->msn;
	pkt.nak.attempt = sl->attempt;
	if (in_below(&in, 16) == 15)
		pkt.nak.attempt++;
	pkt.nak.code = 1 + in_below(&in, 7);
	pkt.nak.timer = pkt.nak.code == MROCE_NAK_RNR ? in_below(&in, 32) : 0;
	feed_pkt(&pkt, 0);
}

/* A known packet with some bytes changed, or plain noise. */
static void send_noise(void)
{
	static u8 buf[sizeof(last_bytes)];
	u32 len = last_len, n;

	memcpy(buf, last_bytes, sizeof(buf));
	if (in_below(&in, 2)) {
		len = in_below(&in, 200);
		for (n = 0; n < len; n++)
			buf[n] = in_u8(&in);
		buf[0] = 0x10 | in_below(&in, 7);
		put_unaligned_be32(sd.c.id, buf + 4);
		put_unaligned_be16(sd.c.tag, buf + 10);
	}
	for (n = in_below(&in, 4); n && len; n--)
		buf[in_below(&in, len)] ^= in_u8(&in);
	feed(buf, len);
}

static void post(void)
{
	static const u8 ops[] = {
		MROCE_OP_WRITE, MROCE_OP_WRITE_IMM, MROCE_OP_SEND,
		MROCE_OP_SEND_IMM, MROCE_OP_SEND_INV, MROCE_OP_READ_REQ,
		MROCE_OP_CMP_SWAP, MROCE_OP_FETCH_ADD,
	};
	static const u32 lens[] = {
		0, 1, 64, 65, 512, 513, 1500, 5000, SIDE_MAX_MSG,
	};
	u8 op = ops[in_below(&in, ARRAY_SIZE(ops))];
	unsigned int i = in_below(&in, SIDE_STREAMS);
	u32 len = one_of(lens, ARRAY_SIZE(lens));
	struct side_msg *sm;

	if (op >= MROCE_OP_CMP_SWAP)
		len = 8;
	sm = side_post(&sd, i, op, len, SIDE_VA);
	if (sm) {
		sm->m.fence = in_below(&in, 8) == 1;
		sm->m.solicited = in_below(&in, 8) == 1;
	}
}

static void drain(u32 max)
{
	struct side_pkt *pkt;

	while (max-- && (pkt = side_tx(&sd))) {
		if (pkt->hdr.type == MROCE_T_DATA ||
		    (pkt->hdr.type == MROCE_T_CONTROL &&
		     pkt->hdr.opcode == MROCE_CTRL_PROBE))
			memcpy(sent_hdr, pkt->bytes, sizeof(sent_hdr));
		side_pkt_free(pkt);
	}
}

/*
 * All that is due and all that may be sent: this must come to an end, with
 * nothing due until time goes on.
 */
static void rest(void)
{
	unsigned int rounds;
	u32 max = 2 * MROCE_MAX_PATHS + 4 * MROCE_PATH_WINDOW +
		  (sd.cfg.n_paths + 4) * MROCE_PATH_WINDOW * 3;

	for (rounds = 0; rounds < 16; rounds++) {
		struct side_pkt *pkt;

		side_timer(&sd);
		while ((pkt = side_tx(&sd))) {
			fuzz_require(max--, "sends for ever");
			side_pkt_free(pkt);
		}
		if (mroce_conn_deadline(&sd.c) > fuzz_now)
			return;
	}
	fuzz_broken(__FILE__, __LINE__, "comes to rest",
		    "due %lld ns ago for ever",
		    (long long)(fuzz_now - mroce_conn_deadline(&sd.c)));
}

static void handshake(void)
{
	if (sd.c.state != MROCE_CONN_INIT)
		return;
	drain(4);
	send_init_ack(true);
	if (sd.c.state == MROCE_CONN_OPEN && in_below(&in, 2))
		send_init();
}

static void advance(void)
{
	u32 shift = in_below(&in, 24);

	fuzz_now += (u64)(1 + in_u8(&in)) << (10 + shift % 24);
}

static void stream_step(void)
{
	unsigned int i = in_below(&in, SIDE_STREAMS);

	switch (in_below(&in, 8)) {
	case 0:
		side_error(&sd, i);
		break;
	case 1:
		side_detach(&sd, i);
		break;
	case 2:
		if (sd.st[i].attached)
			mroce_stream_pause(&sd.st[i].s, in_below(&in, 2),
					   fuzz_now);
		break;
	case 3:
		mroce_shim_fail_alloc(1 + in_below(&in, 8),
				      1 + in_below(&in, 4));
		break;
	case 4:
		mroce_shim_fail_alloc(0, 0);
		break;
	default:
		side_attach(&sd, i, PEER_QPN + i, &attr);
		break;
	}
	side_settle(&sd);
}

static void configure(struct mroce_conn_cfg *cfg)
{
	static const u32 mtus[] = { 1500, 9000, 4096, 576 };

	memset(cfg, 0, sizeof(*cfg));
	cfg->link_mtu = one_of(mtus, ARRAY_SIZE(mtus));
	cfg->l3_len = in_below(&in, 2) ? 48 : 28;
	cfg->n_paths = in_below(&in, 5);
	cfg->self = false;
	memset(&attr, 0, sizeof(attr));
	attr.sq_psn = 0xffffff - in_below(&in, 4);
	attr.rq_psn = in_below(&in, 2) ? 0xfffffe : 0;
	attr.timeout = in_below(&in, 20);
	attr.retry_cnt = in_below(&in, 8);
	attr.rnr_retry = in_below(&in, 8);
	attr.min_rnr_timer = in_below(&in, 32);
	attr.max_rd_atomic = in_below(&in, 5);
	attr.max_dest_rd_atomic = in_below(&in, 5);
}

static void step(void)
{
	switch (in_below(&in, 16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		send_data();
		break;
	case 4:
	case 5:
		send_ack();
		break;
	case 6:
		send_nak();
		break;
	case 7:
		send_ctrl();
		break;
	case 8:
		send_noise();
		break;
	case 9:
		post();
		break;
	case 10:
		drain(1 + in_below(&in, 32));
		break;
	case 11:
		side_finish(&sd, in_u8(&in));
		break;
	case 12:
		advance();
		if (in_below(&in, 2))
			side_timer(&sd);
		else
			rest();
		break;
	case 13:
		stream_step();
		break;
	case 14:
		sd.st[in_below(&in, SIDE_STREAMS)].recvs += in_below(&in, 8);
		if (in_below(&in, 8) == 1)
			send_init();
		break;
	case 15:
		handshake();
		sd.c.tx_blocked = in_below(&in, 16) == 1;
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct mroce_conn_cfg cfg;
	unsigned int i;

	fuzz_verbose = getenv("FUZZ_VERBOSE");
	in.p = data;
	in.left = size;
	fuzz_now = 1000000000000ULL;
	mroce_shim_seed(size);
	mroce_shim_fail_alloc(0, 0);
	peer_nonce = 0x1122334455667788ULL;
	peer_id = 0x00010002;
	last_len = 0;
	memset(sent_hdr, 0, sizeof(sent_hdr));

	configure(&cfg);
	side_init(&sd, "A", LOCAL_QPN, &cfg, &in, NULL);
	i = in_u8(&in);
	sd.fail_gather = i & 1 ? 16 : 0;
	sd.fail_resp = i & 2 ? 16 : 0;
	sd.fail_key = i & 4 ? 16 : 0;
	sd.fail_store = i & 8 ? 16 : 0;
	sd.fail_copy = i & 16 ? 16 : 0;
	sd.fail_resp_check = i & 32 ? 16 : 0;
	sd.fail_atomic = i & 32 ? 8 : 0;
	sd.fail_id = i & 64 ? 8 : 0;
	sd.no_memory = i & 128 ? 8 : 0;
	for (i = 0; i < SIDE_STREAMS; i++) {
		side_attach(&sd, i, PEER_QPN + i, &attr);
		sd.st[i].recvs = 4;
	}
	side_settle(&sd);
	handshake();

	while (in.left)
		step();

	mroce_shim_fail_alloc(0, 0);
	sd.c.tx_blocked = false;
	rest();
	side_fini(&sd);
	fuzz_require(!mroce_shim_live_allocs(), "%ld allocations left",
		     mroce_shim_live_allocs());
	return 0;
}
