/* Work for the folding benchmark: eight threads, PATHS paths of 8 to 35 frames through 64 functions,
 * that end in arithmetic, in copies or in fresh pages (kernel stacks).
 *
 *     ./deep_stacks SECONDS PATHS
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define THREADS 8
#define PAGES (1 << 17)

struct path {
    uint64_t state; /* says which functions come next: one seed, one path */
    uint64_t sum;
};

typedef void (*step)(struct path *, int);
static step steps[64];
static double seconds;
static uint64_t paths;

static uint64_t next(struct path *p)
{
    p->state = p->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return p->state >> 33;
}

__attribute__((noinline)) static void compute(struct path *p)
{
    for (int i = 0; i < 30000; i++)
        p->sum = p->sum * 6364136223846793005ULL + 1;
}

__attribute__((noinline)) static void copy(struct path *p)
{
    static __thread char from[8192], to[8192];
    for (int i = 0; i < 128; i++) {
        from[i] = (char)p->sum;
        memcpy(to, from, sizeof to);
        p->sum += (unsigned char)to[i];
    }
}

__attribute__((noinline)) static void touch(struct path *p)
{
    char *fresh = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        abort();
    for (int i = 0; i < PAGES; i += 4096)
        fresh[i] = 1;
    p->sum += (unsigned char)fresh[4096];
    munmap(fresh, PAGES);
}

#define STEP(n)                                                          \
    __attribute__((noinline)) static void step_##n(struct path *p, int deeper) \
    {                                                                    \
        p->sum += n;                                                     \
        if (deeper > 0)                                                  \
            steps[next(p) % 64](p, deeper - 1);                          \
        else if (n % 8 == 0)                                             \
            copy(p);                                                     \
        else if (n % 8 == 1)                                             \
            touch(p);                                                    \
        else                                                             \
            compute(p);                                                  \
        p->sum ^= n;                                                     \
    }
#define STEPS(x) STEP(x##0) STEP(x##1) STEP(x##2) STEP(x##3) STEP(x##4) STEP(x##5) STEP(x##6) STEP(x##7)
STEPS(1) STEPS(2) STEPS(3) STEPS(4) STEPS(5) STEPS(6) STEPS(7) STEPS(8)

#define NAMES(x) step_##x##0, step_##x##1, step_##x##2, step_##x##3, \
                 step_##x##4, step_##x##5, step_##x##6, step_##x##7
static step steps[64] = {NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5), NAMES(6), NAMES(7), NAMES(8)};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void *work(void *first)
{
    double end = now() + seconds;
    uint64_t sum = 0;
    for (uint64_t n = (uint64_t)first; now() < end; n++) {
        struct path p = {(n % paths) * 2654435761u + 1, sum};
        int depth = 8 + (int)(next(&p) % 28);
        steps[next(&p) % 64](&p, depth);
        sum += p.sum;
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    seconds = argc > 1 ? atof(argv[1]) : 2;
    paths = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (paths == 0)
        paths = 10;
    for (uint64_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i * paths / THREADS));
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum += (uint64_t)part;
    }
    printf("%lu\n", sum);
    return 0;
}
