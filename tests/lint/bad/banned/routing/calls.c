/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
typedef struct point point_fn;
/* strcpy(a, b) in a comment is fine */
void f(struct mem *mem, char *buf)
{
    const char *text = "sprintf(buf)";
    mem->free(mem, buf);
    strcpy(buf, text);
    sprintf (buf, "%d", atoi(buf));
    free(buf);
    sleep(1);
    if (setjmp(env)) {
        signal(1, 0);
    }
    usleep(5); /* LINT_ALLOW(usleep): shows that a marked line is let through */
}
