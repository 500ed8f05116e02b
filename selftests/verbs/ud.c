// SPDX-License-Identifier: GPL-2.0
/*
 * Unreliable datagrams: sizes, GRH, immediate, replies to where they came from,
 * wrong Q_Key and QPN, receives that are missing or too short, multicast.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vt.h"

#define QKEY	0x11111111
#define BUF	(1 << 18)
#define GRH	40

static struct vt_dev dev;
static uint8_t *buf;
static struct ibv_mr *mr;
static uint32_t peer_qpn;
static union ibv_gid peer_gid;

struct ud {
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
};

static void ud_make(struct ud *u)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_UD,
		.cap = { 64, 64, 4, 4, 256 },
	};
	struct ibv_qp_attr at = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
	};

	u->scq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	u->rcq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	ia.send_cq = u->scq;
	ia.recv_cq = u->rcq;
	u->qp = ibv_create_qp(dev.pd, &ia);
	if (!u->scq || !u->rcq || !u->qp)
		vt_die("create UD QP: %m");
	if (ibv_modify_qp(u->qp, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_QKEY))
		vt_die("INIT: %m");
	if (vt_qp_to(u->qp, IBV_QPS_RTR))
		vt_die("RTR: %m");
	at.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(u->qp, &at, IBV_QP_STATE | IBV_QP_SQ_PSN))
		vt_die("RTS: %m");
}

static void ud_free(struct ud *u)
{
	if (ibv_destroy_qp(u->qp) || ibv_destroy_cq(u->scq) ||
	    ibv_destroy_cq(u->rcq))
		vt_fail("destroy: %m");
}

static struct ibv_ah *make_ah(const union ibv_gid *gid)
{
	struct ibv_ah_attr at = {
		.is_global = 1, .port_num = 1,
		.grh = { *gid, 0, dev.gid_index, 64, 0 },
	};
	struct ibv_ah *ah = ibv_create_ah(dev.pd, &at);

	if (!ah)
		vt_die("create_ah: %m");
	return ah;
}

static int post(struct ud *u, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey,
		uint64_t id, uint32_t off, uint32_t len, int flags)
{
	struct ibv_sge sge = { (uintptr_t)buf + off, len, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED | flags,
		.wr.ud = { ah, qpn, qkey },
	}, *bad;

	if (id & 1) {
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl(id * 77);
	}
	return ibv_post_send(u->qp, &wr, &bad);
}

static void sent(struct ud *u, const char *what)
{
	struct ibv_wc wc;

	/* Nobody answers a datagram: it always completes */
	vt_expect(NULL, u->scq, &wc, IBV_WC_SUCCESS, what);
}

static void recv_at(struct ud *u, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buf + off, len, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (ibv_post_recv(u->qp, &wr, &bad))
		vt_fail("post_recv: %m");
}

/* The 40 bytes in front: with IPv4 the header is in the last 20 */
static void check_grh(const uint8_t *g, const union ibv_gid *from,
		      const union ibv_gid *to)
{
	if (vt.family == 4) {
		if (g[20] >> 4 != 4)
			vt_fail("GRH: no IPv4 header at byte 20");
		if (memcmp(g + 32, from->raw + 12, 4))
			vt_fail("GRH: wrong source address");
		if (memcmp(g + 36, to->raw + 12, 4))
			vt_fail("GRH: wrong destination address");
	} else {
		if (g[0] >> 4 != 6)
			vt_fail("GRH: no version 6");
		if (memcmp(g + 8, from->raw, 16))
			vt_fail("GRH: wrong source GID");
		if (memcmp(g + 24, to->raw, 16))
			vt_fail("GRH: wrong destination GID");
	}
}

