// SPDX-License-Identifier: GPL-2.0
/*
 * Two ends that know each other, and packets that one of them did not send.
 */
#include "forge.h"
#include "../internal.h"

bool pair_open(struct pair *p)
{
	return p->side[0].c.state == MROCE_CONN_OPEN &&
	       p->side[1].c.state == MROCE_CONN_OPEN;
}

bool pair_open_and_done(struct pair *p)
{
	return pair_open(p) && pair_all_done(p);
}

/* Both ends know each other, one Write has passed. */
struct pair *pair_connected(struct kunit *test, u64 seed)
{
	struct pair *p = pair_new(test, seed, 1500);

	pair_up(p, 0);
	pair_post(p, 0, 0, MROCE_OP_WRITE, 8, 0, false);
	KUNIT_ASSERT_TRUE(test, pair_run(p, SEC, pair_open_and_done));
	pair_run(p, MS, NULL);
	return p;
}

struct pair *pair_with_planes(struct kunit *test, u64 seed, int n0, int n1,
			      u16 dead)
{
	struct pair *p = pair_new(test, seed, 1500);

	p->net.dead_planes = dead;
	pair_planes(p, 0, n0);
	pair_planes(p, 1, n1);
	pair_up(p, 0);
	pair_up(p, 1);
	return p;
}

struct mroce_pkt forge_ctrl(struct pair *p, int to, u8 opcode)
{
	const struct mroce_conn *c = &p->side[to].c;
	struct mroce_pkt pkt = {
		.type = MROCE_T_CONTROL,
		.opcode = opcode,
		.conn = c->id,
		.tag = c->tag,
	};

	return pkt;
}

struct mroce_pkt forge_ack(struct pair *p, int to, int path)
{
	const struct mroce_conn *c = &p->side[to].c;
	const struct mroce_path_tx *tx = c->tx[path];
	struct mroce_pkt pkt = {
		.type = MROCE_T_ACK,
		.opcode = MROCE_ACK_SHORT,
		.conn = c->id,
		.path = path,
		.tag = c->tag,
		.psn = tx->una - 1,
		.epoch = tx->epoch,
		.ack.echo_ts = tx->echo_ts,
		.ack.n_recv = tx->n_recv,
		.ack.n_ce = tx->n_ce,
	};

	return pkt;
}

void forge_rx_on(struct pair *p, int to, u8 plane, const struct mroce_pkt *pkt)
{
	struct mroce_rx_meta meta = { .plane = plane };

	mroce_conn_rx(&p->side[to].c, pkt, &meta, NULL, p->now);
}

/* The next DATA packet of a peer of stream @i on side @to, to be completed. */
struct mroce_pkt forge_data(struct pair *p, int to, int i, u8 opcode, u32 msn)
{
	struct mroce_conn *c = &p->side[to].c;
	struct mroce_path_rx *r = mroce_path_rx_of(c, FORGED_PATH);
	struct mroce_pkt pkt = {
		.type = MROCE_T_DATA,
		.opcode = opcode,
		.flags = MROCE_F_LAST,
		.conn = c->id,
		.path = FORGED_PATH,
		.tag = c->tag,
		.psn = r ? r->cum + 1 : c->psn0,
		.ts = r ? r->newest_ts + 1 : 1,
		.data = {
			.dqpn = pair_qpn(to, i),
			.sqpn = pair_qpn(!to, i),
			.msn = msn,
			.rkey = 1,
		},
	};

	return pkt;
}

enum mroce_rx forge_rx(struct pair *p, int to, const struct mroce_pkt *pkt,
		       struct mroce_claim *cl)
{
	struct mroce_rx_meta meta = { .sport = 60000 };
	struct mroce_claim unused;

	return mroce_conn_rx(&p->side[to].c, pkt, &meta, cl ? cl : &unused,
			     p->now);
}

int forge_copy(void *src, u32 off, void *dst, u32 len)
{
	memcpy(dst, (u8 *)src + off, len);
	return 0;
}

/* Receive it whole; false: it was not accepted. */
bool forge_accept(struct pair *p, int to, const struct mroce_pkt *pkt,
		  void *payload)
{
	struct mroce_claim cl;

	if (forge_rx(p, to, pkt, &cl) != MROCE_RX_CLAIM)
		return false;
	KUNIT_EXPECT_EQ(p->test, 0,
			mroce_claim_place(&cl, forge_copy, payload));
	mroce_conn_finish(&p->side[to].c, &cl, true, p->now);
	return true;
}

/* A WRITE of a whole message of @len bytes. */
struct mroce_pkt forge_write(struct pair *p, int to, int i, u32 msn,
			     u64 va, u32 len)
{
	struct mroce_pkt pkt = forge_data(p, to, i, MROCE_OP_WRITE, msn);

	pkt.data.va = va;
	pkt.data.len = len;
	pkt.payload_len = len;
	return pkt;
}

/* A NAK of the oldest PSN outstanding on path @path of side @to. */
struct mroce_pkt forge_nak(struct pair *p, int to, int path, u8 code)
{
	struct mroce_conn *c = &p->side[to].c;
	struct mroce_path_tx *tx = c->tx[path];
	struct mroce_slot *sl = &tx->slot[psn_idx(tx->una)];
	struct mroce_pkt pkt = {
		.type = MROCE_T_NAK,
		.conn = c->id,
		.path = path,
		.tag = c->tag,
		.psn = tx->una,
		.nak = {
			.qpn = sl->qpn,
			.msn = sl->msn,
			.attempt = sl->attempt,
			.code = code,
		},
	};

	return pkt;
}

bool forge_nak_waits(struct pair *p, int side, u8 code)
{
	struct mroce_conn *c = &p->side[side].c;
	int i;

	for (i = 0; i < c->nak_n; i++)
		if (c->nak[(c->nak_head + i) % MROCE_NAK_RING].code == code)
			return true;
	return false;
}
