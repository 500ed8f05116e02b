// SPDX-License-Identifier: GPL-2.0
/*
 * mroce: what metaroce links can do beyond "rdma link".
 *
 *	mroce plane show [DEV]
 *	mroce plane add DEV ID NETDEV
 *	mroce plane del DEV ID
 *	mroce plane drain DEV ID [on|off]
 *
 * Names of netdevs are those of the namespace in which it runs: run it in that of
 * the link. All but "show" needs CAP_NET_ADMIN there.
 */
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "metaroce-abi.h"

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[2];
};

static void usage(void)
{
	fputs("usage: mroce plane show [DEV]\n"
	      "       mroce plane add DEV ID NETDEV\n"
	      "       mroce plane del DEV ID\n"
	      "       mroce plane drain DEV ID [on|off]\n", stderr);
	exit(2);
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "mroce: %s: %s\n", what, strerror(err));
	exit(1);
}

static struct call method(uint16_t id)
{
	struct call c = {
		.hdr = {
			.object_id = METAROCE_OBJECT_PLANE,
			.method_id = id,
			.driver_id = RDMA_DRIVER_RXE,
		},
	};

	return c;
}

/* Up to 8 bytes are in the attribute itself. */
static void attr_in(struct call *c, uint16_t id, const void *data, size_t len)
{
	struct ib_uverbs_attr *a = &c->attr[c->hdr.num_attrs++];

	a->attr_id = id;
	a->len = len;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	memcpy(&a->data, data, len);
}

static void attr_out(struct call *c, uint16_t id, void *data, size_t len)
{
	struct ib_uverbs_attr *a = &c->attr[c->hdr.num_attrs++];

	a->attr_id = id;
	a->len = len;
	a->flags = UVERBS_ATTR_F_MANDATORY;
	a->data = (uintptr_t)data;
}

static int invoke(struct ibv_context *ctx, struct call *c)
{
	c->hdr.length = sizeof(c->hdr) + c->hdr.num_attrs * sizeof(c->attr[0]);
	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, c) ? errno : 0;
}

static struct ibv_context *open_dev(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i, err = ENODEV;

	for (i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		errno = 0;
		ctx = ibv_open_device(list[i]);
		err = errno ? errno : EIO;
		break;
	}
	if (list)
		ibv_free_device_list(list);
	if (!ctx)
		fail(name, err);
	return ctx;
}

static uint8_t plane_id(const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (!*arg || *end || n > UINT8_MAX) {
		fprintf(stderr, "mroce: %s is no plane id\n", arg);
		exit(2);
	}
	return n;
}

/* Other drivers have the driver id, too: they do not know the method. */
static int show_one(const char *name, bool quiet)
{
	struct metaroce_plane_info info[METAROCE_MAX_PLANES] = {};
	struct call c = method(METAROCE_METHOD_PLANE_QUERY);
	struct ibv_context *ctx = open_dev(name);
	char netdev[IF_NAMESIZE];
	int k, err;

	attr_out(&c, METAROCE_ATTR_PLANE_QUERY_LIST, info, sizeof(info));
	err = invoke(ctx, &c);
	ibv_close_device(ctx);
	if (err) {
		if (!quiet)
			fail(name, err);
		return err;
	}
	for (k = 0; k < METAROCE_MAX_PLANES; k++) {
		if (!info[k].ifindex)
			continue;
		if (!if_indextoname(info[k].ifindex, netdev))
			snprintf(netdev, sizeof(netdev), "if%u",
				 info[k].ifindex);
		printf("%s plane %d netdev %s%s%s connections up %u down %u unproven %u\n",
		       name, k, netdev,
		       info[k].flags & METAROCE_PLANE_CARRIER ? "" :
								" no-carrier",
		       info[k].flags & METAROCE_PLANE_DRAINED ? " drained" : "",
		       info[k].n_up, info[k].n_down, info[k].n_unproven);
	}
	return 0;
}

static int show_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		show_one(ibv_get_device_name(list[i]), true);
	if (list)
		ibv_free_device_list(list);
	return 0;
}

static int change(const char *what, const char *dev, struct call *c)
{
	struct ibv_context *ctx = open_dev(dev);
	int err = invoke(ctx, c);

	ibv_close_device(ctx);
	if (err)
		fail(what, err);
	return 0;
}

static int add(const char *dev, const char *plane, const char *netdev)
{
	struct call c = method(METAROCE_METHOD_PLANE_ADD);
	uint32_t ifindex = if_nametoindex(netdev);
	uint8_t id = plane_id(plane);

	if (!ifindex)
		fail(netdev, errno);
	attr_in(&c, METAROCE_ATTR_PLANE_ADD_ID, &id, sizeof(id));
	attr_in(&c, METAROCE_ATTR_PLANE_ADD_IFINDEX, &ifindex, sizeof(ifindex));
	return change("plane add", dev, &c);
}

static int del(const char *dev, const char *plane)
{
	struct call c = method(METAROCE_METHOD_PLANE_DEL);
	uint8_t id = plane_id(plane);

	attr_in(&c, METAROCE_ATTR_PLANE_DEL_ID, &id, sizeof(id));
	return change("plane del", dev, &c);
}

static int drain(const char *dev, const char *plane, const char *how)
{
	struct call c = method(METAROCE_METHOD_PLANE_DRAIN);
	uint8_t id = plane_id(plane), on;

	if (strcmp(how, "on") && strcmp(how, "off"))
		usage();
	on = !strcmp(how, "on");
	attr_in(&c, METAROCE_ATTR_PLANE_DRAIN_ID, &id, sizeof(id));
	attr_in(&c, METAROCE_ATTR_PLANE_DRAIN_ON, &on, sizeof(on));
	return change("plane drain", dev, &c);
}

int main(int argc, char **argv)
{
	if (argc < 3 || strcmp(argv[1], "plane"))
		usage();
	if (!strcmp(argv[2], "show") && argc == 3)
		return show_all();
	if (!strcmp(argv[2], "show") && argc == 4)
		return show_one(argv[3], false);
	if (!strcmp(argv[2], "add") && argc == 6)
		return add(argv[3], argv[4], argv[5]);
	if (!strcmp(argv[2], "del") && argc == 5)
		return del(argv[3], argv[4]);
	if (!strcmp(argv[2], "drain") && (argc == 5 || argc == 6))
		return drain(argv[3], argv[4], argc == 6 ? argv[5] : "on");
	usage();
}
