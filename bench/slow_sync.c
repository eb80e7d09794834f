/* Makes every fdatasync of a program a pause of SLOW_SYNC_US microseconds, and nothing else: what programs do between syncs, and how
 * their clients share them, can then be compared on a machine whose disk is faster than those that databases live on, or swings from
 * minute to minute. Nothing is durable meanwhile: only for measuring.
 *
 *   cc -O2 -shared -fPIC -o slow_sync.so bench/slow_sync.c
 *   SLOW_SYNC_US=100 LD_PRELOAD=$PWD/slow_sync.so graven bench commit --workload single
 *
 * The pause is longer than asked for by what the kernel takes to wake a thread; the floor that the benchmark prints says how long it was. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

int fdatasync(int file)
{
    static __thread struct timespec pause;
    (void)file;
    if (pause.tv_sec == 0 && pause.tv_nsec == 0) {
        const char *text = getenv("SLOW_SYNC_US");
        long us = text ? strtol(text, NULL, 10) : 1000;
        pause.tv_sec = us / 1000000;
        pause.tv_nsec = us % 1000000 * 1000;
        /* Else timers are late by another 50 microseconds. */
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    }
    nanosleep(&pause, NULL);
    return 0;
}
