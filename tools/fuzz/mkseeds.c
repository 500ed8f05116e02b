// SPDX-License-Identifier: GPL-2.0
/*
 * Writes files for the fuzzers to start from: the packets of the unit tests,
 * or with -r programs of random bytes.
 */
#include "core/tests/wire_vectors.h"

static int write_file(const char *dir, const char *kind, unsigned int i,
		      const void *bytes, size_t len)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s-%02u", dir, kind, i);
	f = fopen(name, "wb");
	if (!f || fwrite(bytes, len, 1, f) != 1 || fclose(f)) {
		perror(name);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool programs = argc == 3 && !strcmp(argv[1], "-r");
	unsigned int i, k;
	u8 prog[1024];

	if (argc != 2 && !programs) {
		fprintf(stderr, "usage: %s [-r] DIRECTORY\n", argv[0]);
		return 2;
	}
	for (i = 0; programs && i < 64; i++) {
		for (k = 0; k < sizeof(prog); k++)
			prog[k] = mroce_random_u32();
		if (write_file(argv[2], "program", i, prog, 16 * (i + 1)))
			return 1;
	}
	for (i = 0; !programs && i < ARRAY_SIZE(mroce_vectors); i++)
		if (write_file(argv[1], "vector", i, mroce_vectors[i].raw,
			       mroce_vectors[i].len))
			return 1;
	return 0;
}
