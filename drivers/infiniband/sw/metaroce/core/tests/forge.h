/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two ends that know each other, and packets that one of them did not send.
 */
#ifndef MROCE_TEST_FORGE_H
#define MROCE_TEST_FORGE_H

#include "pair.h"

#define FORGED_PATH	(MROCE_MAX_PATHS - 1)	/* no honest packet uses it */

bool pair_open(struct pair *p);
bool pair_open_and_done(struct pair *p);
/* Both ends know each other, one Write has passed. */
struct pair *pair_connected(struct kunit *test, u64 seed);
/* The ends have planes 0 to @n0 - 1 and @n1 - 1, two streams, and begin. Nothing
 * passes on the planes of @dead.
 */
struct pair *pair_with_planes(struct kunit *test, u64 seed, int n0, int n1,
			      u16 dead);
/* The next DATA packet of a peer of stream @i on side @to, to be completed. */
struct mroce_pkt forge_data(struct pair *p, int to, int i, u8 opcode, u32 msn);
/* A packet of side @to's peer that is not DATA; an ACK says what path @path knows. */
struct mroce_pkt forge_ctrl(struct pair *p, int to, u8 opcode);
struct mroce_pkt forge_ack(struct pair *p, int to, int path);
/* What is not DATA, on one of the planes. */
void forge_rx_on(struct pair *p, int to, u8 plane, const struct mroce_pkt *pkt);
enum mroce_rx forge_rx(struct pair *p, int to, const struct mroce_pkt *pkt,
		       struct mroce_claim *cl);
/* mroce_copy_fn out of a buffer */
int forge_copy(void *src, u32 off, void *dst, u32 len);
/* Receive it whole; false: it was not accepted. */
bool forge_accept(struct pair *p, int to, const struct mroce_pkt *pkt,
		  void *payload);
/* A WRITE of a whole message of @len bytes. */
struct mroce_pkt forge_write(struct pair *p, int to, int i, u32 msn,
			     u64 va, u32 len);
/* A NAK of the oldest PSN outstanding on path @path of side @to. */
struct mroce_pkt forge_nak(struct pair *p, int to, int path, u8 code);
bool forge_nak_waits(struct pair *p, int side, u8 code);

#endif /* MROCE_TEST_FORGE_H */
