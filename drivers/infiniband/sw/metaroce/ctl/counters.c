// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: ports/1/hw_counters/ and "rdma statistic". First those that are
 * kept per connection, then those of the device.
 */
#include "../metaroce.h"

#define MROCE_N_STATS	(MROCE_N_COUNTERS + MROCE_N_DEV_COUNTERS)

static const struct rdma_stat_desc mroce_stat_descs[MROCE_N_STATS] = {
#define X(n, s) [MROCE_CNT_##n] = { .name = s },
	MROCE_COUNTERS(X)
#undef X
#define X(n, s) [MROCE_N_COUNTERS + MROCE_DCNT_##n] = { .name = s },
	MROCE_DEV_COUNTERS(X)
#undef X
};

struct rdma_hw_stats *mroce_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port)
{
	return rdma_alloc_hw_stats_struct(mroce_stat_descs, MROCE_N_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int mroce_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index)
{
	struct mroce_dev *dev = to_mdev(ibdev);
	u64 sum[MROCE_N_COUNTERS];
	int cpu, i;

	if (port != 1 || !stats)
		return -EINVAL;
	mroce_net_ops.counters(dev, sum);
	memcpy(stats->value, sum, sizeof(sum));
	for (i = 0; i < MROCE_N_DEV_COUNTERS; i++) {
		u64 n = 0;

		for_each_possible_cpu(cpu)
			n += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->cnt[i]);
		stats->value[MROCE_N_COUNTERS + i] = n;
	}
	return MROCE_N_STATS;
}