static void sizes(struct ud *u, struct ibv_ah *ah)
{
	int mtu = vt_mtu_bytes(dev.port.active_mtu), i, rc;
	uint32_t len[] = { 0, 1, 7, 63, 64, 65, 255, 256, 511, mtu - 1, mtu };
	struct ibv_wc wc;
	size_t w;

	for (i = 0; i < (int)ARRAY_SIZE(len); i++) {
		/* One at a time: nothing but the network may drop */
		memset(buf, CANARY, 16384);
		if (vt_side == VT_B)
			recv_at(u, i, 64, 8192);
		vt_sync("posted");
		if (vt_side == VT_A) {
			vt_fill(buf, len[i], i, 0);
			rc = post(u, ah, peer_qpn, QKEY, i, 0, len[i],
				  len[i] <= 256 && i & 2 ? IBV_SEND_INLINE : 0);
			if (rc)
				vt_fail("post_send %u: %s", len[i], strerror(rc));
			sent(u, "send");
			continue;
		}
		if (!vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS, "receive"))
			continue;
		if (wc.byte_len != GRH + len[i])
			vt_fail("%u bytes: byte_len %u", len[i], wc.byte_len);
		if (!(wc.wc_flags & IBV_WC_GRH))
			vt_fail("no GRH flag");
		if (wc.src_qp != peer_qpn)
			vt_fail("src_qp 0x%x, not 0x%x", wc.src_qp, peer_qpn);
		if (!!(wc.wc_flags & IBV_WC_WITH_IMM) != (i & 1) ||
		    (i & 1 && wc.imm_data != htonl(i * 77)))
			vt_fail("wrong immediate");
		check_grh(buf + 64, &peer_gid, &dev.gid);
		if (!vt_same(buf + 64 + GRH, len[i], i, 0, &w))
			vt_fail("%u bytes: byte %zu wrong", len[i], w);
		if (!vt_all(buf, 64, CANARY, &w) ||
		    !vt_all(buf + 64 + GRH + len[i], 8000 - len[i], CANARY, &w))
			vt_fail("%u bytes: wrote outside", len[i]);
	}
	vt_verdict("0 to %d bytes, inline and not, with and without immediate", mtu);

	if (vt_side == VT_A) {
		rc = post(u, ah, peer_qpn, QKEY, 2, 0, mtu + 1, 0);
		if (!rc) {
			if (!vt_poll(NULL, u->scq, &wc, -1))
				vt_fail("no completion");
			else if (wc.status != IBV_WC_LOC_LEN_ERR &&
				 wc.status != IBV_WC_LOC_QP_OP_ERR)
				vt_fail("a byte too many: '%s'",
					ibv_wc_status_str(wc.status));
		}
	}
	vt_sync("too long");
	vt_verdict("a byte more than the MTU is an error");
}

static void reply(struct ud *u, struct ibv_ah *ah)
{
	struct ibv_ah *back;
	struct ibv_wc wc;

	recv_at(u, 0, 8192, 4096);
	vt_sync("posted");
	if (vt_side == VT_A) {
		post(u, ah, peer_qpn, QKEY, 0, 0, 100, 0);
		sent(u, "send");
		if (vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS, "answer") &&
		    wc.byte_len != GRH + 50)
			vt_fail("answer of %u bytes", wc.byte_len);
	} else {
		if (vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS, "receive")) {
			back = ibv_create_ah_from_wc(dev.pd, &wc,
						     (void *)(buf + 8192), 1);
			if (!back)
				vt_fail("create_ah_from_wc: %m");
			else if (post(u, back, wc.src_qp, QKEY, 0, 0, 50, 0))
				vt_fail("post_send");
			sent(u, "answer");
			if (back && ibv_destroy_ah(back))
				vt_fail("destroy_ah");
		}
	}
	vt_sync("done");
	vt_verdict("an answer to the address in the GRH arrives");
}

/* A good datagram after the bad ones: the QP lives, and they are gone */
static void bad_then_good(struct ud *u, struct ibv_ah *ah, const char *what,
			  uint32_t qpn, uint32_t qkey, uint32_t len,
			  uint32_t recv_len)
{
	struct ibv_wc wc;
	bool had_len_err = false;

	if (vt_side == VT_B) {
		recv_at(u, 1, 0, recv_len);
		recv_at(u, 2, 16384, 4096);
	}
	vt_sync("posted");
	if (vt_side == VT_A) {
		if (post(u, ah, qpn, qkey, 0, 0, len, 0))
			vt_fail("post_send");
		sent(u, "bad one");
		if (post(u, ah, peer_qpn, QKEY, 0, 0, 33, 0))
			vt_fail("post_send");
		sent(u, "good one");
	} else {
		if (!vt_poll(NULL, u->rcq, &wc, -1)) {
			vt_fail("the good one did not come");
		} else if (wc.status == IBV_WC_LOC_LEN_ERR && recv_len < GRH + len) {
			had_len_err = true;
			vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS, "good one");
		} else if (wc.status) {
			vt_fail("receive: '%s'", ibv_wc_status_str(wc.status));
		}
		if (!vt_failed() && wc.byte_len != GRH + 33)
			vt_fail("%u bytes came", wc.byte_len);
		if (vt_qp_state(u->qp) != IBV_QPS_RTS)
			vt_fail("the QP left RTS");
		/* Take back the receive that is left */
		if (!had_len_err)
			vt_expect_none(u->rcq, 1, "receives");
	}
	vt_sync("sent");
	if (vt_side == VT_A && vt_swap(0)) {
		post(u, ah, peer_qpn, QKEY, 0, 0, 34, 0);
		sent(u, "last one");
	} else if (vt_side == VT_B) {
		vt_swap(!had_len_err);
		if (!had_len_err)
			vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS, "last one");
	}
	vt_sync("done");
	vt_verdict("%s: dropped, the QP goes on", what);
}

