"""Where the kernel part of a stack begins, for texts that say it of the leaf only.

A kernel stack is the end of the whole stack and starts at one of the kernel's entry points:

    main;work;asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;__irq_exit_rcu
    main;write;entry_SYSCALL_64_after_hwframe;do_syscall_64;...;asm_sysvec_apic_timer_interrupt;...
    ret_from_fork_asm;ret_from_fork;kthread;kswapd;...

An interrupt may come in the middle, so it is the outermost entry point that counts.
"""

import re
from collections.abc import Iterable, Set
from functools import cache

from mysqlprof.stacks import KERNEL_SUFFIX, UNKNOWN, PerName, Stack

_ENTRY = re.compile(
    r"""
    # x86: system calls, exceptions and interrupts, from Linux 5.8 on
    (?: entry_(?:SYSCALL|SYSENTER|INT80|FRED)\w* | asm_(?:exc|sysvec|common|spurious|fred|int80)\w*
    # the same before 5.8
    | system_call(?:_fastpath|_after_swapgs)? | sysenter_\w+ | ia32_sys\w+ | stub_\w+
    | do_syscall_64 | do_fast_syscall_32 | do_int80_syscall_32
    | page_fault | async_page_fault | general_protection | nmi | end_repeat_nmi | first_nmi
    | error_(?:entry|return) | paranoid_entry | ret_from_intr | common_interrupt\w* | retint_\w+
    | (?:apic_timer|reschedule|call_function|call_function_single|irq_work|thermal)_interrupt
    | hyperv_\w+callback_vector | xen_(?:hvm|do_hypervisor)_callback\w*
    | swapgs_restore_regs_and_return_to_usermode | native_(?:irq_return_)?iret
    # kernel threads and the idle task
    | ret_from_fork\w* | kernel_thread_starter | secondary_startup\w* | start_secondary\w*
    | common_startup_64 | x86_64_start_\w+ | start_kernel | cpu_startup_entry | do_idle
    # arm64
    | el[01]t?h?_?(?:64|32)?_(?:sync|irq|fiq|svc|error|da|ia)\w* | vectors | ret_to_user
    )(?:\.\w+)*
    """,
    re.VERBOSE,
)

_BARE = re.compile(r"0x[0-9a-f]+|0")
# The upper half but for the vsyscall page, which is user code.
_KERNEL_ADDRESSES = range(0xFFFF_8000_0000_0000, 0xFFFF_FFFF_FF60_0000)


_MODULE = re.compile(
    r"""
    \[ (?!vdso|vsyscall|heap|stack|anon|uprobes|aio|unknown) [\w.-]+ \]  # [kernel.kallsyms], [xfs]
    | bpf_prog_.* | .*/vmlinux[^/]* | .*\.ko(?:\.\w+)?
    """,
    re.VERBOSE,
)


@cache
def is_kernel_module(path: str) -> bool:
    """Whether a binary, as perf names it, is the kernel (also a guest's) or a part of it."""
    return _MODULE.fullmatch(path) is not None


def is_bare_address(frame: str) -> bool:
    """A frame for which no symbol was found: `0x7f296f4f2ad7`, and `0` for a null address."""
    return _BARE.fullmatch(frame) is not None


def in_kernel_addresses(frame: str) -> bool:
    """A bare address that only the kernel has."""
    return is_bare_address(frame) and int(frame, 16) in _KERNEL_ADDRESSES


def is_entry_point(frame: str) -> bool:
    return _ENTRY.fullmatch(frame) is not None


class KernelMarker:
    """Marks the kernel part of stacks and writes bare addresses as `[unknown]`.

    `kernel_names` are names known to be the kernel's: where a stack has no entry point (its
    outer part was cut off), its last frames are the kernel's as long as they are among them.
    """

    def __init__(self, kernel_names: Iterable[str] = ()) -> None:
        self._known: Set[str] = frozenset(kernel_names)
        self._written = PerName(_written)
        self._marked = PerName(lambda frame: _written(frame) + KERNEL_SUFFIX)
        self._entry = PerName(is_entry_point)
        self._address = PerName(in_kernel_addresses)

    def mark(self, frames: Stack, *, kernel_leaf: bool) -> Stack:
        """`frames` root first, as read; `kernel_leaf`: the sample was taken in the kernel."""
        if not kernel_leaf and not self._address[frames[-1]]:
            return tuple(map(self._written.__getitem__, frames))
        start = self._kernel_start(frames)
        return (
            *map(self._written.__getitem__, frames[:start]),
            *map(self._marked.__getitem__, frames[start:]),
        )

    def _kernel_start(self, frames: Stack) -> int:
        """Index of the first kernel frame; the leaf at the latest."""
        entry = self._entry
        for index, frame in enumerate(frames):
            if entry[frame]:
                return index
        start = len(frames) - 1
        while start > 0 and self._is_known(frames[start - 1]):
            start -= 1
        return start

    def _is_known(self, frame: str) -> bool:
        return frame in self._known or self._address[frame]


def _written(frame: str) -> str:
    return UNKNOWN if is_bare_address(frame) else frame
