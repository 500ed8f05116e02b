// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion and event handlers, outside of all locks.
 *
 * A consumer's handler may call verbs, so it must run under no lock of ours
 * and not from the call chain of a verb. What wants one called puts itself on
 * a list of its namespace; the end of every NAPI poll drains the list.
 *
 * Several NAPIs may do that at once. Two bits of a CQ keep its handler to one
 * at a time: PENDING, it is on the list; RUNNING, the handler is being called.
 * PENDING is cleared before the call, so a completion that the handler does
 * not see any more queues the next one.
 *
 * Events are called in the order in which they were queued, by one at a time.
 */
#include <linux/completion.h>
#include <linux/mempool.h>

#include "verbs.h"

enum { CQ_PENDING, CQ_RUNNING };

#define LATER_RUNNING	0		/* bit of mroce_later.running */

struct mroce_event {
	struct llist_node node;
	mempool_t *pool;
	struct completion *done;	/* a barrier; else an event: */
	void (*fn)(struct ib_event *ev, void *ctx);
	void *ctx;
	struct ib_event ev;
};

/* Queue the handler of a CQ. Any context. */
void mroce_cq_later(struct mroce_cq *cq)
{
	struct mroce_dev *dev = to_mdev(cq->ibcq.device);

	if (test_and_set_bit(CQ_PENDING, &cq->bits))
		return;
	refcount_inc(&cq->ref);
	llist_add(&cq->later, &mroce_net_later(dev->mnet)->cqs);
	mroce_net_ops.schedule(dev);
}

/* True: somebody else calls the handler right now, try again. */
static bool cq_run(struct mroce_later *l, struct mroce_cq *cq)
{
	if (test_and_set_bit(CQ_RUNNING, &cq->bits)) {
		llist_add(&cq->later, &l->cqs);
		return true;
	}
	clear_bit(CQ_PENDING, &cq->bits);
	/* A completion posted before PENDING was set is seen by the handler. */
	smp_mb__after_atomic();
	if (!READ_ONCE(cq->dying) && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	clear_bit_unlock(CQ_RUNNING, &cq->bits);
	mroce_cq_put(cq);
	return false;
}

static void event_run(struct mroce_event *e)
{
	if (e->done) {
		/* On the stack of the one who waits: gone after this. */
		complete(e->done);
		return;
	}
	e->fn(&e->ev, e->ctx);
	mempool_free(e, e->pool);
}

static void event_add(struct mroce_dev *dev, const struct ib_event *ev,
		      void (*fn)(struct ib_event *, void *), void *ctx)
{
	struct mroce_event *e;

	if (!fn)
		return;
	e = mempool_alloc(dev->events, GFP_ATOMIC | __GFP_NOWARN);
	if (!e)
		return;
	e->pool = dev->events;
	e->done = NULL;
	e->fn = fn;
	e->ctx = ctx;
	e->ev = *ev;
	e->ev.device = &dev->ib_dev;
	llist_add(&e->node, &mroce_net_later(dev->mnet)->events);
	mroce_net_ops.schedule(dev);
}

void mroce_event_qp(struct mroce_dev *dev, struct ib_qp *qp,
		    enum ib_event_type what)
{
	struct ib_event ev = { .event = what, .element.qp = qp };

	event_add(dev, &ev, qp->event_handler, qp->qp_context);
}

void mroce_event_srq(struct mroce_dev *dev, struct ib_srq *srq,
		     enum ib_event_type what)
{
	struct ib_event ev = { .event = what, .element.srq = srq };

	event_add(dev, &ev, srq->event_handler, srq->srq_context);
}

void mroce_event_cq(struct mroce_dev *dev, struct ib_cq *cq,
		    enum ib_event_type what)
{
	struct ib_event ev = { .event = what, .element.cq = cq };

	event_add(dev, &ev, cq->event_handler, cq->cq_context);
}

/**
 * mroce_later_flush - wait for the events that are queued
 * @dev: device
 *
 * Process context. What waits for is a softirq of this machine.
 */
void mroce_later_flush(struct mroce_dev *dev)
{
	struct mroce_later *l = mroce_net_later(dev->mnet);
	DECLARE_COMPLETION_ONSTACK(done);
	struct mroce_event e = { .done = &done };

	/*
	 * RUNNING is set before the list is emptied and cleared after the last
	 * call, so an empty list and then no RUNNING mean that all is done.
	 */
	if (llist_empty(&l->events)) {
		smp_rmb();	/* the list first, see above */
		if (!test_bit(LATER_RUNNING, &l->running))
			return;
	}
	llist_add(&e.node, &l->events);
	mroce_net_ops.schedule(dev);
	wait_for_completion(&done);
}

static bool run_events(struct mroce_later *l)
{
	struct mroce_event *e, *tmp;
	struct llist_node *list;

	if (llist_empty(&l->events))
		return false;
	/* Its holder looks again after clearing it. */
	if (test_and_set_bit(LATER_RUNNING, &l->running))
		return true;
	list = llist_reverse_order(llist_del_all(&l->events));
	llist_for_each_entry_safe(e, tmp, list, node)
		event_run(e);
	clear_bit_unlock(LATER_RUNNING, &l->running);
	/* Whoever met the bit set relies on this look. */
	smp_mb__after_atomic();
	return !llist_empty(&l->events);
}

/**
 * mroce_run_later - call the handlers that are queued
 * @mnet: namespace
 * @wait: not now, those of completion queues
 *
 * End of a NAPI poll: BH off, no lock held.
 *
 * Return: true if there is more to do.
 */
bool mroce_run_later(struct mroce_net *mnet, bool wait)
{
	struct mroce_later *l = mroce_net_later(mnet);
	struct mroce_cq *cq, *tmp;
	struct llist_node *list;
	bool again = false;

	if (!wait && !llist_empty(&l->cqs)) {
		list = llist_reverse_order(llist_del_all(&l->cqs));
		llist_for_each_entry_safe(cq, tmp, list, later)
			again |= cq_run(l, cq);
	}
	again |= run_events(l);
	return again || !llist_empty(&l->cqs);
}

int mroce_later_setup(struct mroce_dev *dev)
{
	dev->events = mempool_create_kmalloc_pool(32,
						  sizeof(struct mroce_event));
	return dev->events ? 0 : -ENOMEM;
}

void mroce_later_cleanup(struct mroce_dev *dev)
{
	mempool_destroy(dev->events);
	dev->events = NULL;
}