static void no_receive(struct ud *u, struct ibv_ah *ah)
{
	struct ibv_wc wc;
	int i;

	if (vt_side == VT_A) {
		for (i = 0; i < 5; i++) {
			post(u, ah, peer_qpn, QKEY, 0, 0, 50 + i, 0);
			sent(u, "send");
		}
	}
	vt_sync("sent");
	if (vt_side == VT_B) {
		vt_expect_none(u->rcq, 20, "without receives");
		recv_at(u, 7, 0, 4096);
	}
	vt_sync("posted");
	if (vt_side == VT_A) {
		post(u, ah, peer_qpn, QKEY, 0, 0, 99, 0);
		sent(u, "send");
	} else if (vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS, "receive") &&
		   wc.byte_len != GRH + 99) {
		vt_fail("%u bytes came", wc.byte_len);
	}
	vt_sync("done");
	vt_verdict("datagrams without a receive are lost, later ones are not");
}

static void many(struct ud *u, struct ibv_ah *ah)
{
	int rounds = vt_scaled(40, 5), i, k, got = 0;
	struct ibv_wc wc;
	size_t w;

	for (i = 0; i < rounds; i++) {
		if (vt_side == VT_B)
			for (k = 0; k < 16; k++)
				recv_at(u, k, k * 8192, 4096);
		vt_sync("posted");
		if (vt_side == VT_A) {
			for (k = 0; k < 16; k++) {
				vt_fill(buf + k * 8192, 700 + k, i * 16 + k, 0);
				post(u, ah, peer_qpn, QKEY, k & ~1, k * 8192,
				     700 + k, 0);
			}
			for (k = 0; k < 16; k++)
				sent(u, "send");
		} else {
			for (k = 0; k < 16; k++) {
				if (!vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS,
					       "receive"))
					break;
				got++;
				w = wc.wr_id;
				if (wc.byte_len < GRH + 700 ||
				    !vt_same(buf + w * 8192 + GRH,
					     wc.byte_len - GRH,
					     i * 16 + wc.byte_len - GRH - 700, 0,
					     NULL))
					vt_fail("datagram %d is wrong", k);
			}
		}
		if (vt_swap(vt_failed()) || vt_failed())
			break;
	}
	vt_verdict("%d bursts of 16: all arrive whole", rounds);
}

/* Both ends join; A sends; B has it once, A not; after leaving nobody has it */
static void multicast(struct ud *u)
{
	static const union ibv_gid g4 = {
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 239, 1, 2, 3 },
	};
	static const union ibv_gid g6 = {
		.raw = { 0xff, 0x0e, [14] = 0x12, [15] = 0x34 },
	};
	const union ibv_gid *g = vt.family == 4 ? &g4 : &g6;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	int rc, round;

	rc = ibv_attach_mcast(u->qp, g, 0);
	if (vt_swap(rc) || rc) {
		if (vt_side == VT_A)
			vt_skip("attach_mcast is not supported", "multicast");
		if (!rc)
			ibv_detach_mcast(u->qp, g, 0);
		return;
	}
	ah = make_ah(g);
	for (round = 0; round < 3; round++) {
		recv_at(u, round, 0, 4096);
		vt_sync("joined");
		if (vt_side == VT_A) {
			rc = post(u, ah, 0xffffff, QKEY, 0, 8192, 120, 0);
			if (rc)
				vt_fail("post_send: %s", strerror(rc));
			sent(u, "multicast");
		} else {
			if (vt_expect(NULL, u->rcq, &wc, IBV_WC_SUCCESS, "multicast")) {
				if (wc.byte_len != GRH + 120)
					vt_fail("byte_len %u", wc.byte_len);
				check_grh(buf, &peer_gid, g);
			}
			vt_expect_none(u->rcq, 5, "a second copy");
		}
		vt_sync("sent");
	}
	vt_verdict("multicast: a member gets each datagram, once");

	rc = ibv_detach_mcast(u->qp, g, 0);
	if (rc)
		vt_fail("detach_mcast: %s", strerror(rc));
	recv_at(u, 9, 0, 4096);
	vt_sync("left");
	if (vt_side == VT_A) {
		post(u, ah, 0xffffff, QKEY, 0, 8192, 121, 0);
		sent(u, "multicast");
	}
	vt_sync("sent");
	if (vt_side == VT_B)
		vt_expect_none(u->rcq, 50, "after leaving the group");
	rc = ibv_detach_mcast(u->qp, g, 0);
	if (!rc)
		vt_fail("detach_mcast twice: success");
	ibv_destroy_ah(ah);
	vt_verdict("multicast: nothing after leaving the group");
}

