/* SPDX-License-Identifier: GPL-2.0 */
#ifndef MROCE_SHIM_MODULE_H
#define MROCE_SHIM_MODULE_H

#define MODULE_LICENSE(s)	static_assert(sizeof(s))
#define MODULE_DESCRIPTION(s)	static_assert(sizeof(s))
#define MODULE_AUTHOR(s)	static_assert(sizeof(s))
#define MODULE_IMPORT_NS(s)

#endif /* MROCE_SHIM_MODULE_H */
