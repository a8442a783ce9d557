"""Rows of a batch, shared among the threads that XLA computes with.

The thread that XLA calls asks the others for help and takes pieces of the batch itself until none are left; whoever
comes takes pieces too. It waits only for pieces that others have begun, so it never waits for a thread that is busy
elsewhere. A helper that comes too late finds nothing to do: what they share is freed by the last of all.
"""

from __future__ import annotations

from itertools import chain

from softground.native.program import Block, ForEach, Program
from softground.native.traversal import blocks

# Bytes from the start of structures of XLA's interface (see ffi.py).
_FRAME_API, _FRAME_CONTEXT = 16, 24
_API_DESTROY_ERROR, _API_SCHEDULE, _API_THREADS = 64, 136, 144
#: Statements that are worth a thread's while: some 10 us, where to ask for help takes one or two.
_WORTHWHILE = 30_000


def sharing_text(program: Program, lanes: int = 1) -> str:
    """`@share(frame, table of buffers, number of rows)`, which calls `@rows` for all of them.

    The threads share a record: the next row to take, rows done, who still holds it, rows of all, rows of a piece (a
    multiple of the lanes), and the table of buffers.
    """
    buffers = len(program.inputs) + len(program.outputs)
    statements = sum(_size(function.body) for function in chain(program.functions, [program.main]))
    least = lanes * max(1, _WORTHWHILE // max(1, statements))
    copies = "\n".join(
        f"  %from{k} = getelementptr ptr, ptr %data, i64 {k}\n"
        f"  %to{k} = getelementptr ptr, ptr %table, i64 {k}\n"
        f"  %start{k} = load ptr, ptr %from{k}\n"
        f"  store ptr %start{k}, ptr %to{k}"
        for k in range(buffers)
    )
    return f"""declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @sched_yield()

define internal void @share(ptr %frame, ptr %data, i64 %rows) nounwind {{
  %few = icmp ult i64 %rows, {2 * least}
  br i1 %few, label %alone, label %ask
ask:
  %api.at = getelementptr i8, ptr %frame, i64 {_FRAME_API}
  %api = load ptr, ptr %api.at
  %context.at = getelementptr i8, ptr %frame, i64 {_FRAME_CONTEXT}
  %context = load ptr, ptr %context.at
  %threads.at = alloca i64
  store i64 1, ptr %threads.at
  %count.1 = insertvalue {{i64, ptr, ptr, ptr}} {{i64 32, ptr null, ptr null, ptr null}}, ptr %context, 2
  %count.2 = insertvalue {{i64, ptr, ptr, ptr}} %count.1, ptr %threads.at, 3
  %count.at = alloca {{i64, ptr, ptr, ptr}}
  store {{i64, ptr, ptr, ptr}} %count.2, ptr %count.at
  %count = call i1 @succeeds(ptr %api, i64 {_API_THREADS}, ptr %count.at)
  %threads = load i64, ptr %threads.at
  %several = icmp ugt i64 %threads, 1
  %shared = and i1 %count, %several
  br i1 %shared, label %divide, label %alone
alone:
  call void @rows(ptr %data, i64 0, i64 %rows)
  ret void
divide:
  %eighths = mul i64 %threads, 8
  %even = udiv i64 %rows, %eighths
  %small = icmp ult i64 %even, {least}
  %exact = select i1 %small, i64 {least}, i64 %even
  %up = add i64 %exact, {lanes - 1}
  %over = urem i64 %up, {lanes}
  %piece = sub i64 %up, %over
  %pieces = udiv i64 %rows, %piece
  %enough = icmp ult i64 %pieces, %threads
  %people = select i1 %enough, i64 %pieces, i64 %threads
  %record = call ptr @malloc(i64 {40 + 8 * buffers})
  %done.at = getelementptr i64, ptr %record, i64 1
  %holders.at = getelementptr i64, ptr %record, i64 2
  %rows.at = getelementptr i64, ptr %record, i64 3
  %piece.at = getelementptr i64, ptr %record, i64 4
  %table = getelementptr i64, ptr %record, i64 5
  store i64 0, ptr %record
  store i64 0, ptr %done.at
  store i64 %people, ptr %holders.at
  store i64 %rows, ptr %rows.at
  store i64 %piece, ptr %piece.at
{copies}
  %task.at = alloca {{i64, ptr, ptr, ptr, ptr}}
  %task.1 = insertvalue {{i64, ptr, ptr, ptr, ptr}} {{i64 40, ptr null, ptr null, ptr @help, ptr null}}, ptr %context, 2
  %task.2 = insertvalue {{i64, ptr, ptr, ptr, ptr}} %task.1, ptr %record, 4
  store {{i64, ptr, ptr, ptr, ptr}} %task.2, ptr %task.at
  br label %next
next:
  %person = phi i64 [ 1, %divide ], [ %person.next, %asked ]
  %more = icmp ult i64 %person, %people
  br i1 %more, label %schedule, label %begin
schedule:
  %comes = call i1 @succeeds(ptr %api, i64 {_API_SCHEDULE}, ptr %task.at)
  br i1 %comes, label %asked, label %refused
refused:
  call void @leave(ptr %record)
  br label %asked
asked:
  %person.next = add i64 %person, 1
  br label %next
begin:
  call void @work(ptr %record)
  br label %look
look:
  %done = load atomic i64, ptr %done.at acquire, align 8
  %all = icmp eq i64 %done, %rows
  br i1 %all, label %end, label %wait
wait:
  %yielded = call i32 @sched_yield()
  br label %look
end:
  call void @leave(ptr %record)
  ret void
}}

define internal void @help(ptr %record) nounwind {{
  call void @work(ptr %record)
  call void @leave(ptr %record)
  ret void
}}

define internal void @work(ptr %record) noinline nounwind {{
  %done.at = getelementptr i64, ptr %record, i64 1
  %rows.at = getelementptr i64, ptr %record, i64 3
  %piece.at = getelementptr i64, ptr %record, i64 4
  %table = getelementptr i64, ptr %record, i64 5
  %rows = load i64, ptr %rows.at
  %piece = load i64, ptr %piece.at
  br label %take
take:
  %first = atomicrmw add ptr %record, i64 %piece monotonic
  %left = icmp ult i64 %first, %rows
  br i1 %left, label %compute, label %end
compute:
  %ahead = add i64 %first, %piece
  %beyond = icmp ugt i64 %ahead, %rows
  %last = select i1 %beyond, i64 %rows, i64 %ahead
  call void @rows(ptr %table, i64 %first, i64 %last)
  %taken = sub i64 %last, %first
  %before = atomicrmw add ptr %done.at, i64 %taken release
  br label %take
end:
  ret void
}}

define internal void @leave(ptr %record) nounwind {{
  %holders.at = getelementptr i64, ptr %record, i64 2
  %holders = atomicrmw sub ptr %holders.at, i64 1 acq_rel
  %last = icmp eq i64 %holders, 1
  br i1 %last, label %drop, label %end
drop:
  call void @free(ptr %record)
  ret void
end:
  ret void
}}

define internal i1 @succeeds(ptr %api, i64 %offset, ptr %arguments) nounwind {{
  %function.at = getelementptr i8, ptr %api, i64 %offset
  %function = load ptr, ptr %function.at
  %error = call ptr %function(ptr %arguments)
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %end, label %failed
failed:
  %destroy.at = getelementptr i8, ptr %api, i64 {_API_DESTROY_ERROR}
  %destroy = load ptr, ptr %destroy.at
  %told.at = alloca {{i64, ptr, ptr}}
  %told = insertvalue {{i64, ptr, ptr}} {{i64 24, ptr null, ptr null}}, ptr %error, 2
  store {{i64, ptr, ptr}} %told, ptr %told.at
  call void %destroy(ptr %told.at)
  br label %end
end:
  ret i1 %fine
}}
"""


def _size(block: Block) -> int:
    """Number of statements, also inside of others: a guess at what a row costs."""
    inside = 0
    for statement in block:
        rounds = statement.count if isinstance(statement, ForEach) else 1
        inside += rounds * sum(map(_size, blocks(statement)))
    return len(block) + inside
