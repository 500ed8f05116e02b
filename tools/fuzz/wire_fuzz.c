// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the parser: any bytes, as one UDP payload.
 *
 * What is accepted must come out of the builder as it came in, up to bits
 * that the format does not define, and must mean the same when parsed again.
 * What is cut must never be read past the cut.
 */
#include "core/tests/wire_test.h"

#define FUZZ_MAX	2048

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "broken: %s\n", what);
	abort();
}

/* Build @a and compare with the bytes that it was parsed from. */
static void compare_built(const struct mroce_pkt *a, const u8 *data,
			  unsigned int size)
{
	static u8 out[FUZZ_MAX + MROCE_MAX_HDR];
	unsigned int n = wire_built_len(a);
	static struct mroce_pkt b;
	unsigned int byte, bit;

	check(a->payload_off + a->payload_len == size, "lengths add up");
	memset(out, 0x5a, sizeof(out));
	check(mroce_wire_build(a, out, n) == n, "an accepted packet builds");
	for (byte = 0; byte < n; byte++) {
		for (bit = 0; bit < 8; bit++) {
			bool was = data[byte] & BIT(bit);
			bool is = out[byte] & BIT(bit);

			if (wire_reserved(a, byte, bit))
				check(!is, "undefined bits are sent as zero");
			else
				check(was == is, "defined bits are kept");
		}
	}
	memcpy(out + n, data + n, size - n);
	check(mroce_wire_parse(out, size, size, &b) == MROCE_WIRE_OK,
	      "what was built parses");
	check(wire_same(a, &b), "and means the same");
}

/* With less at hand than was sent, down to nothing. */
static void parse_cut(const struct mroce_pkt *a, enum mroce_wire_reason whole,
		      const u8 *data, unsigned int size)
{
	unsigned int step = size > 64 ? 7 : 1;
	static struct mroce_pkt b;
	unsigned int avail;

	for (avail = 0; avail < size; avail += step) {
		u8 *exact = malloc(avail + !avail);
		enum mroce_wire_reason r;

		memcpy(exact, data, avail);
		r = mroce_wire_parse(exact, avail, size, &b);
		free(exact);
		check(r == whole || r == MROCE_WIRE_SHORT,
		      "a cut packet is short or as it was");
		if (r == MROCE_WIRE_OK)
			check(wire_same(a, &b), "a cut changes no meaning");
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct mroce_pkt a;
	enum mroce_wire_reason r;

	if (size > FUZZ_MAX)
		return 0;
	r = mroce_wire_parse(data, size, size, &a);
	check(r < MROCE_WIRE_N_REASONS, "a known reason");
	if (r == MROCE_WIRE_OK)
		compare_built(&a, data, size);
	parse_cut(&a, r, data, size);
	return 0;
}
