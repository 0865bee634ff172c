/*
 * Exact counts inside one execute of a server's thread.
 *
 * Functions are user-space probes (FUNCTION lines that host.py adds below); system calls and page
 * faults are the kernel's raw tracepoints, which need neither kprobes nor a mounted tracefs. All
 * of them count only between the entry and the return of the execute, in the thread that runs it.
 */
#include <uapi/linux/ptrace.h>

struct tally_t { u64 calls; u64 bytes; u64 ns; };
struct entry_t { u32 thread; u32 counter; };
struct size_key_t { u32 counter; u32 log2; };

BPF_HASH(executing, u32, u64);            /* thread -> when its execute began, ns */
BPF_HASH(entered, struct entry_t, u64);   /* which functions it is in, and since when */
BPF_ARRAY(tallies, struct tally_t, COUNTERS);
BPF_HASH(sizes, struct size_key_t, u64);

static __always_inline void add(u32 counter, u64 calls, u64 bytes, u64 ns)
{
    struct tally_t *tally = tallies.lookup(&counter);
    if (!tally)
        return;
    __sync_fetch_and_add(&tally->calls, calls);
    __sync_fetch_and_add(&tally->bytes, bytes);
    __sync_fetch_and_add(&tally->ns, ns);
}

static __always_inline void add_size(u32 counter, u64 bytes)
{
    struct size_key_t key = { .counter = counter, .log2 = bpf_log2l(bytes) };
    sizes.increment(key);
}

/* --- the execute: counter 0 --- */

int execute_begins(struct pt_regs *ctx)
{
    u32 thread = bpf_get_current_pid_tgid();
    u64 now = bpf_ktime_get_ns();
    executing.update(&thread, &now);
    return 0;
}

int execute_ends(struct pt_regs *ctx)
{
    u32 thread = bpf_get_current_pid_tgid();
    u64 *began = executing.lookup(&thread);
    if (!began)
        return 0;
    add(0, 1, 0, bpf_ktime_get_ns() - *began);
    executing.delete(&thread);
    return 0;
}

/* --- functions --- */

/* Counted functions must not call themselves: of one that did, only the time of the innermost call
 * would be added. `bytes` < 0: the function is asked for none. `within` < 0: wherever it is called from. */
static __always_inline int entering(u32 counter, s64 bytes, int within)
{
    struct entry_t entry = { .thread = bpf_get_current_pid_tgid(), .counter = counter };
    if (!executing.lookup(&entry.thread))
        return 0;
    if (within >= 0) {
        struct entry_t outer = { .thread = entry.thread, .counter = within };
        if (!entered.lookup(&outer))
            return 0;
    }
    add(counter, 1, bytes < 0 ? 0 : bytes, 0);
    if (bytes >= 0)
        add_size(counter, bytes);
    u64 now = bpf_ktime_get_ns();
    entered.update(&entry, &now);
    return 0;
}

static __always_inline int leaving(u32 counter)
{
    struct entry_t entry = { .thread = bpf_get_current_pid_tgid(), .counter = counter };
    u64 *since = entered.lookup(&entry);
    if (!since)
        return 0;
    add(counter, 0, 0, bpf_ktime_get_ns() - *since);
    entered.delete(&entry);
    return 0;
}

#define FUNCTION(counter, bytes, within)                                                   \
    int enter_##counter(struct pt_regs *ctx) { return entering(counter, bytes, within); }  \
    int leave_##counter(struct pt_regs *ctx) { return leaving(counter); }

/* --- the kernel's side --- */

#ifdef SYSCALLS
RAW_TRACEPOINT_PROBE(sys_enter)
{
    u32 thread = bpf_get_current_pid_tgid();
    if (!executing.lookup(&thread))
        return 0;
    u64 length = 0;
    bpf_probe_read_kernel(&length, sizeof(length), &PT_REGS_PARM2((struct pt_regs *)ctx->args[0]));
    switch (ctx->args[1]) {
    SYSCALLS /* case NUMBER: counter = ...; add(...) */
    }
    return 0;
}
#endif

#ifdef PAGE_FAULTS
static __always_inline int page_fault(void)
{
    u32 thread = bpf_get_current_pid_tgid();
    if (executing.lookup(&thread))
        add(PAGE_FAULTS, 1, 0, 0);
    return 0;
}
#ifdef PAGE_FAULT_TRACEPOINTS
RAW_TRACEPOINT_PROBE(page_fault_user) { return page_fault(); }
RAW_TRACEPOINT_PROBE(page_fault_kernel) { return page_fault(); }
#else
int page_fault_event(struct bpf_perf_event_data *ctx) { return page_fault(); }
#endif
#endif
