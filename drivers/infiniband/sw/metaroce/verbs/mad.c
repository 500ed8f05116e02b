// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The counters of ports/1/counters/, which the core asks for with MADs.
 *
 * That is all there is to answer. A port of this kind has no subnet
 * management, and requests from the network go to the agents that registered
 * for them: summing counters is work that a stranger shall not order.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "verbs.h"

#define PMA_DATA	40	/* of the attribute in a performance MAD */

static void pma_class_info(u8 *data)
{
	struct ib_class_port_info info = {
		.base_version = IB_MGMT_BASE_VERSION,
		.class_version = 1,
		.capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH,
	};

	memcpy(data, &info, sizeof(info));
}

/* Data is counted in words. Datagrams count as packets only. */
static void pma_counters_ext(struct mroce_dev *dev, u8 *data)
{
	struct ib_pma_portcounters_ext *c = (void *)data;
	u64 sum[MROCE_N_COUNTERS] = {};
	u64 tx, rx;

	mroce_net_ops.counters(dev, sum);
	tx = sum[MROCE_CNT_TX_DATA] + mroce_dev_sum(dev, MROCE_DCNT_UD_SENT);
	rx = sum[MROCE_CNT_RX_DATA] + mroce_dev_sum(dev, MROCE_DCNT_UD_RCVD);
	c->port_xmit_data = cpu_to_be64(sum[MROCE_CNT_TX_BYTES] / 4);
	c->port_rcv_data = cpu_to_be64(sum[MROCE_CNT_RX_BYTES] / 4);
	c->port_xmit_packets = cpu_to_be64(tx);
	c->port_rcv_packets = cpu_to_be64(rx);
	c->port_unicast_xmit_packets = cpu_to_be64(tx);
	c->port_unicast_rcv_packets = cpu_to_be64(rx);
}

/* Counters of these stop at all ones. */
static void pma_counters(struct mroce_dev *dev, u8 *data)
{
	struct ib_pma_portcounters *c = (void *)data;
	u64 drop = mroce_dev_sum(dev, MROCE_DCNT_TX_DROP);

	c->port_xmit_discards = cpu_to_be16(min_t(u64, drop, U16_MAX));
}

static int mroce_process_mad(struct ib_device *ibdev, int flags, u32 port,
			     const struct ib_wc *wc, const struct ib_grh *grh,
			     const struct ib_mad *in, struct ib_mad *out,
			     size_t *out_size, u16 *out_pkey_index)
{
	struct mroce_dev *dev = to_mdev(ibdev);

	/* A completion: from the network. Not for us, and not refused. */
	if (wc || in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;

	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		pma_class_info(out->data + PMA_DATA);
		break;
	case IB_PMA_PORT_COUNTERS:
		pma_counters(dev, out->data + PMA_DATA);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		pma_counters_ext(dev, out->data + PMA_DATA);
		break;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

const struct ib_device_ops mroce_mad_ops = {
	.process_mad = mroce_process_mad,
};
