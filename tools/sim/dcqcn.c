// SPDX-License-Identifier: GPL-2.0
/*
 * DCQCN, as published: Zhu et al., "Congestion Control for Large-Scale RDMA
 * Deployments", SIGCOMM 2015.
 *
 *	parameter	value		source
 *	N, CNP interval	50 us		the paper, section 3
 *	g		1/256		the paper, section 5
 *	K, alpha timer	55 us		the paper, section 5
 *	T, rate timer	55 us		the paper, section 5
 *	B, byte counter	10 MB		the paper, section 5
 *	F, threshold	5		the paper, section 3
 *	R_AI		40 Mb/s		the paper, section 5 (at 40 Gb/s)
 *	R_HAI		400 Mb/s	not in it; ten times R_AI, as in
 *					IEEE 802.1Qau, where it comes from
 *	least rate	40 Mb/s		not in it; one R_AI
 *
 * The sender starts at line rate. A CNP cuts; then the rate recovers by halves
 * towards what it was (fast recovery), then by R_AI, then by R_HAI, counted by a
 * timer and by bytes.
 */
#include "dcqcn.h"

#define G		(1. / 256)
#define ALPHA_NS	(55 * SIM_US)
#define TIMER_NS	(55 * SIM_US)
#define BYTES		10000000ULL
#define FAST		5
#define AI_BPS		40e6
#define HAI_BPS		400e6
#define MIN_BPS		40e6

/**
 * dcqcn_init - a flow begins
 * @cc: state
 * @line_bps: the NIC's rate
 * @now: ns
 */
void dcqcn_init(struct dcqcn *cc, double line_bps, u64 now)
{
	cc->line_bps = line_bps;
	cc->rc_bps = line_bps;
	cc->rt_bps = line_bps;
	cc->alpha = 1;
	cc->alpha_ns = now + ALPHA_NS;
	cc->timer_ns = now + TIMER_NS;
	cc->bytes = 0;
	cc->n_timer = 0;
	cc->n_byte = 0;
}

static void increase(struct dcqcn *cc)
{
	u32 most = max(cc->n_timer, cc->n_byte);
	u32 least = min(cc->n_timer, cc->n_byte);

	if (least > FAST)
		cc->rt_bps += (least - FAST) * HAI_BPS;
	else if (most > FAST)
		cc->rt_bps += AI_BPS;
	if (cc->rt_bps > cc->line_bps)
		cc->rt_bps = cc->line_bps;
	cc->rc_bps = (cc->rc_bps + cc->rt_bps) / 2;
}

/**
 * dcqcn_time - catch up with the timers
 * @cc: state
 * @now: ns
 */
void dcqcn_time(struct dcqcn *cc, u64 now)
{
	for (; cc->alpha_ns <= now; cc->alpha_ns += ALPHA_NS)
		cc->alpha *= 1 - G;
	for (; cc->timer_ns <= now; cc->timer_ns += TIMER_NS) {
		cc->n_timer++;
		increase(cc);
	}
}

/**
 * dcqcn_sent - count bytes
 * @cc: state
 * @bytes: of a packet that leaves
 * @now: ns
 */
void dcqcn_sent(struct dcqcn *cc, u32 bytes, u64 now)
{
	dcqcn_time(cc, now);
	cc->bytes += bytes;
	if (cc->bytes < BYTES)
		return;
	cc->bytes -= BYTES;
	cc->n_byte++;
	increase(cc);
}

/**
 * dcqcn_cnp - the receiver has seen marks
 * @cc: state
 * @now: ns
 */
void dcqcn_cnp(struct dcqcn *cc, u64 now)
{
	dcqcn_time(cc, now);
	cc->rt_bps = cc->rc_bps;
	cc->rc_bps *= 1 - cc->alpha / 2;
	if (cc->rc_bps < MIN_BPS)
		cc->rc_bps = MIN_BPS;
	cc->alpha = (1 - G) * cc->alpha + G;
	cc->alpha_ns = now + ALPHA_NS;
	cc->timer_ns = now + TIMER_NS;
	cc->bytes = 0;
	cc->n_timer = 0;
	cc->n_byte = 0;
}

/**
 * dcqcn_next_ns - when the rate may rise by time alone
 * @cc: state
 *
 * Return: ns.
 */
u64 dcqcn_next_ns(const struct dcqcn *cc)
{
	return cc->timer_ns;
}
