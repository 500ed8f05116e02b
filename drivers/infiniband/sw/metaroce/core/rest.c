// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection has only while it is used.
 *
 * A host may have ten thousand connections of which a few are busy. What must
 * be remembered for ever, because a PSN is never given twice and a late copy
 * must be known as one, is small: where each path stands. The rest comes with the
 * first packet that needs it, and goes when nothing has for a while:
 *
 *   slots of a path, sending	first packet -> all acknowledged, and a rest
 *   ring of NAKs		first NAK -> none waits, and a rest
 *   chunk of messages		first one received -> none is on its way, and a rest
 *   spare chunk of messages	recycled -> a rest
 *   tables of paths		grow with the highest path; stay
 *
 * Nothing is allocated per packet. If there is no memory, a sender takes another
 * path or asks again in a millisecond, a receiver drops the packet and it comes
 * again, and a NAK is not sent before its packet comes again.
 */
#include "internal.h"

#define TABLE_MIN	4U	/* paths */

/* A table with room for entry @id; NULL: no memory, or it has (@room). */
static void *table_grow(void *old, u8 *room, u32 id)
{
	u32 n = roundup_pow_of_two(max(id + 1, TABLE_MIN));
	void **table;

	table = mroce_zalloc(n * sizeof(*table));
	if (!table)
		return NULL;
	if (*room)
		memcpy(table, old, *room * sizeof(*table));
	mroce_free(old);
	*room = (u8)n;
	return table;
}

/* The table takes one more path. */
bool rest_tx_room(struct mroce_conn *c)
{
	void *table;

	if (c->n_tx < c->tx_room)
		return true;
	table = table_grow(c->tx, &c->tx_room, c->n_tx);
	if (!table)
		return false;
	c->tx = table;
	return true;
}

/* The table takes path @id of the peer. */
bool rest_rx_room(struct mroce_conn *c, u8 id)
{
	void *table;

	if (id < c->rx_room)
		return true;
	table = table_grow(c->rx, &c->rx_room, id);
	if (!table)
		return false;
	c->rx = table;
	return true;
}

/* Something was allocated that is to be given back some day. */
void rest_arm(struct mroce_conn *c, u64 now)
{
	c->rest_at = min(c->rest_at, now + MROCE_REST_NS);
}

/* The path is going to send. */
bool rest_path_slots(struct mroce_conn *c, struct mroce_path_tx *p, u64 now)
{
	p->slot = mroce_zalloc(MROCE_PATH_WINDOW * sizeof(*p->slot));
	if (!p->slot) {
		cnt_inc(c, MROCE_CNT_NOMEM);
		conn_again(c, now + MROCE_NOMEM_NS);
		return false;
	}
	rest_arm(c, now);
	return true;
}

/* A packet has just been refused. */
bool rest_nak_ring(struct mroce_conn *c)
{
	if (c->nak)
		return true;
	c->nak = mroce_zalloc(MROCE_NAK_RING * sizeof(*c->nak));
	if (!c->nak) {
		cnt_inc(c, MROCE_CNT_NOMEM);
		return false;
	}
	rest_arm(c, c->last_heard_ns);
	return true;
}

static void rest_free_rings(struct mroce_conn *c)
{
	mroce_free(c->nak);
	mroce_free(c->spare);
	c->nak = NULL;
	c->spare = NULL;
}

/*
 * Give back what has not been used for a while. Runs once per MROCE_REST_NS as long
 * as there is something, not at all after that.
 */
void rest_timer(struct mroce_conn *c, u64 now)
{
	struct mroce_stream *s;
	int i;

	if (now < c->rest_at)
		return;
	c->rest_at = MROCE_NEVER;
	for (i = 0; i < c->n_tx; i++) {
		struct mroce_path_tx *p = c->tx[i];

		if (!p->slot)
			continue;
		if (p->una != p->nxt ||
		    elapsed(now, p->last_tx_ns) < MROCE_REST_NS) {
			rest_arm(c, now);
			continue;
		}
		mroce_free(p->slot);
		p->slot = NULL;
	}
	if (c->nak_n || elapsed(now, c->last_heard_ns) < MROCE_REST_NS) {
		rest_arm(c, now);
		return;
	}
	rest_free_rings(c);
	list_for_each_entry(s, &c->streams, node)
		if (!stream_rx_rest(s))
			rest_arm(c, now);
}

/* The incarnation ends. */
void rest_free_all(struct mroce_conn *c)
{
	struct mroce_plane *pl;
	int i;

	for (i = 0; i < c->n_tx; i++) {
		mroce_free(c->tx[i]->slot);
		mroce_free(c->tx[i]);
	}
	for (i = 0; i < c->rx_room; i++)
		mroce_free(c->rx[i]);
	mroce_free(c->tx);
	mroce_free(c->rx);
	rest_free_rings(c);
	c->tx = NULL;
	c->rx = NULL;
	c->n_tx = 0;
	c->tx_room = 0;
	c->rx_room = 0;
	c->rest_at = MROCE_NEVER;
	c->path_deadline = MROCE_NEVER;
	for_each_plane(c, pl, i)
		pl->window_x256 = 0;
}
