/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A discrete-event simulator: links, switches and hosts in virtual time.
 *
 * MetaRoCE's wire/ and core/ are compiled into it as they are; two transports
 * that others use stand beside it (transport.h). Payload is only a length.
 * Deterministic by seed.
 */
#ifndef MROCE_SIM_H
#define MROCE_SIM_H

#include "core/core.h"

#define SIM_US		1000ULL
#define SIM_MS		1000000ULL
#define SIM_S		1000000000ULL
#define ETH_OVERHEAD	38		/* preamble, header, FCS, gap */
#define L3_LEN		28

struct sim;
struct node;
struct end;
struct host;
struct flow;
struct transport;
struct watch;

/* What the RoCEv2 baselines put in place of a MetaRoCE header. */
struct roce_hdr {
	u8 type;			/* enum roce_type, roce.c */
	bool last, request;
	u16 dqp;			/* index at the receiver */
	u32 psn;			/* 24 bits */
	u32 sack;			/* the PSN that caused an ACK */
	u32 payload_bytes;
	u32 read_bytes;			/* of the answer that is asked for */
};

struct packet {
	struct packet *next;
	u16 src, dst;			/* hosts */
	u16 sport;
	u8 plane;
	bool ect, ce, data;
	bool bad;			/* a checksum will tell */
	u16 hdr_len;
	u32 len;			/* UDP payload */
	union {
		u8 hdr[MROCE_MAX_HDR];
		struct roce_hdr roce;
	};
};

/* What a cable does to packets. Probabilities in 2^32. */
struct impair {
	u32 loss, duplicate, reorder, corrupt;
	u64 reorder_ns;			/* later, by up to */
	u32 burst_enter, burst_leave;	/* Gilbert-Elliott, per packet */
	u32 burst_loss;			/* while in the bad state */
	bool bleach;			/* forgets ECN marks */
};

/* A queue's limit and its marking, in bytes; 0: none. */
struct queue_cfg {
	u32 limit;
	u32 mark_min, mark_max;		/* equal: a step */
	u32 mark_prob;			/* in 2^32, just below mark_max */
};

/* One direction of a cable, with the queue in front of it. */
struct link {
	struct node *to;
	struct host *owner;		/* if it is a host's NIC */
	u64 ps_per_byte;
	u64 delay_ns;
	struct queue_cfg q;
	struct impair im;
	bool down;
	bool busy;
	bool in_burst;
	u32 queued;			/* bytes */
	struct packet *head, **tail;
	/* statistics */
	u64 bytes, pkts, drops, marks, lost;
	u32 max_queued;
};

struct node {
	int host;			/* index, or -1: a switch */
	int level, idx;
	u32 n_up, n_down;
	struct link **up;		/* ECMP among these */
	struct link **down;		/* by destination, see topo.c */
	int (*route)(struct sim *sm, struct node *n, const struct packet *p,
		     struct link **out);
	u32 salt;
};

enum ev_type { EV_ARRIVE, EV_LINK_FREE, EV_TIMER, EV_CALL };

struct event {
	u64 at, seq;
	enum ev_type type;
	void *a, *b;
};

/* One end of a connection. A transport's own begins with it. */
struct end {
	struct host *h;
	u16 peer;			/* host */
	u16 idx;			/* in h->ends */
	u64 armed;
	bool queued;			/* on the host's list of senders */
	struct end *next_tx;
};

/* What a flow sends. */
struct flow_cfg {
	u16 src, dst;
	u8 opcode;			/* enum mroce_data_op: a request */
	u8 class;			/* which workload it is of */
	u32 msg_bytes;
	u32 depth;			/* messages in flight */
	u64 bytes;			/* in all; U64_MAX: until the end */
	u64 gap_ns;			/* pause after each message, if depth 1 */
	bool no_receives;		/* the responder posts none */
	bool bad_key;			/* the responder refuses its Writes */
};

/* A message source over one stream. A transport's own begins with it. */
struct flow {
	struct sim *sm;
	struct flow_cfg cfg;
	u64 bytes_left;
	u64 posted, done;		/* messages */
	u64 done_bytes;
	u64 base_bytes;			/* done when measuring began */
	u64 start_ns, end_ns;
	u64 *post_ns;			/* by message, depth of them */
	u32 errors;
	bool started;
	void (*finished)(struct flow *f);	/* all of it is done */
	void (*received)(struct flow *f);	/* a SEND is, at the responder */
	void *arg;
};

