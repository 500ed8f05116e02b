/* SPDX-License-Identifier: GPL-2.0 */
/* DCQCN, the congestion control of RoCEv2 NICs: see dcqcn.c. */
#ifndef MROCE_SIM_DCQCN_H
#define MROCE_SIM_DCQCN_H

#include "sim.h"

struct dcqcn {
	double line_bps, rc_bps, rt_bps;	/* current, target rate */
	double alpha;
	u64 alpha_ns, timer_ns;			/* when they count next */
	u64 bytes;				/* since the byte counter's last */
	u32 n_timer, n_byte;
};

#define DCQCN_CNP_NS	(50 * SIM_US)		/* between two of a flow */

void dcqcn_init(struct dcqcn *cc, double line_bps, u64 now);
void dcqcn_time(struct dcqcn *cc, u64 now);
void dcqcn_sent(struct dcqcn *cc, u32 bytes, u64 now);
void dcqcn_cnp(struct dcqcn *cc, u64 now);
u64 dcqcn_next_ns(const struct dcqcn *cc);

#endif /* MROCE_SIM_DCQCN_H */
