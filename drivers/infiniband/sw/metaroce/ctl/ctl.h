/* SPDX-License-Identifier: GPL-2.0 */
/* ctl/'s own. */
#ifndef MROCE_CTL_H
#define MROCE_CTL_H

#include "../metaroce.h"

extern struct rdma_link_ops mroce_link_ops;

#ifdef CONFIG_DEBUG_FS
void mroce_debugfs_init(void);
void mroce_debugfs_exit(void);
void mroce_debugfs_add(struct mroce_dev *dev);
void mroce_debugfs_del(struct mroce_dev *dev);
#else
static inline void mroce_debugfs_init(void) {}
static inline void mroce_debugfs_exit(void) {}
static inline void mroce_debugfs_add(struct mroce_dev *dev) {}
static inline void mroce_debugfs_del(struct mroce_dev *dev) {}
#endif

#endif /* MROCE_CTL_H */