struct host {
	struct sim *sm;
	int idx;
	struct node node;
	struct link *nic[MROCE_MAX_PLANES];	/* outwards, by plane */
	struct end **ends;
	u32 n_ends, max_ends;
	struct end *tx_head, **tx_tail;
	struct flow **flows;		/* both ends of a flow, by number */
	u32 n_flows, max_flows;
	u64 corrupt;			/* packets that a checksum refused */
	struct mroce_share share[MROCE_MAX_PLANES];	/* MetaRoCE's */
};

#define SIM_CLASSES	4

struct samples {
	u64 *ns;
	u32 n, max;
};

struct sim {
	u64 now, seq, rnd;
	struct event *heap;
	u32 n_ev, max_ev;
	const struct transport *t;
	struct host *hosts;
	u32 n_hosts;
	struct node *switches;
	u32 n_switches;
	struct link **links;
	u32 n_links, max_links;
	u16 mtu;
	u8 n_paths;
	u8 n_planes;
	u16 port_step;			/* of new source ports; 0: random */
	bool no_hints;
	u64 base_rtt_ns;		/* of the longest route, empty */
	u64 n_events, max_events;	/* 0: without end */
	struct samples latency[SIM_CLASSES];
	bool latency_on;
	struct watch *watch;		/* of property runs, or NULL */
	struct mroce_txd txd;
};

/* engine.c */
u32 sim_rand(struct sim *sm);
bool sim_chance(struct sim *sm, u32 prob);
void sim_call(struct sim *sm, u64 at, void (*fn)(struct sim *sm, void *arg),
	      void *arg);
void sim_run(struct sim *sm, u64 until);
void sim_timer_at(struct sim *sm, struct end *e, u64 at);
struct link *sim_link(struct sim *sm, struct node *to, double gbps,
		      u64 delay_ns);
void link_send(struct sim *sm, struct link *l, struct packet *p);
void link_rate(struct link *l, double gbps);

/* topo.c */
enum topo_kind {
	TOPO_PAIR, TOPO_STAR, TOPO_LANES, TOPO_CLOS, TOPO_FAT_TREE, TOPO_PLANES,
};

struct sim *sim_new(u64 seed, const struct transport *t, u32 n_hosts, u16 mtu,
		    u8 n_paths);
void sim_free(struct sim *sm);
void topo_pair(struct sim *sm, double gbps, u64 delay_ns);
void topo_star(struct sim *sm, double gbps, u64 delay_ns);
void topo_planes(struct sim *sm, u8 planes, double gbps, u64 delay_ns);
void topo_lanes(struct sim *sm, u32 lanes, double gbps, u64 delay_ns);
void topo_clos(struct sim *sm, u32 leaves, u32 hosts, u32 spines, double gbps,
	       u64 delay_ns);
void topo_fat_tree(struct sim *sm, u32 k, double gbps, u64 delay_ns);
void topo_queues(struct sim *sm, const struct queue_cfg *q);
void topo_impair(struct sim *sm, const struct impair *im);
struct node *topo_edge(struct sim *sm, u32 host);

/* host.c */
void *xcalloc(size_t n, size_t size);
void *grow(void *p, u32 *max, u32 n, size_t size);
void host_nic_free(struct host *h);
void host_rx(struct host *h, struct packet *p);
void host_timer(struct end *e);
void host_add_end(struct host *h, struct end *e, u16 peer);
struct end *host_end(struct host *h, u16 peer);
u32 host_add_flow(struct host *h, struct flow *f);
struct packet *host_packet(struct end *e);
void end_kick(struct end *e);

/* flow.c */
struct flow *flow_new(struct sim *sm, const struct flow_cfg *cfg);
void flow_start(struct flow *f);
void flow_add(struct flow *f, u64 bytes);
void flow_done(struct flow *f, u32 bytes, bool ok);
u64 flow_percentile(struct sim *sm, u8 class, double part);

#endif /* MROCE_SIM_H */
