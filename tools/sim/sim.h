/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A discrete-event simulator around the transport's own objects.
 *
 * wire/ and core/ are compiled as they are; this directory supplies what net/
 * and verbs/ supply in the kernel: links, switches, hosts, time. Payload is
 * only a length. Deterministic by seed.
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

struct packet {
	struct packet *next;
	u16 src, dst;			/* hosts */
	u16 sport;
	u8 plane;
	bool ect, ce, data;
	u16 hdr_len;
	u32 len;			/* UDP payload */
	u8 hdr[MROCE_MAX_HDR];
};

/* One direction of a cable, with the queue in front of it. */
struct link {
	struct node *to;
	struct host *owner;		/* if it is a host's NIC */
	u64 ps_per_byte;
	u64 delay_ns;
	u32 limit, mark;		/* bytes; 0: none */
	u32 loss;			/* in 2^32 */
	bool down;
	bool busy;
	u32 queued;			/* bytes */
	struct packet *head, **tail;
	/* what is on the wire: in order */
	u64 free_ns;
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

/* host.c, called by the engine */
void host_nic_free(struct host *h);
void host_rx(struct host *h, struct packet *p);
void host_timer(struct end *e);
/* engine.c */
void host_timer_at(struct sim *sm, struct end *e, u64 at);

struct event {
	u64 at, seq;
	enum ev_type type;
	void *a, *b;
	u64 arg;
};

/* One end of a connection. */
struct end {
	struct mroce_conn c;
	struct host *h;
	u16 peer;			/* host */
	u16 idx;			/* in h->ends */
	u64 armed;
	bool queued;			/* on the host's list of senders */
	struct end *next_tx;
	u16 sport_next;
};

struct flow;

/* A message source over one stream. */
struct fmsg {
	struct mroce_msg m;
	struct flow *f;
};

struct flow {
	struct mroce_stream s;		/* requester's, first */
	struct sim *sm;
	struct end *e, *peer_end;
	struct flow *mirror;		/* responder's half */
	struct fmsg *ring;
	u32 depth;			/* messages in flight */
	u32 msg_bytes;
	u64 bytes_left;			/* U64_MAX: until the end */
	u64 posted, done;		/* messages */
	u64 done_bytes;
	u64 measured;			/* bytes since the warm-up ended */
	u64 start_ns, end_ns;
	u32 errors;
	void (*finished)(struct flow *f);
	void *arg;
};

struct host {
	struct sim *sm;
	int idx;
	struct node node;
	struct link *nic;		/* outwards */
	struct link *plane_nic[MROCE_MAX_PLANES];	/* [0] is nic */
	struct mroce_share plane_share[MROCE_MAX_PLANES];	/* but for [0] */
	struct end **ends;
	u32 n_ends, max_ends;
	struct end *tx_head, **tx_tail;
	u32 qpn;
	struct flow **flows;		/* by QPN - 16 */
	u32 n_flows, max_flows;
	u32 rx_batch;
	struct mroce_share share;
};

struct sim {
	u64 now, seq, rnd;
	struct event *heap;
	u32 n_ev, max_ev;
	struct host *hosts;
	u32 n_hosts;
	struct node *switches;
	u32 n_switches;
	struct link **links;
	u32 n_links, max_links;
	u16 mtu;
	u8 n_paths;
	u8 n_planes;			/* 0: one */
	bool no_hints;
	u64 n_events;
	struct mroce_txd txd;
	u64 cnt[MROCE_N_COUNTERS];
};

/* engine */
struct sim *sim_new(u64 seed, u32 n_hosts, u16 mtu, u8 n_paths);
void sim_free(struct sim *sm);
u32 sim_rand(struct sim *sm);
void sim_call(struct sim *sm, u64 at, void (*fn)(struct sim *sm, void *arg),
	      void *arg);
/* Until @until ns or until nothing happens. */
void sim_run(struct sim *sm, u64 until);
struct link *sim_link(struct sim *sm, struct node *from, struct node *to,
		      double gbps, u64 delay_ns);
void link_send(struct sim *sm, struct link *l, struct packet *p);
u64 sim_cnt(struct sim *sm, enum mroce_counter c);

/* topologies: all links alike unless changed afterwards */
void topo_pair(struct sim *sm, double gbps, u64 delay_ns);
void topo_star(struct sim *sm, double gbps, u64 delay_ns);
void topo_fat_tree(struct sim *sm, u32 k, double gbps, u64 delay_ns);
/* A star for each plane: switch k, and down[] of it, are plane k's */
void topo_planes(struct sim *sm, u8 n, double gbps, u64 delay_ns);
void topo_queues(struct sim *sm, u32 limit, u32 mark, u32 loss);

/* flows */
struct flow *flow_new(struct sim *sm, u16 src, u16 dst, u32 msg_bytes,
		      u32 depth, u64 bytes, u8 opcode);
void flow_start(struct flow *f);
double jain(const double *x, u32 n);

/* main.c: a figure and its goal, or without one */
struct sim *new_sim(u32 n_hosts, u16 mtu, u8 paths);
void record(const char *scenario, const char *metric, double value,
	    double goal, bool at_most);
void note(const char *scenario, const char *metric, double value);

/* planes.c */
void sc_planes(void);

#endif /* MROCE_SIM_H */
