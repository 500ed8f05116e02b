/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that knows that kernels differ. Sources are written for the
 * newest one; older ones get the same names from here. What a kernel has is
 * decided by Kbuild, which looks into its headers (MROCE_HAVE_*), never by a
 * version number: stable trees backport.
 */
#ifndef MROCE_COMPAT_H
#define MROCE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/flow.h>
#include <net/inet_dscp.h>
#include <net/sock.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>
#include <rdma/uverbs_ioctl.h>

/* ---- RDMA core ------------------------------------------------------------ */

/* Pin user memory; 7.2 renamed it. */
static inline struct ib_umem *mroce_umem_get(struct ib_device *ibdev,
					     unsigned long addr, size_t size,
					     int access)
{
#ifdef MROCE_HAVE_UMEM_GET_VA
	return ib_umem_get_va(ibdev, addr, size, access);
#else
	return ib_umem_get(ibdev, addr, size, access);
#endif
}

/*
 * Access masks of ib_umem_odp_map_dma_and_lock(), and the HMM_PFN_* of page @i of
 * an on-demand umem, its mutex held.
 */
#ifdef ODP_WRITE_ALLOWED_BIT
#define MROCE_ODP_READ		ODP_READ_ALLOWED_BIT
#define MROCE_ODP_WRITE		(ODP_READ_ALLOWED_BIT | ODP_WRITE_ALLOWED_BIT)
#else
#define MROCE_ODP_READ		0
#define MROCE_ODP_WRITE		HMM_PFN_WRITE
#endif

static inline unsigned long mroce_odp_pfn(const struct ib_umem_odp *umem,
					  size_t i)
{
#ifdef MROCE_HAVE_ODP_DMA_MAP
	return umem->map.pfn_list[i];
#else
	return umem->pfn_list[i];
#endif
}

/*
 * reg_user_mr() and reg_user_mr_dmabuf() got a DMA handle in front of their
 * last argument:
 *	(..., int access, MROCE_DMAH_PARAM struct ib_udata *udata)
 *	{ if (MROCE_DMAH_GIVEN) return ERR_PTR(-EOPNOTSUPP);
 */
#ifdef MROCE_HAVE_REG_MR_DMAH
#define MROCE_DMAH_PARAM	struct ib_dmah *dmah,
#define MROCE_DMAH_GIVEN	(dmah)
#else
#define MROCE_DMAH_PARAM
#define MROCE_DMAH_GIVEN	(false)
#endif

/*
 * create_cq()'s third argument, and the last one of reg_user_mr_dmabuf();
 * NULL for kernel CQs.
 */
#ifdef MROCE_HAVE_CQ_ATTRS
typedef struct uverbs_attr_bundle mroce_cq_attrs;

static inline struct ib_udata *mroce_cq_udata(mroce_cq_attrs *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
typedef struct ib_udata mroce_cq_attrs;

static inline struct ib_udata *mroce_cq_udata(mroce_cq_attrs *attrs)
{
	return attrs;
}
#endif

/* Name of the op and type of its size: .MROCE_OP_RESIZE_CQ = fn */
#ifdef MROCE_HAVE_RESIZE_USER_CQ
#define MROCE_OP_RESIZE_CQ	resize_user_cq
typedef unsigned int mroce_resize_cqe_t;
#else
#define MROCE_OP_RESIZE_CQ	resize_cq
typedef int mroce_resize_cqe_t;
#endif

/* The device is born in its netdev's namespace where the core can do that. */
#ifdef MROCE_HAVE_ALLOC_WITH_NET
#define mroce_ib_alloc_device(type, member, net)			\
	ib_alloc_device_with_net(type, member, net)
#else
#define mroce_ib_alloc_device(type, member, net)			\
	((void)(net), ib_alloc_device(type, member))
#endif

#ifndef MROCE_HAVE_NAME_BY_USER
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/*
 * The core finds devices for its own port events (7.2) through the netdev
 * hash, which this driver stays out of: events come from here on all kernels.
 */
static inline void mroce_dispatch_port_state(struct ib_device *ibdev,
					     u32 port, enum ib_port_state state)
{
	struct ib_event ev = {
		.device = ibdev,
		.element.port_num = port,
		.event = state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
						   IB_EVENT_PORT_ERR,
	};

	ib_dispatch_event(&ev);
}

/* DMA addresses of a device without DMA are kernel addresses. */
#ifndef MROCE_HAVE_VIRT_DMA_TO_PTR
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}

static inline struct page *ib_virt_dma_to_page(u64 dma_addr)
{
	return virt_to_page(ib_virt_dma_to_ptr(dma_addr));
}
#endif

/* ---- time and work ---------------------------------------------------------- */

#ifndef MROCE_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* A per-CPU queue must say so where the flag exists. */
#ifdef MROCE_HAVE_WQ_PERCPU
#define MROCE_WQ_PERCPU		WQ_PERCPU
#else
#define MROCE_WQ_PERCPU		0
#endif

/* ---- networking ------------------------------------------------------------- */

/* A netdev that exists only to hang NAPIs on. */
static inline struct net_device *mroce_alloc_napi_dev(void)
{
#ifdef MROCE_HAVE_ALLOC_NETDEV_DUMMY
	return alloc_netdev_dummy(0);
#else
	struct net_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (dev)
		init_dummy_netdev(dev);
	return dev;
#endif
}

static inline void mroce_free_napi_dev(struct net_device *dev)
{
#ifdef MROCE_HAVE_ALLOC_NETDEV_DUMMY
	free_netdev(dev);
#else
	kfree(dev);
#endif
}

static inline int mroce_kernel_bind(struct socket *sock, void *addr, int len)
{
	return kernel_bind(sock, addr, len);
}

static inline void mroce_fl4_set_tos(struct flowi4 *fl4, u8 tos)
{
#ifdef flowi4_dscp
	fl4->flowi4_dscp = inet_dsfield_to_dscp(tos);
#else
	fl4->flowi4_tos = tos & INET_DSCP_MASK;
#endif
}

/* ---- tracepoints -------------------------------------------------------------- */

#ifdef MROCE_HAVE_ASSIGN_STR_1
#define mroce_assign_str(dst, src)	__assign_str(dst)
#else
#define mroce_assign_str(dst, src)	__assign_str(dst, src)
#endif

#endif /* MROCE_COMPAT_H */
