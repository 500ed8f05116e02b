// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/metaroce/DEVICE/conns: connections, streams and paths, for
 * people who look for a fault. No interface: the format changes at will.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "ctl.h"

#ifdef CONFIG_DEBUG_FS

static struct dentry *mroce_debugfs_root;

static void mroce_show_path_tx(struct seq_file *s, const struct mroce_path_tx *p)
{
	seq_printf(s, "  tx %u plane %u sport %u epoch %u una %u nxt %u inflight %u lost %u cwnd %u.%02u srtt %llu us rttvar %llu us backoff %u sent %llu retx %u%s\n",
		   p->id, p->plane, p->sport, p->epoch, p->una, p->nxt,
		   p->inflight, p->n_lost, p->cc.cwnd_x256 >> 8,
		   (p->cc.cwnd_x256 & 255) * 100 / 256, p->srtt_ns / 1000,
		   p->rttvar_ns / 1000, p->backoff, p->tx_pkts, p->retx_pkts,
		   p->slot ? "" : " resting");
}

static void mroce_show_path_rx(struct seq_file *s, const struct mroce_path_rx *p)
{
	seq_printf(s, "  rx %u plane %u sport %u epoch %u cum %u received %u ce %u dup %u placed %u placing %u\n",
		   p->id, p->plane, p->sport, p->epoch, p->cum, p->n_recv,
		   p->n_ce, p->n_dup,
		   (u32)bitmap_weight(p->placed, MROCE_PATH_WINDOW),
		   (u32)bitmap_weight(p->placing, MROCE_PATH_WINDOW));
}

static void mroce_show_stream(struct seq_file *s, const struct mroce_stream *st)
{
	seq_printf(s, "  stream qpn %u dqpn %u tx state %u una %u snd %u nxt %u refused %u held %u rx state %u msn %u rsn %u bound %u claims %u\n",
		   st->a.qpn, st->a.dqpn, st->tx_state, st->msn_una,
		   st->msn_snd, st->msn_nxt, st->n_refused, st->held,
		   st->rx_state, st->msn_rcv, st->rsn_rcv, st->rsn_bound,
		   st->claims);
}

static void mroce_show_plane(struct seq_file *s, const struct mroce_conn *c,
			     int k)
{
	const struct mroce_planes *mp = c->mp;
	const struct mroce_plane *pl = k ? &mp->p[k - 1] : &c->plane0;

	if (!((mp->own | mp->peer) & BIT(k)))
		return;
	seq_printf(s, "  plane %d %s %pI6c -> %pI6c carrier %u drain %u usable %u probes %u pace_kbps %u backlogged %u\n",
		   k, mroce_plane_state_names[pl->state], mp->own_addr[k],
		   mp->peer_addr[k], !!(mp->carrier & BIT(k)),
		   !!(mp->drain & BIT(k)), !!(mp->usable & BIT(k)),
		   pl->n_probes, pl->pace_kbps, pl->backlogged);
}

static void mroce_show_conn(const struct mroce_conn *c,
			    const struct mroce_addr *a, void *arg)
{
	const struct mroce_stream *st;
	struct seq_file *s = arg;
	int i;

	seq_printf(s, "conn %08x peer %08x %pI6c -> %pI6c tclass %u state %s gen %u mtu %u streams %u blocked %u naks %u pace_kbps %u backlogged %u\n",
		   c->id, c->peer_id, &a->saddr, &a->daddr, a->tclass,
		   mroce_conn_state_names[c->state], c->gen, c->mtu,
		   c->n_streams, c->tx_blocked, c->nak_n, c->plane0.pace_kbps,
		   c->plane0.backlogged);
	for (i = 0; c->mp && i < MROCE_MAX_PLANES; i++)
		mroce_show_plane(s, c, i);
	list_for_each_entry(st, &c->streams, node)
		mroce_show_stream(s, st);
	for (i = 0; i < c->n_tx; i++)
		mroce_show_path_tx(s, c->tx[i]);
	for (i = 0; i < c->rx_room; i++)
		if (c->rx[i])
			mroce_show_path_rx(s, c->rx[i]);
}

static int mroce_conns_show(struct seq_file *s, void *unused)
{
	mroce_net_dev_conns(s->private, mroce_show_conn, s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mroce_conns);

void mroce_debugfs_add(struct mroce_dev *dev)
{
	struct dentry *dir;

	dir = debugfs_create_dir(dev_name(&dev->ib_dev.dev),
				 mroce_debugfs_root);
	debugfs_create_file("conns", 0400, dir, dev, &mroce_conns_fops);
	debugfs_create_u32("offer_kbps", 0600, dir, &dev->share[0].kbps);
	dev->debugfs = dir;
}

static int mroce_offer_get(void *data, u64 *val)
{
	*val = READ_ONCE(*(u32 *)data);
	return 0;
}

static int mroce_offer_set(void *data, u64 val)
{
	WRITE_ONCE(*(u32 *)data, min_t(u64, val, U32_MAX));
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(mroce_offer_fops, mroce_offer_get, mroce_offer_set,
			 "%llu\n");

/* What is offered on a plane that was joined; removed with its entry. */
void mroce_debugfs_plane(struct mroce_dev *dev, struct mroce_plane_dev *pl,
			 u8 id)
{
	char name[sizeof("offer_kbps.15")];

	/* Joined before the link had its directory. */
	if (IS_ERR_OR_NULL(dev->debugfs))
		return;
	snprintf(name, sizeof(name), "offer_kbps.%u", id % MROCE_MAX_PLANES);
	pl->debugfs = debugfs_create_file_unsafe(name, 0600, dev->debugfs,
						 &dev->share[id].kbps,
						 &mroce_offer_fops);
}

/* Waits for readers. */
void mroce_debugfs_del(struct mroce_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
	dev->debugfs = NULL;
}

void mroce_debugfs_init(void)
{
	mroce_debugfs_root = debugfs_create_dir("metaroce", NULL);
}

void mroce_debugfs_exit(void)
{
	debugfs_remove_recursive(mroce_debugfs_root);
}

#endif /* CONFIG_DEBUG_FS */
