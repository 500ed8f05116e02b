/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a scenario file says, and what a run of it gives.
 */
#ifndef MROCE_SIM_SCENARIO_H
#define MROCE_SIM_SCENARIO_H

#include "transport.h"

#define SC_NAME		64
#define SC_MAX		16		/* of anything that may be repeated */
#define SC_TRANSPORTS	3
#define SC_VERSUS	2

enum work_kind {
	WORK_STREAM, WORK_READ, WORK_PERMUTATION, WORK_INCAST, WORK_ALL_TO_ALL,
	WORK_ALL_REDUCE, WORK_FAN_OUT, WORK_PING, WORK_STALL_RNR,
	WORK_STALL_ERROR, WORK_ALL_PAIRS,
};

struct work {
	enum work_kind kind;
	u64 arg[4];
	bool warm;
};

enum fault_kind { FAULT_DOWN, FAULT_SLOW, FAULT_LOSS };
enum fault_place { AT_BUSIEST, AT_LANE, AT_UPLINK, AT_NIC, AT_PLANE };

struct fault {
	enum fault_kind kind;
	enum fault_place place;
	u32 where[2];
	double by;			/* slow: factor; loss: probability */
	u64 at_ns, until_ns;		/* 0: for good */
	bool one_way;			/* only outwards */
	/* while it lasts */
	struct run *r;
	struct link **link;		/* outwards first */
	u32 n_links, max_links;
	u64 had_ps;
	u32 had_loss;
};

#define METRICS(X)							\
	X(GOODPUT,	"goodput")	/* Gb/s of payload, all hosts */ \
	X(PER_HOST,	"per-host")	/* the same, per sending flow */ \
	X(SLOWEST,	"slowest")	/* of the flows */		\
	X(JAIN,		"jain")		/* of the flows */		\
	X(COMPLETION,	"completion")	/* us, of finite flows */	\
	X(STRETCH,	"stretch")	/* completion / ideal */	\
	X(OFF_SHARE,	"off-share")	/* at two round trips */	\
	X(P50,		"p50")		/* us per message */		\
	X(P99,		"p99")						\
	X(WORST,	"worst")					\
	X(OUTAGE,	"outage")	/* us below 87 % after a fault */ \
	X(LEFT,		"left")		/* goodput, when a plane is dead */ \
	X(BACK,		"back")		/* the same, when it is back */	\
	X(KNOWN,	"known")	/* us until all ends know */	\
	X(KNOWN_BACK,	"known-back")					\
	X(ERRORS,	"errors")					\
	X(UNFINISHED,	"unfinished")	/* flows */			\
	X(SENT,		"sent")		/* packets of data, first time */ \
	X(RETRANSMITTED, "retransmitted")				\
	X(TIMEOUTS,	"timeouts")					\
	X(REHOMED,	"rehomed")					\
	X(DROPS,	"drops")	/* at full queues */		\
	X(CONNECTIONS,	"connections")					\
	X(EVENTS,	"events")	/* of the simulator, millions */ \
	X(SECONDS,	"seconds")	/* of CPU time */

enum metric {
#define X(n, s) METRIC_##n,
	METRICS(X)
#undef X
	N_METRICS
};

extern const char * const metric_names[N_METRICS];

struct want {
	enum metric metric;
	bool relative;			/* to the run of "versus" */
	bool is_goal, at_most;
	double goal;
};

struct scenario {
	char name[SC_NAME];
	enum topo_kind topo;
	u32 topo_arg[3];
	double gbps;
	u64 delay_ns;
	struct queue_cfg q;
	struct impair im;
	u16 mtu;
	u8 paths;
	bool no_hints;
	struct fault fault[SC_MAX];
	u32 n_faults;
	struct work work[SIM_CLASSES];
	u32 n_works;
	const struct transport *transport[SC_TRANSPORTS];
	u32 n_transports;
	u64 warm_ns, run_ns, limit_ns, sample_ns;
	u32 repeat;			/* runs, by seed; the mean counts */
	struct want want[SC_MAX];
	u32 n_wants;
	char versus[SC_VERSUS][SC_NAME];	/* lines of the run to compare with */
	u32 n_versus;
};

struct result {
	double value[N_METRICS];
};

/* A run in progress: what workloads and metrics know of it. */
struct run {
	const struct scenario *sc;
	struct sim *sim;
	struct fault fault[SC_MAX];
	struct flow **flow;
	u32 n_flows, max_flows;
	u32 n_measured;			/* flows of the first workload: first */
	u64 start_ns;			/* the first workload begins */
	double ideal_ns;
	bool finite;
	/* incast */
	double share_gbps, off_share;
	u64 two_rtt_ns, look_ns;
	/* faults of planes */
	u64 base_bytes;			/* when measuring began */
	struct plane_watch *plane_watch;	/* of the newest one */
	double plane_left, plane_back;
	u64 plane_known_ns, plane_known_back_ns;
	/* series */
	u64 sampled_bytes;
	double before_gbps;
	u64 low_ns;
	FILE *series;
	void **kept;			/* memory until the end of the run */
	u32 n_kept, max_kept;
};

/* scenario.c */
typedef void (*scenario_fn)(struct scenario *sc, void *arg);
int scenario_file(const char *path, scenario_fn fn, void *arg);
void scenario_versus(const struct scenario *sc, struct scenario *vs);

/* planes.c */
void planes_changed(struct run *r, u8 plane, bool down);

/* work.c */
u32 scenario_hosts(const struct scenario *sc);
void work_start(struct run *r);

/* run.c */
void *run_keep(struct run *r, size_t size);
void scenario_run(const struct scenario *sc, const struct transport *t,
		  u64 seed, FILE *series, struct result *res);

#endif /* MROCE_SIM_SCENARIO_H */
