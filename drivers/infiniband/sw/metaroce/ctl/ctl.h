/* SPDX-License-Identifier: GPL-2.0 */
/* ctl/'s own. */
#ifndef MROCE_CTL_H
#define MROCE_CTL_H

#include "../metaroce.h"

extern struct rdma_link_ops mroce_link_ops;

/* All devices, and what they have joined. Inside RTNL. */
extern struct mutex mroce_links_lock;
extern struct list_head mroce_links;

/* plane.c */
extern const struct uapi_definition mroce_uapi_defs[];
bool mroce_link_uses(const struct mroce_dev *dev, const struct net_device *ndev);
void mroce_plane_drop_all(struct mroce_dev *dev);

#ifdef CONFIG_DEBUG_FS
void mroce_debugfs_init(void);
void mroce_debugfs_exit(void);
void mroce_debugfs_add(struct mroce_dev *dev);
void mroce_debugfs_del(struct mroce_dev *dev);
void mroce_debugfs_plane(struct mroce_dev *dev, struct mroce_plane_dev *pl,
			 u8 id);
#else
static inline void mroce_debugfs_init(void) {}
static inline void mroce_debugfs_exit(void) {}
static inline void mroce_debugfs_add(struct mroce_dev *dev) {}
static inline void mroce_debugfs_del(struct mroce_dev *dev) {}
static inline void mroce_debugfs_plane(struct mroce_dev *dev,
				       struct mroce_plane_dev *pl, u8 id) {}
#endif

#endif /* MROCE_CTL_H */
