// SPDX-License-Identifier: GPL-2.0
/*
 * Module init and exit, in dependency order. Nothing else lives here.
 */
#include <linux/module.h>

#include "metaroce.h"

static int __init mroce_module_init(void)
{
	int err;

	err = mroce_net_init();
	if (err)
		return err;
	/* Links can be added as soon as this returns. */
	err = mroce_link_init();
	if (err)
		mroce_net_exit();
	return err;
}

static void __exit mroce_module_exit(void)
{
	/* No link is left and none can come after this. */
	mroce_link_exit();
	mroce_net_exit();
}

module_init(mroce_module_init);
module_exit(mroce_module_exit);

MODULE_DESCRIPTION("Software RDMA over the MetaRoCE transport");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RDMA_LINK("metaroce");