/* As many groups as the device says, and no more */
static void many_groups(struct ud *u, const char *how, bool v6)
{
	int n, left, max = dev.attr.max_mcast_grp;
	union ibv_gid g = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, 9 } };

	if (max > 1000) {
		if (vt_side == VT_A)
			vt_skip("too many to try", "multicast: all groups, %s", how);
		return;
	}
	if (v6)
		g = (union ibv_gid){ .raw = { 0xff, 0x0e, [13] = 9 } };
	for (n = 0; vt_side == VT_A && n < max; n++) {
		g.raw[14] = n >> 8;
		g.raw[15] = n;
		if (ibv_attach_mcast(u->qp, &g, 0)) {
			vt_fail("group %d of %d: %m", n + 1, max);
			break;
		}
	}
	left = n;
	g.raw[14] = n >> 8;
	g.raw[15] = n;
	if (vt_side == VT_A && n == max && !ibv_attach_mcast(u->qp, &g, 0)) {
		vt_fail("more than %d groups", max);
		left++;
	}
	for (n = 0; n < left; n++) {
		g.raw[14] = n >> 8;
		g.raw[15] = n;
		if (ibv_detach_mcast(u->qp, &g, 0))
			vt_fail("detach_mcast, group %d", n + 1);
	}
	vt_verdict("multicast: as many groups as the device has, %s", how);
}

static void both(void)
{
	struct ibv_ah *ah;
	struct ud u;

	vt_open(&dev);
	buf = vt_alloc(BUF);
	mr = vt_reg(&dev, buf, BUF, IBV_ACCESS_LOCAL_WRITE);
	ud_make(&u);
	peer_qpn = vt_swap(u.qp->qp_num);
	vt_send(&dev.gid, 16);
	vt_recv(&peer_gid, 16);
	ah = make_ah(&peer_gid);

	many(&u, ah);
	sizes(&u, ah);
	/* sizes() ends with a QP in error on A if the device says so */
	if (vt_swap(vt_qp_state(u.qp)) != IBV_QPS_RTS ||
	    vt_qp_state(u.qp) != IBV_QPS_RTS) {
		ud_free(&u);
		ud_make(&u);
		peer_qpn = vt_swap(u.qp->qp_num);
	}
	reply(&u, ah);
	/* Leftovers of reply(): start afresh */
	ud_free(&u);
	ud_make(&u);
	peer_qpn = vt_swap(u.qp->qp_num);
	bad_then_good(&u, ah, "wrong Q_Key", peer_qpn, QKEY + 1, 50, 4096);
	bad_then_good(&u, ah, "QPN of nobody", peer_qpn ^ 0x555500, QKEY, 50, 4096);
	bad_then_good(&u, ah, "receive too short", peer_qpn, QKEY, 1000, 100);
	bad_then_good(&u, ah, "receive shorter than the GRH", peer_qpn, QKEY, 0, 20);
	ud_free(&u);
	ud_make(&u);
	peer_qpn = vt_swap(u.qp->qp_num);
	no_receive(&u, ah);
	multicast(&u);
	many_groups(&u, "IPv4", false);
	many_groups(&u, "IPv6", true);
	ud_free(&u);
	if (ibv_destroy_ah(ah) || ibv_dereg_mr(mr))
		vt_fail("destroy: %m");
	vt_close(&dev);
	vt_verdict("objects are gone again");
}

int main(int argc, char **argv)
{
	return vt_main(argc, argv, "", NULL, both, both);
}
