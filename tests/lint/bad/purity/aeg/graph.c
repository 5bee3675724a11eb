/* SPDX-License-Identifier: Apache-2.0 */
int aeg_one(void);
int aeg_one(void)
{
    return 1;
}
