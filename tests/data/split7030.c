/* A program whose profile is known: seventy() takes 70 % of the CPU time, thirty() 30 %.
 *
 * Both run one and the same loop, a chain of dependent multiplications whose speed depends
 * on nothing but the number of turns, 7 turns to 3, changing places some hundred times a second.
 *
 *     gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls split7030.c -o split7030
 *     ./split7030 SECONDS
 */

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define TURNS 300000

static volatile uint64_t result;

static inline __attribute__((always_inline)) void spin(int turns)
{
    uint64_t x = result;
    for (int i = 0; i < turns; i++)
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    result = x;
}

__attribute__((noinline)) void seventy(void) { spin(7 * TURNS); }
__attribute__((noinline)) void thirty(void) { spin(3 * TURNS); }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double end = now() + (argc > 1 ? atof(argv[1]) : 2.0);
    while (now() < end) {
        seventy();
        thirty();
    }
    return 0;
}
