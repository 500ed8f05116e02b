// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Protection domains and user contexts.
 */
#include "verbs.h"

static int mroce_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ibpd->device);

	return mroce_count(&dev->n_pd, MROCE_MAX_PD) ? 0 : -ENOMEM;
}

/* The core has counted: nothing belongs to it any more. */
static int mroce_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	atomic_dec(&to_mdev(ibpd->device)->n_pd);
	return 0;
}

static struct mroce_ucontext *to_muc(struct ib_ucontext *ctx)
{
	return container_of(ctx, struct mroce_ucontext, ibuc);
}

static int mroce_alloc_ucontext(struct ib_ucontext *ctx,
				struct ib_udata *udata)
{
	struct mroce_dev *dev = to_mdev(ctx->device);
	struct mroce_asker *asker;

	asker = kzalloc(sizeof(*asker), GFP_KERNEL_ACCOUNT);
	if (!asker)
		return -ENOMEM;
	if (!mroce_count(&dev->n_ctx, MROCE_MAX_CTX)) {
		kfree(asker);
		return -ENOMEM;
	}
	refcount_set(&asker->ref, 1);
	to_muc(ctx)->asker = asker;
	return 0;
}

static void mroce_dealloc_ucontext(struct ib_ucontext *ctx)
{
	mroce_asker_put(to_muc(ctx)->asker);
	atomic_dec(&to_mdev(ctx->device)->n_ctx);
}

/*
 * Its presence lets the core take a device from under open files: it destroys
 * their objects itself. Mapped rings stay plain memory of the process, see
 * queue.c; there is nothing to undo.
 */
static void mroce_disassociate_ucontext(struct ib_ucontext *ctx)
{
}

const struct ib_device_ops mroce_pd_ops = {
	.alloc_pd = mroce_alloc_pd,
	.dealloc_pd = mroce_dealloc_pd,
	.alloc_ucontext = mroce_alloc_ucontext,
	.dealloc_ucontext = mroce_dealloc_ucontext,
	.disassociate_ucontext = mroce_disassociate_ucontext,
	.mmap = mroce_mmap,

	INIT_RDMA_OBJ_SIZE(ib_pd, mroce_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, mroce_ucontext, ibuc),
};
