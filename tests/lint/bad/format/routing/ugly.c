/* SPDX-License-Identifier: Apache-2.0 */
int f(int  x){ return x ;}
