/*
 * Where the wall time of one command goes that a server's thread serves.
 *
 * Two probes a command, and one raw tracepoint: light enough that the times are those of an
 * execute that nobody watches. A span begins when the command is dispatched; the client has its
 * answer when RESPONDED returns; what the server does afterwards is the tail.
 */
#include <uapi/linux/ptrace.h>

struct span_t { u64 began; u64 responded; };
struct total_t { u64 spans; u64 span_ns; u64 tail_ns; u64 tail_off_ns; u64 thread; };
struct away_t { u64 since; u32 thread; s32 user; s32 kernel; u32 runnable; u32 tail; };
struct reason_t { s32 user; s32 kernel; u32 runnable; };
struct phase_t { u64 calls; u64 ns; };
struct entry_t { u32 thread; u32 phase; };

BPF_HASH(spans, u32, struct span_t);       /* threads that serve a command now */
BPF_HASH(away, u64, struct away_t);        /* task -> since when it is off the CPU */
BPF_HASH(off, struct reason_t, u64, 16384); /* ns */
BPF_STACK_TRACE(stacks, 16384);
BPF_ARRAY(total, struct total_t, 1);
BPF_ARRAY(phases, struct phase_t, PHASES);
BPF_HASH(entered, struct entry_t, u64);

int dispatched(struct pt_regs *ctx)
{
    u32 thread = bpf_get_current_pid_tgid();
    struct span_t span = { .began = bpf_ktime_get_ns() };
    spans.update(&thread, &span);
    return 0;
}

int responded(struct pt_regs *ctx)
{
    u32 thread = bpf_get_current_pid_tgid();
    struct span_t *span = spans.lookup(&thread);
    if (span)
        span->responded = bpf_ktime_get_ns();
    return 0;
}

int finished(struct pt_regs *ctx)
{
    u32 thread = bpf_get_current_pid_tgid(), zero = 0;
    struct span_t *span = spans.lookup(&thread);
    struct total_t *sum = total.lookup(&zero);
    if (!span || !sum)
        return 0;
    u64 now = bpf_ktime_get_ns();
    u64 answered = span->responded ? span->responded : now;
    sum->spans += 1;
    sum->span_ns += answered - span->began;
    sum->tail_ns += now - answered;
    sum->thread = thread;
    spans.delete(&thread);
    return 0;
}

/* --- phases inside a span: functions that run once or a few times --- */

static __always_inline int entering(u32 phase)
{
    struct entry_t entry = { .thread = bpf_get_current_pid_tgid(), .phase = phase };
    if (!spans.lookup(&entry.thread))
        return 0;
    u64 now = bpf_ktime_get_ns();
    entered.update(&entry, &now);
    return 0;
}

static __always_inline int leaving(u32 phase)
{
    struct entry_t entry = { .thread = bpf_get_current_pid_tgid(), .phase = phase };
    u64 *since = entered.lookup(&entry);
    struct phase_t *sum = phases.lookup(&phase);
    if (!since || !sum)
        return 0;
    sum->calls += 1;
    sum->ns += bpf_ktime_get_ns() - *since;
    entered.delete(&entry);
    return 0;
}

#define PHASE(phase)                                                  \
    int enter_##phase(struct pt_regs *ctx) { return entering(phase); }  \
    int leave_##phase(struct pt_regs *ctx) { return leaving(phase); }

/* --- off the CPU --- */

/* Arguments: preempted, the task that leaves, the task that comes, and from Linux 5.18 on the
 * state in which the first leaves. Tasks are told apart by their addresses: no member of theirs
 * is read, so that headers of another kernel's do no harm. */
RAW_TRACEPOINT_PROBE(sched_switch)
{
    u64 leaves = ctx->args[1], comes = ctx->args[2], now = bpf_ktime_get_ns();
    struct away_t *left = away.lookup(&comes);
    if (left) {
        u64 ns = now - left->since;
        if (left->tail) {
            u32 zero = 0;
            struct total_t *sum = total.lookup(&zero);
            if (sum)
                sum->tail_off_ns += ns;
        } else {
            struct reason_t reason = { left->user, left->kernel, left->runnable };
            u64 none = 0, *spent = off.lookup_or_try_init(&reason, &none);
            if (spent)
                *spent += ns;
        }
        away.delete(&comes);
    }
    u32 thread = bpf_get_current_pid_tgid();
    struct span_t *span = spans.lookup(&thread);
    if (!span)
        return 0;
    struct away_t leaving = {
        .since = now,
        .thread = thread,
        .user = stacks.get_stackid(ctx, BPF_F_USER_STACK),
        .kernel = stacks.get_stackid(ctx, 0),
#ifdef SWITCH_HAS_STATE
        .runnable = ctx->args[0] || !ctx->args[3],
#else
        .runnable = !!ctx->args[0],
#endif
        .tail = !!span->responded,
    };
    away.update(&leaves, &leaving);
    return 0;
}
