/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a transport is to the simulator. Ends and flows are a transport's own
 * structures, which begin with struct end and struct flow.
 */
#ifndef MROCE_SIM_TRANSPORT_H
#define MROCE_SIM_TRANSPORT_H

#include "sim.h"

/* Of all ends of a simulation. */
struct transport_stats {
	u64 rx_bytes;			/* payload that arrived for the first time */
	u64 tx_pkts, retx_pkts;
	u64 timeouts, rehomed;
	u64 congestion;			/* marks echoed, or CNPs */
};

struct transport {
	const char *name;
	/* A flow, with its ends; not started. */
	struct flow *(*flow_new)(struct sim *sm, const struct flow_cfg *cfg);
	void (*flow_start)(struct flow *f);
	/* The @slot of f's ring is free for a message of @bytes. 0 or -errno. */
	int (*post)(struct flow *f, u32 slot, u32 bytes);
	/* Something was posted. */
	void (*kick)(struct flow *f);
	/* In the order: all flows, then all ends. */
	void (*flow_free)(struct flow *f);
	void (*end_free)(struct end *e);
	/* @p is freed by the caller. */
	void (*rx)(struct host *h, struct packet *p);
	/* Send what does not wait for the host's turn: ACKs, control. */
	void (*tx_now)(struct end *e);
	/* Send one packet of data. False: nothing may be sent now. */
	bool (*tx)(struct end *e);
	u64 (*deadline)(struct end *e);
	void (*timer)(struct end *e);
	/* What the flow's sender may send now, by windows and rates; Gb/s. */
	double (*allowed_gbps)(struct flow *f);
	void (*stats)(struct sim *sm, struct transport_stats *st);
};

extern const struct transport transport_metaroce;
extern const struct transport transport_gbn;
extern const struct transport transport_sr1;

const struct transport *transport_find(const char *name);

/*
 * What happens above MetaRoCE, and to its packets, for who checks it: seeds.c.
 * @f is the requester's flow, from whichever end. All are set.
 */
struct watch {
	/* Choose f's next message. */
	void (*choose)(struct flow *f, struct mroce_msg *m);
	void (*placed)(struct flow *f, const struct mroce_claim *cl);
	/* A receive is asked for: 0, or -EAGAIN: there is none. */
	int (*bind)(struct flow *f, u32 rsn);
	void (*received)(struct flow *f, const struct mroce_recv *r);
	void (*executed)(struct flow *f, const struct mroce_rctx *r);
	void (*fetched)(struct flow *f, const struct mroce_msg *m, u64 orig);
	void (*completed)(struct flow *f, const struct mroce_msg *m, bool ok);
	void (*packet)(struct sim *sm, const struct packet *p, const char *what);
};

#endif /* MROCE_SIM_TRANSPORT_H */
