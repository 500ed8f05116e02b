/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * What a metaroce device can do beyond the verbs: methods on the device's uverbs
 * file, in the driver's namespace of ids. Queues are those of rdma_user_rxe.h.
 *
 * The driver id is RDMA_DRIVER_RXE's: other devices that have it answer these
 * methods with EPROTONOSUPPORT.
 */
#ifndef METAROCE_ABI_H
#define METAROCE_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define METAROCE_MAX_PLANES	16

enum metaroce_objects {
	METAROCE_OBJECT_PLANE = (1U << UVERBS_ID_NS_SHIFT),
};

/* ADD, DEL and DRAIN need CAP_NET_ADMIN in the device's namespace. */
enum metaroce_plane_methods {
	METAROCE_METHOD_PLANE_ADD = (1U << UVERBS_ID_NS_SHIFT),
	METAROCE_METHOD_PLANE_DEL,
	METAROCE_METHOD_PLANE_DRAIN,
	METAROCE_METHOD_PLANE_QUERY,
};

enum metaroce_plane_add_attrs {
	METAROCE_ATTR_PLANE_ADD_ID = (1U << UVERBS_ID_NS_SHIFT), /* __u8 */
	METAROCE_ATTR_PLANE_ADD_IFINDEX,			 /* __u32 */
};

enum metaroce_plane_del_attrs {
	METAROCE_ATTR_PLANE_DEL_ID = (1U << UVERBS_ID_NS_SHIFT), /* __u8 */
};

enum metaroce_plane_drain_attrs {
	METAROCE_ATTR_PLANE_DRAIN_ID = (1U << UVERBS_ID_NS_SHIFT), /* __u8 */
	METAROCE_ATTR_PLANE_DRAIN_ON,				   /* __u8 */
};

enum metaroce_plane_query_attrs {
	/* struct metaroce_plane_info[], by id */
	METAROCE_ATTR_PLANE_QUERY_LIST = (1U << UVERBS_ID_NS_SHIFT),
};

#define METAROCE_PLANE_CARRIER	(1U << 0)
#define METAROCE_PLANE_DRAINED	(1U << 1)

/* A plane, and in how many connections it is in which state. */
struct metaroce_plane_info {
	__u32 ifindex;		/* 0: no such plane */
	__u32 flags;		/* METAROCE_PLANE_* */
	__u32 n_unproven;
	__u32 n_up;
	__u32 n_down;
	__u32 reserved;
};

#endif /* METAROCE_ABI_H */
