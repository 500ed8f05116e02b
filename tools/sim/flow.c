// SPDX-License-Identifier: GPL-2.0
/*
 * Flows: messages that follow each other on one stream, whatever the
 * transport. So many are in flight; when one is done the next is posted.
 */
#include <stdlib.h>
#include <string.h>

#include "transport.h"

static const struct transport * const transports[] = {
	&transport_metaroce, &transport_gbn, &transport_sr1,
};

/**
 * transport_find - a transport
 * @name: its name
 *
 * Return: the transport or NULL.
 */
const struct transport *transport_find(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(transports); i++)
		if (!strcmp(transports[i]->name, name))
			return transports[i];
	return NULL;
}

static void flow_post(struct flow *f)
{
	while (f->bytes_left && f->posted - f->done < f->cfg.depth) {
		u32 slot = f->posted % f->cfg.depth;
		u32 bytes = min_t(u64, f->cfg.msg_bytes, f->bytes_left);

		f->post_ns[slot] = f->sm->now;
		if (f->sm->t->post(f, slot, bytes))
			return;
		f->posted++;
		if (f->bytes_left != U64_MAX)
			f->bytes_left -= bytes;
	}
}

/**
 * flow_new - a flow, with the ends that it needs
 * @sm: simulation
 * @cfg: what it sends
 *
 * Return: the flow, not started.
 */
struct flow *flow_new(struct sim *sm, const struct flow_cfg *cfg)
{
	struct flow *f = sm->t->flow_new(sm, cfg);

	f->sm = sm;
	f->cfg = *cfg;
	f->bytes_left = cfg->bytes;
	f->post_ns = xcalloc(cfg->depth, sizeof(*f->post_ns));
	return f;
}

/**
 * flow_start - let a flow send
 * @f: flow
 */
void flow_start(struct flow *f)
{
	f->started = true;
	f->start_ns = f->sm->now;
	f->sm->t->flow_start(f);
	flow_post(f);
	f->sm->t->kick(f);
}

/**
 * flow_add - more to send
 * @f: started flow
 * @bytes: so much
 */
void flow_add(struct flow *f, u64 bytes)
{
	f->bytes_left += bytes;
	flow_post(f);
	f->sm->t->kick(f);
}

static void flow_go_on(struct sim *sm, void *arg)
{
	struct flow *f = arg;

	(void)sm;
	flow_post(f);
	f->sm->t->kick(f);
}

/**
 * flow_done - the oldest message of a flow has ended
 * @f: flow
 * @bytes: its length
 * @ok: whether it arrived
 *
 * For the transport to call; the next message is posted, not kicked.
 */
void flow_done(struct flow *f, u32 bytes, bool ok)
{
	struct samples *lat = &f->sm->latency[f->cfg.class];
	u64 now = f->sm->now;

	if (f->sm->latency_on && ok) {
		lat->ns = grow(lat->ns, &lat->max, lat->n, sizeof(*lat->ns));
		lat->ns[lat->n++] = now - f->post_ns[f->done % f->cfg.depth];
	}
	f->done++;
	if (!ok) {
		f->errors++;
		return;
	}
	f->done_bytes += bytes;
	f->end_ns = now;
	if (f->cfg.gap_ns && f->bytes_left)
		sim_call(f->sm, now + f->cfg.gap_ns, flow_go_on, f);
	else
		flow_post(f);
	if (!f->bytes_left && f->done == f->posted && f->finished)
		f->finished(f);
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * flow_percentile - how long the messages of a workload took
 * @sm: simulation
 * @class: of the flows
 * @part: 0 to 1: so many took no longer
 *
 * Return: ns; 0 if there were none.
 */
u64 flow_percentile(struct sim *sm, u8 class, double part)
{
	struct samples *lat = &sm->latency[class];

	if (!lat->n)
		return 0;
	qsort(lat->ns, lat->n, sizeof(*lat->ns), by_value);
	return lat->ns[min_t(u32, lat->n * part, lat->n - 1)];
}
